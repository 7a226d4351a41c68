"""The tables of docs/research/paper-study.md, from the results of `rmls bench paper`.

    rmls bench paper --datasets enron --out out/paper
    python benchmarks/paper_tables.py out/paper [more folders]

After the five tables of the paper: all figures of a data set, pairs of methods on the same folds,
what tuned methods chose, the method's own rule and one rule for all, labels by frequency, the
sampling coefficient, and what a budget of hours left unfinished. Intervals are corrected for the
rows that folds share (Nadeau and Bengio).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from rmls.bench.run.records import Record
from rmls.bench.run.store import read_current
from rmls.bench.tables.compare import Change
from rmls.bench.tables.paper_tables import paper_tables
from rmls.bench.tables.result_tables import same_rule_table
from rmls.bench.tables.summary import CLOCK, Setting, Summary, run_of, summarise, test_ratio
from rmls.bench.tables.tuning_table import tuning_table
from rmls.core.frequency import GROUP_NAMES
from rmls.report.averages import format_amount, format_average
from rmls.report.numbers import MISSING, format_difference, format_interval, format_number
from rmls.report.tables import Table, table_row

CARDINALITY, ROUND = "cardinality", "round"
# First and second method, whether with the first number of components (0) or the second (1), and
# the rule of the second; the first always keeps the cardinality.
PAIRS = (
    ("RMLS", 0, "PLST", 0, ROUND),
    ("RMLS", 1, "PLST", 1, ROUND),
    ("RMLS", 0, "PLST", 0, CARDINALITY),
    ("RMLS", 1, "PLST", 1, CARDINALITY),
    ("RMLS", 0, "FaIE", 0, CARDINALITY),
    ("RMLS", 0, "ML-CSSP", 0, CARDINALITY),
    ("RMLS", 0, "LEML", 0, CARDINALITY),
    ("RMLS", 1, "LEML", 1, CARDINALITY),
    ("RMLS", 0, "WSABIE", 0, CARDINALITY),
    ("RMLS, tuned", 0, "PLST, tuned", 0, CARDINALITY),
    ("RMLS, tuned", 0, "FaIE, tuned", 0, CARDINALITY),
    ("RMLS, tuned", 0, "ML-CSSP, tuned", 0, CARDINALITY),
    ("RMLS, tuned", 0, "LEML, tuned", 0, CARDINALITY),
    ("RMLS, tuned", 0, "WSABIE, tuned", 0, CARDINALITY),
    ("RMLS, our defaults", 0, "RMLS", 0, CARDINALITY),
    ("RMLS, our defaults", 0, "RMLS, tuned", 0, CARDINALITY),
    ("RMLS, every label", 0, "RMLS", 0, CARDINALITY),
    ("RMLS, every label, weighted", 0, "RMLS", 0, CARDINALITY),
)
FIGURES = {
    "example_f1": "F",
    "example_accuracy": "accuracy",
    "hamming_loss": "Hamming loss",
    "macro_f1": "macro-F",
    "precision@5": "P@5",
    "psp@5": "PSP@5",
}
GROUP_METRICS = {"macro_f1": "macro-F", "macro_recall": "macro recall", "ndcg@5": "nDCG@5"}
ALPHA = "negatives_per_positive"


def figure_table(summaries: list[Summary]) -> Table:
    """Return the figures of every method under every rule, and its training time."""
    table = Table(
        "Every method and rule",
        ["data", "method", "k", "rule", "runs", *FIGURES.values(), "training CPU s"],
        n_names=4,
        note="Mean ± deviation of the runs.",
    )
    for summary in summaries:
        setting = summary.setting
        if setting.experiment == "methods" and summary.records:
            k = MISSING if setting.n_components is None else str(setting.n_components)
            texts = [format_average(summary.average(name)) for name in FIGURES]
            texts.append(format_amount(summary.average(CLOCK)))
            runs = str(len(summary.records))
            place = setting.dataset, setting.label, k, setting.decision
            table.rows.append(table_row(*place, runs, *texts))
    return table


def pair_table(summaries: list[Summary]) -> Table:
    """Return differences of pairs of methods over the folds that both have."""
    columns = ["line", "data", "first", "second", "F, first", "F, second", "difference"]
    columns += ["95% interval", "folds ahead", "macro-F: difference", "95% interval"]
    note = "Cardinality rule unless rounded. Intervals: Student's t over paired folds with the "
    note += "variance corrected for the rows that they share (Nadeau and Bengio)."
    table = Table("Pairs of methods, the same folds", columns, note=note, n_names=4)
    for first, second in _pairs(summaries):
        scores, other = (_change(first, second, name) for name in ("example_f1", "macro_f1"))
        if scores is None or other is None:
            continue
        before, after = _by_run(first, "example_f1"), _by_run(second, "example_f1")
        both = before.keys() & after.keys()
        ahead = sum(before[run] > after[run] for run in both)
        table.rows.append(
            table_row(
                _line(len(table.rows)),
                first.setting.dataset,
                _name(first.setting),
                _name(second.setting),
                format_number(scores.after.mean),
                format_number(scores.before.mean),
                format_difference(scores.difference),
                format_interval(scores.interval),
                f"{ahead} of {len(both)}",
                format_difference(other.difference),
                format_interval(other.interval),
            )
        )
    return table


def _line(number: int) -> str:
    """Return a, b, …, z, aa, ab, …."""
    few = len(ascii_lowercase)
    return (ascii_lowercase[number // few - 1] if number >= few else "") + ascii_lowercase[
        number % few
    ]


def _pairs(summaries: list[Summary]) -> Iterator[tuple[Summary, Summary]]:
    found = {s.setting: s for s in summaries if s.setting.experiment == "methods" and s.records}
    for dataset in dict.fromkeys(setting.dataset for setting in found):
        sizes = {s.n_components for s in found if s.dataset == dataset}
        ks = sorted(k for k in sizes if k is not None)
        for first, i, second, j, rule in PAIRS:
            if max(i, j) >= len(ks):
                continue
            one = _find(found, dataset, first, ks[i], CARDINALITY)
            other = _find(found, dataset, second, ks[j], rule)
            if one is not None and other is not None:
                yield one, other


def _find(
    found: dict[Setting, Summary], dataset: str, label: str, k: int, rule: str
) -> Summary | None:
    wanted = (dataset, label, k, rule)
    return next(
        (s for t, s in found.items() if (t.dataset, t.label, t.n_components, t.decision) == wanted),
        None,
    )


def _name(setting: Setting) -> str:
    rounded = ", rounded" if setting.decision == ROUND else ""
    return f"{setting.label}, k = {setting.n_components}{rounded}"


def _by_run(summary: Summary, metric: str) -> dict[tuple[int, int], float]:
    measured = {run_of(record): record["measured"] for record in summary.records}
    return {run: one["metrics"]["all"][metric] for run, one in measured.items() if one}


def _change(first: Summary, second: Summary, metric: str) -> Change | None:
    before, after = _by_run(second, metric), _by_run(first, metric)
    runs = sorted(before.keys() & after.keys())
    ratio = test_ratio(first.records)
    return Change.of([before[run] for run in runs], [after[run] for run in runs], ratio)


def group_table(summaries: list[Summary]) -> Table:
    """Return metrics by how frequent labels are, under the cardinality rule."""
    columns = ["data", "method", "runs"]
    columns += [
        f"{name}: {group}" for name in GROUP_METRICS.values() for group in ("all", *GROUP_NAMES)
    ]
    table = Table("Labels by frequency, cardinality rule", columns, n_names=2)
    for summary in summaries:
        setting = summary.setting
        if setting.experiment != "methods" or setting.decision != CARDINALITY:
            continue
        averages = [
            summary.average(metric, group)
            for metric in GROUP_METRICS
            for group in ("all", *GROUP_NAMES)
        ]
        if any(averages):
            texts = [format_number(one.mean) if one else MISSING for one in averages]
            runs = str(len(summary.records))
            table.rows.append(table_row(setting.dataset, _name(setting), runs, *texts))
    return table


def alpha_table(summaries: list[Summary]) -> Table:
    """Return F, accuracy and Hamming loss by the irrelevant labels for each relevant one."""
    table = Table(
        "The sampling coefficient",
        ["data", "method", "α", "F", "accuracy", "Hamming loss", "runs"],
        n_names=3,
    )
    for summary in summaries:
        if summary.setting.experiment == "alpha" and summary.records:
            setting, params = summary.setting, summary.records[0]["config"]["params"]
            names = ("example_f1", "example_accuracy", "hamming_loss")
            averages = [summary.average(name) for name in names]
            texts = [
                format_number(one.mean if one else None, 3 + (name == "hamming_loss"))
                for name, one in zip(names, averages, strict=True)
            ]
            place = setting.dataset, _name(setting), str(params[ALPHA])
            table.rows.append(table_row(*place, *texts, str(len(summary.records))))
    return table


def commits(records: list[Record]) -> str:
    """Return at which commits the results were made, and how many there are."""
    found = sorted({str(record["commit"]) for record in records})
    failed = sum(record["status"] != "ok" for record in records)
    return f"{len(records)} results, {failed} failed, at commit {', '.join(found)}."


def read_folders(folders: list[Path]) -> tuple[list[Record], dict[str, Any]]:
    """Return the results of several studies, a configuration once, and what they ran on."""
    records: dict[str, Record] = {}
    merged: dict[str, Any] = {"datasets": {}, "unfinished": {}}
    for folder in folders:
        found, study = read_current(folder)
        for record in found:
            records.setdefault(record["key"], record)
        for name in merged:
            merged[name] |= study.get(name, {})
    return list(records.values()), merged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="folder")
    records, study = read_folders(parser.parse_args().folders)
    summaries = summarise(records)
    tables = paper_tables(summaries, study)
    more = [figure_table(summaries), pair_table(summaries), tuning_table(summaries)]
    more += [same_rule_table(summaries, study), group_table(summaries), alpha_table(summaries)]
    for number, table in enumerate((one for one in more if one and one.rows), len(tables) + 1):
        table.title = f"Table {number}. {table.title}"
        tables.append(table)
    print(commits(records))
    for name, left in study["unfinished"].items():
        print(f"Not finished: {name}, {left}.")
    for table in tables:
        print(f"\n{table.to_markdown()}")


if __name__ == "__main__":
    main()
