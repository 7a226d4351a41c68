"""Tables of results: quality, labels by frequency, probabilities, costs, one rule for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from rmls.bench.tables.names import failure_reason, method_names, setting_cells
from rmls.bench.tables.study_tables import dataset_title
from rmls.bench.tables.summary import (
    CLOCK,
    Setting,
    Summary,
    greater_is_better,
    main_experiment,
    own_rule,
    run_of,
)
from rmls.core.frequency import GROUP_NAMES
from rmls.report.averages import Average, best_of, format_amount, format_average, scaled
from rmls.report.numbers import MISSING, format_difference
from rmls.report.tables import Table, TableCell, table_row

QUALITY = {
    "example_f1": "F",
    "example_accuracy": "accuracy",
    "hamming_loss": "Hamming loss",
    "micro_f1": "micro F",
    "macro_f1": "macro F",
    "precision@1": "P@1",
    "precision@3": "P@3",
    "precision@5": "P@5",
    "psp@1": "PSP@1",
    "psp@3": "PSP@3",
    "psp@5": "PSP@5",
    "ndcg@5": "nDCG@5",
}
BY_FREQUENCY = {
    "macro_f1": "macro F",
    "macro_recall": "macro recall",
    "psp@5": "PSP@5",
    "recall@5": "R@5",
    "ndcg@5": "nDCG@5",
}
PROBABILITIES = {"ece": "ECE", "ece_tail": "ECE, tail", "brier": "Brier"}
COMMON_RULE = "cardinality"
NAMES = ["method", "k", "rule"]


class _Figure(NamedTuple):
    """A column of figures: heading, value of a row, its text, and which direction is better."""

    heading: str
    read: Callable[[Summary], Average | None]
    write: Callable[[Average | None], str]
    greater: bool | None = None


def result_tables(summaries: list[Summary], study: dict[str, Any]) -> list[Table]:
    """Return tables per data set and experiment: quality, by frequency, probabilities, costs.

    Parameters
    ----------
    summaries : list of Summary
    study : dict
        ``datasets`` with notes, as in ``study.json``; data sets come in its order.

    Returns
    -------
    list of Table
        Rows are method, number of components and decision rule; figures are mean ± deviation of
        the runs. The best of each column of a metric is marked. Columns without any value are
        left out, and so are tables without columns.

    Examples
    --------
    >>> result_tables([], {})
    []
    """
    main = main_experiment(summaries)
    tables = []
    for dataset, experiment in _places(summaries, study):
        rows = [
            summary
            for summary in summaries
            if (summary.setting.dataset, summary.setting.experiment) == (dataset, experiment)
        ]
        title = dataset_title(dataset, study)
        title += "" if experiment == main else f", experiment {experiment}"
        for subject, figures in (
            ("quality", _quality()),
            ("labels by frequency", _by_frequency()),
            ("probabilities", _probabilities()),
            ("costs", _costs()),
        ):
            table = _table(f"{title}: {subject}", rows, figures)
            # Names alone are no table.
            tables += [table] if len(table.columns) > table.n_names else []
    return tables


def _places(summaries: list[Summary], study: dict[str, Any]) -> list[tuple[str, str]]:
    """Return data sets in the study's order, each with its experiments, the main one first."""
    main = main_experiment(summaries)
    datasets = list(study.get("datasets", {}))
    found = dict.fromkeys((s.setting.dataset, s.setting.experiment) for s in summaries)
    order = {name: place for place, name in enumerate(datasets)}
    return sorted(found, key=lambda place: (place[1] != main, order.get(place[0], len(order))))


def _quality() -> list[_Figure]:
    return [
        _Figure(heading, _metric(name), format_average, greater_is_better(name))
        for name, heading in QUALITY.items()
    ]


def _by_frequency() -> list[_Figure]:
    return [
        _Figure(
            f"{heading}, {group}", _metric(name, group), format_average, greater_is_better(name)
        )
        for name, heading in BY_FREQUENCY.items()
        for group in GROUP_NAMES
    ]


def _probabilities() -> list[_Figure]:
    return [
        _Figure(heading, _calibration(name), format_average, greater=False)
        for name, heading in PROBABILITIES.items()
    ]


def _costs() -> list[_Figure]:
    return [
        _Figure("training CPU s", _metric(CLOCK), format_amount),
        _Figure("prediction CPU ms per row", _prediction_ms, format_amount),
        _Figure("peak memory MB", _metric("peak_memory", factor=1e-6), format_amount),
        _Figure("model MB", _metric("model_bytes", factor=1e-6), format_amount),
        _Figure("empty rows %", _metric("empty_rows", factor=100), _one_decimal),
    ]


def _metric(
    name: str, group: str = "all", factor: float = 1
) -> Callable[[Summary], Average | None]:
    return lambda summary: scaled(summary.average(name, group), factor)


def _calibration(name: str) -> Callable[[Summary], Average | None]:
    """Return the reader of a figure that results of earlier versions lack."""

    def read(summary: Summary) -> Average | None:
        measured = (record["measured"] for record in summary.records)
        # Results of earlier versions have no such field.
        found: list[Any] = [one.get("calibration") for one in measured if one]
        values = (one[name] for one in found if one)
        return Average.of(value for value in values if value is not None)

    return read


def _one_decimal(average: Average | None) -> str:
    small = average is not None and average.mean < 0.1
    return "0.0" if small else format_average(average, digits=1)


def _prediction_ms(summary: Summary) -> Average | None:
    return Average.of(
        1000 * record["measured"]["predict_cpu_seconds"] / record["data"]["n_test"]
        for record in summary.records
        if record["measured"] and record["data"] and record["data"]["n_test"]
    )


def _table(title: str, summaries: list[Summary], figures: list[_Figure]) -> Table:
    names = method_names(summary.setting for summary in summaries)
    rows = [setting_cells(names, summary.setting) for summary in summaries]
    table = Table(title, list(NAMES), rows, note=_incomplete(names, summaries), n_names=len(NAMES))
    for figure in figures:
        averages = [figure.read(summary) for summary in summaries]
        # A metric that no run has measured gets no column.
        if not any(averages):
            continue
        table.columns.append(figure.heading)
        best = [False] * len(averages)
        if figure.greater is not None:
            best = best_of(averages, figure.greater)
        for row, average, marked in zip(rows, averages, best, strict=True):
            row.append(TableCell(figure.write(average), "best" if marked else ""))
    return table


def _incomplete(names: dict[Setting, str], summaries: Iterable[Summary]) -> str:
    """Return which rows are means of fewer runs than were started."""
    parts = []
    for summary in summaries:
        if summary.failed:
            n_good = len(summary.records)
            name = " · ".join(cell.text for cell in setting_cells(names, summary.setting))
            reasons = ", ".join(sorted({failure_reason(record) for record in summary.failed}))
            n_runs = n_good + len(summary.failed)
            parts.append(f"{name}: {n_good} of {n_runs} runs ended well ({reasons}).")
    return " ".join(parts)


def same_rule_table(summaries: list[Summary], study: dict[str, Any]) -> Table:
    """Return the F score of every method under its own rule and under one rule for all.

    Methods that predict codes of labels round what they decode, which predicts few labels; the
    table tells how much of their distance to the others is the rule and how much the model. A
    method that was not run under its own rule is there with the common one.

    Parameters
    ----------
    summaries : list of Summary
    study : dict
        ``datasets`` with notes, as in ``study.json``.

    Returns
    -------
    Table
        The best of each data set and number of components is marked, under either rule. The
        gain is the mean over the same folds.

    Examples
    --------
    >>> same_rule_table([], {}).rows
    []
    """
    main = main_experiment(summaries)
    ours = [summary for summary in summaries if summary.setting.experiment == main]
    by_setting = {summary.setting: summary for summary in ours}
    names = method_names(by_setting)
    table = Table(
        "F score under the method's own rule and under the same rule for all",
        ["data set", "method", "k", "own rule", "F, own rule", f"F, {COMMON_RULE}", "gain"],
        note=_stand_in_note(ours, study),
        n_names=4,
    )
    for pairs in _pairs_by_block(by_setting, study):
        own = [pair.own.average("example_f1") if pair.own else None for pair in pairs]
        common = [pair.common.average("example_f1") for pair in pairs]
        best_own, best_common = best_of(own, greater=True), best_of(common, greater=True)
        for place, pair in enumerate(pairs):
            setting = pair.common.setting
            row = table_row(
                setting.dataset,
                *setting_cells(names, setting)[:-1],
                pair.rule if pair.own else f"{pair.rule}, not run",
                TableCell(format_average(own[place]), "best" if best_own[place] else ""),
                TableCell(format_average(common[place]), "best" if best_common[place] else ""),
                _gain(pair),
            )
            table.rows.append(row)
    return table


class _Pair(NamedTuple):
    """A method under its own rule, None where it was not run so, and under the common one."""

    rule: str
    own: Summary | None
    common: Summary


def _pairs_by_block(summaries: dict[Setting, Summary], study: dict[str, Any]) -> list[list[_Pair]]:
    """Return results under both rules, method by method, for each data set and components."""
    order = list(study.get("datasets", {}))
    blocks: dict[tuple[str, int | None], list[_Pair]] = {}
    # A method once, in the order of its first result under any rule.
    for setting in dict.fromkeys(s._replace(decision=COMMON_RULE) for s in summaries):
        common = summaries.get(setting)
        if common is not None:
            rule = own_rule(common)
            pair = _Pair(rule, summaries.get(setting._replace(decision=rule)), common)
            blocks.setdefault((setting.dataset, setting.n_components), []).append(pair)
    place = {name: place for place, name in enumerate(order)}
    # Methods without components come last, each data set in turn.
    keys = sorted(
        blocks,
        key=lambda block: (place.get(block[0], len(place)), block[1] is None, block[1] or 0),
    )
    return [blocks[key] for key in keys]


def _gain(pair: _Pair) -> str:
    if pair.own is None or pair.own is pair.common:
        return MISSING
    before, after = _by_run(pair.own), _by_run(pair.common)
    both = before.keys() & after.keys()
    # Fold by fold: what folds have in common cancels out.
    gain = Average.of(after[run] - before[run] for run in sorted(both))
    return MISSING if gain is None else format_difference(gain.mean)


def _by_run(summary: Summary) -> dict[tuple[int, int], float]:
    return {
        run_of(record): measured["metrics"]["all"]["example_f1"]
        for record in summary.records
        if (measured := record["measured"]) and "example_f1" in measured["metrics"].get("all", {})
    }


def _stand_in_note(summaries: list[Summary], study: dict[str, Any]) -> str:
    names = dict.fromkeys(summary.setting.dataset for summary in summaries)
    titles = [title for name in names if (title := dataset_title(name, study)) != name]
    return f"{'; '.join(titles)}." if titles else ""
