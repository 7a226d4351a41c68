"""The report of a study: its sections in order, written as HTML and as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmls.bench.pages.curves import alpha_section, reliability_section
from rmls.bench.pages.data import failures_section, imbalance_section
from rmls.bench.pages.overview import finished, overview_section
from rmls.bench.pages.quality import quality_sections
from rmls.bench.pages.ranks import ranks_section
from rmls.bench.pages.series import Results
from rmls.bench.run.records import Record
from rmls.bench.run.store import read_current
from rmls.bench.tables.paper_tables import agreement, paper_tables
from rmls.bench.tables.result_tables import result_tables, same_rule_table
from rmls.bench.tables.tuning_table import tuning_table
from rmls.report.content import Report, Section
from rmls.report.numbers import MISSING
from rmls.report.output import write_report

PAPER = "paper"


def report_folder(folder: Path) -> tuple[Path, Path]:
    """Write the report of the results in a folder, and return its two files.

    Results of a data set that has changed since are left out.
    """
    return write_report(folder, build_report(*read_current(folder)))


def build_report(records: list[Record], study: dict[str, Any]) -> Report:
    """Return the report of a study; sections without anything to say are left out.

    Parameters
    ----------
    records : list of Record
    study : dict
        Contents of ``study.json``.
    """
    results = Results(records, study)
    # What is asked first comes first: the outcome, then why, then every figure.
    sections: list[Section | None] = [
        overview_section(results),
        *quality_sections(results),
        alpha_section(results),
        reliability_section(results),
        ranks_section(results),
        imbalance_section(results),
        _paper_section(results),
        _tables_section(results),
        failures_section(results),
    ]
    title = str(study.get("title") or study.get("study") or "Results")
    when = finished(records)
    subtitle = f"Benchmark report; last result {when}" if when else "Benchmark report"
    return Report(title, subtitle, [one for one in sections if one is not None and one.parts])


def _paper_section(results: Results) -> Section | None:
    if results.study.get("study") != PAPER:
        return None
    said = agreement(results.summaries, results.study)
    tables = paper_tables(results.summaries, results.study)
    return Section("paper", "Beside the paper", [*([said] if said else []), *tables])


def _tables_section(results: Results) -> Section:
    rules = same_rule_table(results.summaries, results.study)
    # Where every method has only its own rule the table would repeat the one below.
    matters = any(row[-1].text != MISSING for row in rules.rows)
    tables = result_tables(results.summaries, results.study)
    chosen = tuning_table(results.summaries)
    first = [*([rules] if matters else []), *([chosen] if chosen else [])]
    return Section("tables", "All figures", [*first, *tables])
