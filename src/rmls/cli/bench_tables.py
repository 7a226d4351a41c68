"""Tables of a study in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from rmls.bench.tables import Table

STYLES = {"best": "bold", "better": "green", "worse": "red", "muted": "dim", "": ""}


def print_study(console: Console, folder: Path) -> None:
    """Print the tables of a study: those of the paper where it is the paper's."""
    from rmls.bench.conduct import read_current
    from rmls.bench.paper_tables import paper_tables
    from rmls.bench.result_tables import failure_table, missing_text, result_tables
    from rmls.bench.summary import summarise

    records, study = read_current(folder)
    summaries = summarise(records)
    make = paper_tables if study.get("study") == "paper" else result_tables
    failures = failure_table(summaries)
    print_tables(console, [*make(summaries, study), *([failures] if failures else [])])
    if text := missing_text(study):
        console.print(text, soft_wrap=True)


def print_tables(console: Console, tables: list[Table]) -> None:
    """Print tables one below the other; a table wider than the terminal is cut into parts."""
    from rich.table import Table as RichTable
    from rich.text import Text

    for table in tables:
        console.print(Text(table.title, style="bold"))
        shown = RichTable(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        for position, name in enumerate(table.columns):
            justify = "left" if position < table.n_names else "right"
            shown.add_column(Text(name), justify=justify)  # type: ignore[arg-type]
        for row in table.rows:
            shown.add_row(*(Text(cell.text, style=STYLES[cell.mark]) for cell in row))
        console.print(shown)
        if table.note:
            console.print(Text(table.note, style="dim"))
        console.print()
