"""A report as Markdown: the tables, and the figures as tables too."""

from __future__ import annotations

import re

from rmls.report.content import (
    Bullets,
    Code,
    Facts,
    Figure,
    Marked,
    Part,
    Report,
    Section,
)
from rmls.report.tables import Table, TableCell


def to_markdown(report: Report) -> str:
    """Return a report as Markdown that can be read on its own."""
    parts = [f"# {plain(report.title)}", plain(report.subtitle)]
    for section in report.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Return a text of one line in which nothing is taken for HTML or for emphasis.

    Examples
    --------
    >>> plain("<b>&\\n*")
    '&lt;b&gt;&amp; \\\\*'
    """
    # Line breaks would end a table row or begin a list.
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]])", r"\\\1", text)


def _section(section: Section) -> list[str]:
    return [f"## {plain(section.title)}", *(_part(part) for part in section.parts)]


def _part(part: Part) -> str:
    if isinstance(part, str):
        return plain(part)
    if isinstance(part, Facts):
        return "\n".join(f"- {plain(name)}: {plain(text)}" for name, text in part.pairs)
    if isinstance(part, Bullets):
        return "\n".join(f"- **{plain(name)}**{_rest(text)}" for name, text in part.lines)
    if isinstance(part, Code):
        return _code(part.text)
    if isinstance(part, Marked):
        return _marked(part)
    if isinstance(part, Figure):
        return _figure(part)
    return _table(part)


def _marked(text: Marked) -> str:
    """Bold for the stronger pieces: Markdown has no colours."""
    title = f"### {plain(text.title)}\n\n" if text.title else ""
    pieces = [
        f"**{plain(piece.text)}**" if abs(piece.level) > 1 else plain(f"|{piece.text}|")[1:-1]
        for piece in text.pieces
    ]
    return title + "".join(pieces)


def _rest(text: str) -> str:
    """Keep the blank that parts it from what stands before."""
    return (" " if text[:1] == " " else "") + plain(text)


def _code(text: str) -> str:
    """Fenced by more back ticks than stand in a row inside, so that no text ends it early."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _figure(figure: Figure) -> str:
    named = f"{figure.title} ({figure.note})" if figure.note else figure.title
    parts = [f"### {plain(named)}"]
    if figure.caption:
        parts.append(plain(figure.caption))
    return "\n\n".join([*parts, *(_table(table) for table in figure.data)])


def _table(table: Table) -> str:
    # Texts are escaped here, so that `Table` itself stays free of any format.
    return Table(
        plain(table.title),
        [plain(column) for column in table.columns],
        [[TableCell(plain(cell.text), cell.mark) for cell in row] for row in table.rows],
        plain(table.note),
        table.n_names,
    ).to_markdown()
