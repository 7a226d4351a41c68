"""Text in a picture: how wide it is, where it breaks. There are no font metrics to ask."""

from __future__ import annotations

from rmls.core.show.markup import Markup, Value, element, escape

# Widths in units of the font size, of a common sans-serif face.
NARROW = frozenset("iljtfrI.,:;'|!()[]/ ·")
WIDE = frozenset("mwMWQO@%—…<>&=+#~^")
SIZE = 12.0


def text_width(text: str, size: float = SIZE) -> float:
    """Estimate the width of a text, rather too wide than too narrow.

    Examples
    --------
    >>> text_width("illicit") < text_width("MAXIMUM")
    True
    >>> text_width("ab", 24) == 2 * text_width("ab", 12)
    True
    """
    units = (
        0.36 if c in NARROW else 0.92 if c in WIDE else 0.7 if c.isupper() else 0.6 for c in text
    )
    return size * sum(units)


def shorten(text: str, width: float, size: float = SIZE) -> str:
    """Cut the middle out of a text that is too wide: names often differ at the end.

    Examples
    --------
    >>> shorten("every irrelevant label", 80), shorten("short", 80)
    ('every i…abel', 'short')
    """
    if text_width(text, size) <= width:
        return text
    for kept in range(len(text) - 1, 0, -1):
        # Two fifths of what is kept are the end of the text.
        tail = kept * 2 // 5
        cut = text[: kept - tail].rstrip() + "…" + text[len(text) - tail :].lstrip()
        if text_width(cut, size) <= width:
            return cut
    return "…"


def wrap(text: str, width: float, size: float = SIZE, n_lines: int = 2) -> list[str]:
    """Break a text into lines of at most ``width``; what does not fit is cut.

    Examples
    --------
    >>> wrap("RMLS, every irrelevant label", 110)
    ['RMLS, every', 'irrelevant label']
    """
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(lines) < n_lines and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [shorten(line, width, size) for line in lines]


def words(text: str, x: float, y: float, class_: str = "", **attributes: Value) -> Markup:
    """Return a text element; ``y`` is its base line."""
    return element("text", escape(text), x=x, y=y, class_=class_ or None, **attributes)


def name_lines(text: str, x: float, middle: float, width: float) -> Markup:
    """Return a name that ends at ``x``, on up to two lines around the height ``middle``."""
    lines = wrap(text, width)
    # A base line lies 4 below the middle of its letters; lines are 13 apart.
    top = middle + 4 - 6.5 * (len(lines) - 1)
    parts = [
        words(line, x, top + 13 * position, "name", text_anchor="end")
        for position, line in enumerate(lines)
    ]
    return element("g", element("title", escape(text)), *parts)
