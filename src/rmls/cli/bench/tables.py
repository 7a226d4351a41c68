"""Tables of a study in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def print_study(console: Console, folder: Path) -> None:
    """Print the tables of a study, those of the paper where it is the paper's, and who wins."""
    from rich.text import Text

    from rmls.bench.pages.series import Results
    from rmls.bench.pages.winners import winner_lines
    from rmls.bench.run.store import read_current
    from rmls.bench.tables.paper_tables import paper_tables
    from rmls.bench.tables.result_tables import result_tables
    from rmls.bench.tables.study_tables import failure_table, missing_text
    from rmls.bench.tables.summary import summarise
    from rmls.bench.tables.tuning_table import tuning_table
    from rmls.report.terminal import print_tables

    records, study = read_current(folder)
    summaries = summarise(records)
    make = paper_tables if study.get("study") == "paper" else result_tables
    more = [table for table in (tuning_table(summaries), failure_table(summaries)) if table]
    print_tables(console, [*make(summaries, study), *more])
    # At the end, where a terminal is read first.
    for title, text in winner_lines(Results(records, study)):
        console.print(Text.assemble((title, "bold"), text), soft_wrap=True)
    if text := missing_text(study):
        console.print(text, soft_wrap=True)
