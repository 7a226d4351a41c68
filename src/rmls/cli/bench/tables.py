"""Tables of a study in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from rmls.report.tables import Table

GAP = 2
STYLES = {"best": "bold", "better": "green", "worse": "red", "muted": "dim", "": ""}


def print_study(console: Console, folder: Path) -> None:
    """Print the tables of a study: those of the paper where it is the paper's."""
    from rmls.bench.run.store import read_current
    from rmls.bench.tables.paper_tables import paper_tables
    from rmls.bench.tables.result_tables import result_tables
    from rmls.bench.tables.study_tables import failure_table, missing_text
    from rmls.bench.tables.summary import summarise

    records, study = read_current(folder)
    summaries = summarise(records)
    make = paper_tables if study.get("study") == "paper" else result_tables
    failures = failure_table(summaries)
    print_tables(console, [*make(summaries, study), *([failures] if failures else [])])
    if text := missing_text(study):
        console.print(text, soft_wrap=True)


def print_tables(console: Console, tables: list[Table]) -> None:
    """Print tables one below the other; a table wider than the terminal is cut into parts."""
    from rich.text import Text

    for table in tables:
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
