"""The section on average ranks: who is better over all data sets, and by more than chance."""

from __future__ import annotations

from rmls.bench.pages.series import METRIC_NAMES, Results, metric_title
from rmls.bench.tables.names import method_names, name_with_rule
from rmls.bench.tables.ranks import RankReport, rank_methods
from rmls.report.charts.critical import critical_chart
from rmls.report.content import Figure, Panel, Section
from rmls.report.numbers import format_number, format_p
from rmls.report.tables import Table, table_row

RANK_METRICS = ("example_f1", "macro_f1", "hamming_loss")


def ranks_section(results: Results) -> Section | None:
    """Return average ranks with Friedman's test, if methods can be ranked."""
    found = [rank_methods(results.compared, metric) for metric in RANK_METRICS]
    reports = [report for report in found if report is not None]
    if not reports:
        return None
    panels = [
        Panel(
            f"{metric_title(report.metric)}: {_p_text(report.p_value)}",
            critical_chart(
                f"Average ranks by {_metric(report)}",
                _names(results, report),
                report.ranks,
                report.critical_difference,
                report.groups,
            ),
        )
        for report in reports
    ]
    figure = Figure(
        "Critical-difference diagrams",
        panels,
        _rank_caption(reports),
        _rank_tables(results, reports),
    )
    return Section("ranks", "Average ranks", [figure])


def _rank_caption(reports: list[RankReport]) -> str:
    tests = "; ".join(
        f"{_metric(r)} χ² = {format_number(r.statistic, 1)}, {_p_text(r.p_value)}" for r in reports
    )
    # Usually the same blocks are ranked by every metric, and one note says it.
    notes = list(dict.fromkeys(report.note for report in reports))
    if len(notes) > 1:
        notes = [f"{_metric(report)}: {report.note}" for report in reports]
    return (
        "The best average rank is 1. Methods under a common thick bar are not told apart: their "
        "ranks differ by less than Nemenyi's critical difference at 0.05. Friedman's test of no "
        f"difference at all: {tests}. {' '.join(notes)}"
    )


def _rank_tables(results: Results, reports: list[RankReport]) -> list[Table]:
    return [
        Table(
            f"Average ranks by {_metric(report)}",
            ["method", "average rank"],
            [
                table_row(name, f"{rank:.2f}")
                for name, rank in zip(_names(results, report), report.ranks, strict=True)
            ],
            f"Critical difference {report.critical_difference:.2f}.",
        )
        for report in reports
    ]


def _names(results: Results, report: RankReport) -> list[str]:
    """Name methods as all charts do: by their rule only where they have several."""
    # The ranking always names the rule; charts of this report may not.
    full = method_names(summary.setting for summary in results.compared)
    known = {name_with_rule(name, s): results.names[s] for s, name in full.items()}
    return [known.get(name, name) for name in report.names]


def _metric(report: RankReport) -> str:
    return METRIC_NAMES.get(report.metric, report.metric)


def _p_text(p_value: float) -> str:
    text = format_p(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
