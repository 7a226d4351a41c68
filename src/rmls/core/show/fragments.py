"""Pieces of HTML for notebooks: tables, facts and marked texts, with a style of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from rmls.core.show.markup import Markup, element, escape, join

# Colours that can be read on light and dark grounds; all rules are about what stands inside.
STYLE = """
.rmls-shown{font-size:13px;line-height:1.45;max-width:60em}
.rmls-shown table{border-collapse:collapse;margin:.4em 0}
.rmls-shown th,.rmls-shown td{padding:.15em .8em .15em 0;text-align:left;vertical-align:top;
border:0;background:none}
.rmls-shown thead th{border-bottom:1px solid rgba(127,127,127,.5);font-weight:600}
.rmls-shown .figure{text-align:right;font-variant-numeric:tabular-nums}
.rmls-shown .muted{opacity:.65}
.rmls-shown mark{color:inherit;padding:0 .1em;border-radius:2px}
.rmls-shown .bar{display:inline-block;width:12em;height:.7em;background:rgba(127,127,127,.25)}
.rmls-shown .bar>span{display:block;height:100%;background:#2a78b8}
"""
GREEN, RED = "46,160,67", "218,54,51"
MAX_TEXT = 4000


class Cell(NamedTuple):
    """A cell of a table: its text, and what is said less loudly behind it."""

    text: str
    beside: str = ""


def fragment(*parts: Markup) -> str:
    """Return parts as what a notebook shows, with the style that they need."""
    return element("div", element("style", Markup(STYLE)), *parts, class_="rmls-shown")


def heading(text: str) -> Markup:
    """Return a line that stands out."""
    return element("div", element("strong", escape(text)))


def paragraph(text: str) -> Markup:
    """Return a line that is said less loudly."""
    return element("div", escape(text), class_="muted")


def grid(columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], n_names: int = 1) -> Markup:
    """Return a table; all but the first ``n_names`` columns are figures.

    Examples
    --------
    >>> "&lt;tax&gt;" in grid(["label"], [["<tax>"]])
    True
    """
    head = [
        element("th", escape(name), class_=None if at < n_names else "figure")
        for at, name in enumerate(columns)
    ]
    body = [
        element("tr", *(_cell(cell, at < n_names) for at, cell in enumerate(row))) for row in rows
    ]
    return element("table", element("thead", element("tr", *head)), element("tbody", *body))


def _cell(cell: str | Cell, is_name: bool) -> Markup:
    shown = Cell(cell) if isinstance(cell, str) else cell
    parts = [escape(shown.text)]
    if shown.beside:
        parts.append(element("span", escape(f" {shown.beside}"), class_="muted"))
    return element("td", *parts, class_=None if is_name else "figure")


def marked(text: str, spans: Iterable[tuple[int, int, float]], largest: float) -> Markup:
    """Return a text in which pieces stand out: green for, red against, the stronger the more.

    Parameters
    ----------
    text : str
    spans : iterable of (start, end, part)
        In the order of the text, without overlaps.
    largest : float
        The part that has the full colour.
    """
    pieces: list[Markup] = []
    at = 0
    cut = text[:MAX_TEXT]
    for start, end, part in spans:
        if start < at or end > len(cut):
            continue
        pieces.append(escape(cut[at:start]))
        strength = min(abs(part) / largest, 1.0) if largest > 0 else 0.0
        colour = f"background:rgba({GREEN if part > 0 else RED},{0.55 * strength:.2f})"
        pieces.append(element("mark", escape(cut[start:end]), style=colour, title=f"{part:+.3f}"))
        at = end
    pieces.append(escape(cut[at:] + (" …" if len(text) > MAX_TEXT else "")))
    return element("p", *pieces)


def number(value: float | None, decimals: int = 3) -> str:
    """Return a number, or a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:,.{decimals}f}"


def shown_inside(page: str, height: int = 480) -> str:
    """Return a whole page inside a frame of a notebook; nothing in it can run."""
    return element(
        "iframe",
        srcdoc=page,
        sandbox="",
        style=f"width:100%;height:{height}px;border:1px solid rgba(127,127,127,.4)",
    )


class Listed(list[Any]):
    """A list that notebooks show by what its entries show of themselves."""

    def _repr_html_(self) -> str:
        shown: list[Callable[[], str]] = [each._repr_html_ for each in self]
        return join(*(Markup(show()) for show in shown)) if shown else escape("[]")
