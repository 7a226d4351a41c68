"""Elements of HTML and SVG as text; whatever is not markup already is escaped."""

from __future__ import annotations

import math
import re
from html import escape as _escape
from typing import NewType

Markup = NewType("Markup", str)
Value = str | float | None

NOTHING = Markup("")
# Tags that HTML closes by themselves, and shapes of SVG that may hold a tip.
EMPTY = frozenset({"br", "link", "meta", "circle", "line", "polygon", "polyline", "rect"})
# What XML 1.0 does not allow: control characters and lone surrogates.
ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> Markup:
    """Return text as markup that shows it.

    Characters that neither HTML nor XML may hold are shown as a replacement character.

    Examples
    --------
    >>> escape("<b>&")
    '&lt;b&gt;&amp;'
    """
    return Markup(_escape(ILLEGAL.sub("\ufffd", text)))


def element(tag: str, *children: Markup, **attributes: Value) -> Markup:
    """Return an element.

    Parameters
    ----------
    tag : str
    *children : Markup
        What stands inside, in order.
    **attributes : str or float or None
        ``class_`` stands for ``class`` and ``stroke_width`` for ``stroke-width``. Numbers are
        written with two decimals at most, None leaves the attribute out.

    Examples
    --------
    >>> element("text", escape("a < b"), class_="tick", x=1.0, y=2.345, dy=None)
    '<text class="tick" x="1" y="2.35">a &lt; b</text>'
    >>> element("br"), element("ul")
    ('<br/>', '<ul></ul>')
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if not children and tag in EMPTY:
        return Markup(f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>{''.join(children)}</{tag}>")


def join(*parts: Markup, between: str = "") -> Markup:
    """Return parts one after the other."""
    return Markup(between.join(parts))


def coordinate(value: float) -> str:
    """Write a coordinate with two decimals at most.

    Examples
    --------
    >>> coordinate(3.0), coordinate(1 / 3), coordinate(-0.001)
    ('3', '0.33', '0')
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no place on a page.")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    # A tiny negative number rounds to -0, which is the same place.
    return "0" if text == "-0" else text


def _attribute(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else coordinate(value)
