"""Sections on the study as a whole: average ranks of methods, imbalance of data, failures."""

from __future__ import annotations

from typing import Any

from rmls.bench.formatting import format_number, format_p, method_names
from rmls.bench.ranks import RankReport, rank_methods
from rmls.bench.report import numbers
from rmls.bench.report.charts.critical import critical_chart
from rmls.bench.report.charts.shares import Stack, share_chart
from rmls.bench.report.content import Figure, Key, Panel, Section
from rmls.bench.report.series import METRIC_NAMES, Results, metric_title
from rmls.bench.study_tables import dataset_title, failure_table, imbalance_table
from rmls.bench.tables import Table, TableCell
from rmls.core.frequency import GROUP_NAMES

RANK_METRICS = ("example_f1", "macro_f1", "hamming_loss")


def ranks_section(results: Results) -> Section | None:
    """Return average ranks with Friedman's test, if methods can be ranked."""
    found = [rank_methods(results.compared, metric) for metric in RANK_METRICS]
    reports = [report for report in found if report is not None]
    if not reports:
        return None
    panels = [
        Panel(
            f"{metric_title(report.metric)}: p {_is(format_p(report.p_value))}",
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
        f"{_metric(r)} χ² = {format_number(r.statistic, 1)}, p {_is(format_p(r.p_value))}"
        for r in reports
    )
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
                [TableCell(name), TableCell(f"{rank:.2f}")]
                for name, rank in zip(_names(results, report), report.ranks, strict=True)
            ],
            f"Critical difference {report.critical_difference:.2f}.",
        )
        for report in reports
    ]


def _names(results: Results, report: RankReport) -> list[str]:
    """Name methods as all charts do: by their rule only where they have several."""
    full = method_names(summary.setting for summary in results.compared)
    known = {f"{name} · {s.decision}": results.names[s] for s, name in full.items()}
    return [known.get(name, name) for name in report.names]


def _metric(report: RankReport) -> str:
    return METRIC_NAMES.get(report.metric, report.metric)


def _is(text: str) -> str:
    return text if text.startswith("<") else f"= {text}"


def imbalance_section(results: Results) -> Section | None:
    """Return how unevenly labels occur in every data set, if the study says it."""
    datasets = results.study.get("datasets", {})
    known = {name: facts["imbalance"] for name, facts in datasets.items() if facts.get("imbalance")}
    if not known:
        return None
    groups = list(GROUP_NAMES)
    panels = [
        Panel(name, share_chart(name, _stacks(facts), groups), results.note(name))
        for name, facts in known.items()
    ]
    caption = (
        "Shares of the labels, and of all assignments of a label to a row, that fall to head, "
        "torso and tail."
    )
    legend = [Key(position, group) for position, group in enumerate(groups)]
    figure = Figure("Head, torso and tail", panels, caption, [_share_table(results, known)], legend)
    return Section("imbalance", "Imbalance of the data", [imbalance_table(results.study), figure])


def _stacks(facts: dict[str, Any]) -> list[Stack]:
    found = facts.get("groups") or {}
    return [
        Stack(text, [float(found.get(group, {}).get(name) or 0) for group in GROUP_NAMES])
        for name, text in (("label_share", "labels"), ("positive_share", "assignments"))
    ]


def _share_table(results: Results, known: dict[str, Any]) -> Table:
    rows = [
        [TableCell(dataset_title(name, results.study)), TableCell(stack.name)]
        + [TableCell(numbers.percent(share)) for share in stack.shares]
        for name, facts in known.items()
        for stack in _stacks(facts)
    ]
    columns = ["data set", "share of", *GROUP_NAMES]
    return Table("Head, torso and tail", columns, rows, n_names=2)


def failures_section(results: Results) -> Section | None:
    """Return what failed and why, if anything did."""
    table = failure_table(results.summaries)
    if table is None:
        return None
    named = dict.fromkeys(s.setting.dataset for s in results.summaries if s.failed)
    titles = [dataset_title(name, results.study) for name in named if results.note(name)]
    table.note = " ".join([table.note, *(f"{title}." for title in titles)]).strip()
    return Section("failures", "Failures", [table])
