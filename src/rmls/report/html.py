"""Parts of a report as HTML."""

from __future__ import annotations

from rmls.core.show.markup import NOTHING, Markup, element, escape
from rmls.report.charts.marks import legend_mark
from rmls.report.content import Bullets, Code, Facts, Figure, Marked, Part, Piece, Section
from rmls.report.tables import Table, TableCell

# Characters beyond which names are kept from being squeezed by the figures beside them.
MEDIUM, LONG = 12, 36


def section_html(section: Section) -> Markup:
    """Return a section with its heading."""
    heading = element("h2", escape(section.title))
    parts = [part_html(part) for part in section.parts]
    return element("section", heading, *parts, id=section.anchor)


def part_html(part: Part) -> Markup:
    """Return a part of a section."""
    if isinstance(part, str):
        return element("p", escape(part))
    if isinstance(part, Facts):
        return _facts(part)
    if isinstance(part, Bullets):
        lines = [
            element("li", element("strong", escape(name)), escape(_bound(text)))
            for name, text in part.lines
        ]
        return element("ul", *lines)
    if isinstance(part, Code):
        return element("pre", element("code", escape(part.text)))
    if isinstance(part, Marked):
        return _marked(part)
    return figure_html(part) if isinstance(part, Figure) else table_html(part)


def _facts(facts: Facts) -> Markup:
    pairs = [
        element("div", element("dt", escape(name)), element("dd", escape(text)))
        for name, text in facts.pairs
    ]
    return element("dl", *pairs)


def _marked(text: Marked) -> Markup:
    title = [element("h3", escape(text.title))] if text.title else []
    return element("div", *title, element("p", *map(_piece, text.pieces)), class_="marked")


def _piece(piece: Piece) -> Markup:
    if not piece.level:
        return escape(piece.text)
    side = "for" if piece.level > 0 else "against"
    kind = f"{side} level{abs(piece.level)}"
    return element("mark", escape(piece.text), class_=kind, title=piece.tip or None)


def figure_html(figure: Figure) -> Markup:
    """Return pictures side by side where there is room, and their data to fold out."""
    panels = [
        element("div", _titled("h4", panel.title, panel.note), panel.picture, class_="panel")
        for panel in figure.panels
    ]
    heading = _titled("h3", figure.title, figure.note)
    parts = [heading, _legend(figure), element("div", *panels, class_="panels")]
    if figure.caption:
        parts.append(element("figcaption", escape(figure.caption)))
    if figure.data:
        summary = element("summary", escape("The same as a table"))
        parts.append(element("details", summary, *map(table_html, figure.data)))
    return element("figure", *parts)


def _titled(tag: str, title: str, note: str) -> Markup:
    said = [element("span", escape(f" {note}"), class_="note")] if note else []
    return element(tag, escape(title), *said)


def _legend(figure: Figure) -> Markup:
    # With one series there is nothing to tell apart.
    if len(figure.legend) < 2:
        return NOTHING
    keys = [element("li", legend_mark(key.position), escape(key.text)) for key in figure.legend]
    return element("ul", *keys, class_="legend")


def table_html(table: Table) -> Markup:
    """Return a table in a box of its own, in which it scrolls where the screen is narrow."""
    columns = [
        element("th", escape(name), scope="col", class_=None if i < table.n_names else "figure")
        for i, name in enumerate(table.columns)
    ]
    head = element("thead", element("tr", *columns))
    body = element("tbody", *(_row(row, table.n_names) for row in table.rows))
    # The title stands outside the box: it must not scroll away with a wide table.
    title = [element("p", escape(table.title), class_="caption")] if table.title else []
    label = table.title or "table"
    inner = element("table", head, body, class_=_room(table), aria_label=label)
    box = element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)
    note = [element("p", escape(table.note), class_="note")] if table.note else []
    return element("div", *title, box, *note, class_="table")


def _bound(text: str) -> str:
    """Let a figure break before its deviation and nowhere else, and an equation not at all."""
    return text.replace(" ± ", " ±\u00a0").replace(" = ", "\u00a0=\u00a0")


def _room(table: Table) -> str | None:
    # The style gives long names a minimum width; a table scrolls instead.
    longest = max((len(row[0].text) for row in table.rows if row), default=0)
    return "long" if longest > LONG else "medium" if longest > MEDIUM else None


def _row(row: list[TableCell], n_names: int) -> Markup:
    # A row without a name of its own goes on with the one above.
    starts = bool(row) and bool(row[0].text)
    cells = [
        element("th", escape(cell.text), scope="row", class_=cell.mark or None)
        if position < n_names
        else element("td", escape(_bound(cell.text)), class_=cell.mark or None)
        for position, cell in enumerate(row)
    ]
    return element("tr", *cells, class_="starts" if starts else None)
