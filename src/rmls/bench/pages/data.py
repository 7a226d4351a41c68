"""Sections on the data of a study and on what went wrong: imbalance, failures."""

from __future__ import annotations

from typing import Any

from rmls.bench.pages.series import Results
from rmls.bench.tables.study_tables import dataset_title, failure_table, imbalance_table
from rmls.core.frequency import GROUP_NAMES
from rmls.report.charts.shares import Stack, share_chart
from rmls.report.content import Figure, Key, Panel, Section
from rmls.report.numbers import format_percent
from rmls.report.tables import Table, table_row


def imbalance_section(results: Results) -> Section | None:
    """Return how unevenly labels occur in every data set, if the study says it."""
    datasets = results.study.get("datasets", {})
    known = {name: facts["imbalance"] for name, facts in datasets.items() if facts.get("imbalance")}
    if not known:
        return None
    groups = list(GROUP_NAMES)
    # Two bars for a data set: how few labels the head has, and how many of the assignments.
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
        table_row(
            dataset_title(name, results.study), stack.name, *map(format_percent, stack.shares)
        )
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
    # A failure of a stand-in must not be read as one of the paper's data set.
    named = dict.fromkeys(s.setting.dataset for s in results.summaries if s.failed)
    titles = [dataset_title(name, results.study) for name in named if results.note(name)]
    table.note = " ".join([table.note, *(f"{title}." for title in titles)]).strip()
    return Section("failures", "Failures", [table])
