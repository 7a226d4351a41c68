"""The order of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rmls.bench.formatting import MISSING
from rmls.bench.paper_tables import paper_tables
from rmls.bench.records import Record
from rmls.bench.report.comparison import failures_section, imbalance_section, ranks_section
from rmls.bench.report.content import Report, Section
from rmls.bench.report.curves import alpha_section, reliability_section
from rmls.bench.report.overview import finished, overview_section
from rmls.bench.report.quality import frequency_section, quality_section, time_section
from rmls.bench.report.series import Results
from rmls.bench.result_tables import result_tables, same_rule_table

PAPER = "paper"


def build_report(records: list[Record], study: dict[str, Any]) -> Report:
    """Return the report of a study; sections without anything to say are left out.

    Parameters
    ----------
    records : list of Record
    study : dict
        Contents of ``study.json``.
    """
    results = Results(records, study)
    builders: list[Callable[[Results], Section | None]] = [
        overview_section,
        quality_section,
        time_section,
        frequency_section,
        alpha_section,
        reliability_section,
        ranks_section,
        imbalance_section,
        _paper_section,
        _tables_section,
        failures_section,
    ]
    sections = [section for build in builders if (section := build(results)) is not None]
    title = str(study.get("title") or study.get("study") or "Results")
    when = finished(records)
    subtitle = f"Benchmark report; last result {when}" if when else "Benchmark report"
    return Report(title, subtitle, [section for section in sections if section.parts])


def _paper_section(results: Results) -> Section | None:
    if results.study.get("study") != PAPER:
        return None
    return Section("paper", "Beside the paper", [*paper_tables(results.summaries, results.study)])


def _tables_section(results: Results) -> Section:
    rules = same_rule_table(results.summaries, results.study)
    matters = any(row[-1].text != MISSING for row in rules.rows)
    tables = result_tables(results.summaries, results.study)
    return Section("tables", "All figures", [*([rules] if matters else []), *tables])
