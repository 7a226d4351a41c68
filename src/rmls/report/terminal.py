"""Reports and tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rmls.report.content import Bullets, Code, Facts, Figure, Marked, Part, Report
from rmls.report.tables import Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

GAP = 2
STYLES = {
    "best": "bold",
    "better": "green",
    "worse": "red",
    "differs": "bold",
    "muted": "dim",
    "": "",
}


def print_report(report: Report, console: Console | None = None) -> None:
    """Print a report: what a figure shows as its tables, all else as on the page."""
    from rich.console import Console
    from rich.text import Text

    # Names of labels may hold brackets, which are no markup.
    console = console or Console(highlight=False, markup=False)
    console.print(Text(report.title, style="bold"))
    console.print(Text(report.subtitle, style="dim"))
    for section in report.sections:
        console.print()
        console.print(Text(section.title, style="bold underline"))
        for part in section.parts:
            _print_part(console, part)


def _print_part(console: Console, part: Part) -> None:
    from rich.text import Text

    if isinstance(part, str | Code):
        console.print(Text(part if isinstance(part, str) else part.text))
    elif isinstance(part, Facts):
        width = max((len(name) for name, _ in part.pairs), default=0) + GAP
        for name, text in part.pairs:
            console.print(Text.assemble((f"{name:<{width}}", "dim"), text))
    elif isinstance(part, Bullets):
        for first, text in part.lines:
            console.print(Text.assemble((first, "bold"), text))
    elif isinstance(part, Marked):
        console.print(_marked(part))
    else:
        print_tables(console, part.data if isinstance(part, Figure) else [part])


def _marked(text: Marked) -> Text:
    """Return a text in the colours of the terminal, whatever its theme makes of them."""
    from rich.text import Text

    shown = Text(f"{text.title}\n" if text.title else "", style="")
    for piece in text.pieces:
        colour = "green" if piece.level > 0 else "red"
        style = ("", colour, f"bold {colour}", f"black on {colour}", f"bold black on {colour}")
        shown.append(piece.text, style[abs(piece.level)])
    return shown


def print_tables(console: Console, tables: list[Table]) -> None:
    """Print tables one below the other; a table wider than the terminal is cut into parts."""
    from rich.text import Text

    for table in tables:
        if table.title:
            console.print(Text(table.title, style="bold"))
        for columns in _parts(table, console.width):
            console.print(_dressed(table, columns))
            console.print()
        if table.note:
            console.print(Text(table.note, style="dim"))
            console.print()


def _parts(table: Table, width: int) -> list[list[int]]:
    """Return the columns of each part; the names of the rows come again in every part."""
    widths = [
        max([len(name), *(len(row[position].signed) for row in table.rows)]) + GAP
        for position, name in enumerate(table.columns)
    ]
    names = list(range(table.n_names))
    parts, room = [list(names)], width - sum(widths[: table.n_names])
    left = room
    for position in range(table.n_names, len(table.columns)):
        # Every part gets a figure, however narrow the terminal is.
        if widths[position] > left and len(parts[-1]) > len(names):
            parts.append(list(names))
            left = room
        parts[-1].append(position)
        left -= widths[position]
    return parts


def _dressed(table: Table, columns: list[int]) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, padding=(0, GAP, 0, 0), show_edge=False, header_style="dim")
    for position in columns:
        justify: Literal["left", "right"] = "left" if position < table.n_names else "right"
        shown.add_column(Text(table.columns[position]), justify=justify)
    for row in table.rows:
        shown.add_row(*(Text(row[i].signed, style=STYLES[row[i].mark]) for i in columns))
    return shown
