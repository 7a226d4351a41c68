"""Tables of a comparison: what was compared, each metric before and after, times."""

from __future__ import annotations

from rmls.bench.tables.compare import RATIOS, Change, Comparison, SettingChange
from rmls.bench.tables.names import method_names, setting_cells
from rmls.bench.tables.summary import COSTS, greater_is_better
from rmls.report.averages import Average, format_amount, format_average
from rmls.report.numbers import decimals_of, format_difference, format_interval, format_ratio
from rmls.report.tables import Mark, Table, TableCell, table_row

RATIO_HEADINGS = {
    "train_seconds": "training ratio",
    "predict_seconds": "prediction ratio",
    "peak_memory": "memory ratio",
}


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return what was compared, one table per metric, and one of times and memory."""
    # A metric that one side never measured has no table, rather than an empty one.
    measured = [
        metric
        for metric in comparison.metrics
        if any(metric in row.changes for row in comparison.settings)
    ]
    metrics = [_metric_table(comparison, metric) for metric in measured]
    return [_origin_table(comparison), *metrics, _cost_table(comparison)]


def _origin_table(comparison: Comparison) -> Table:
    table = Table("What is compared", ["", "before", "after"], note=" ".join(comparison.notes))
    for name, counts in comparison.counts.items():
        table.rows.append(table_row(name, *(f"{count:,}" for count in counts)))
    for name, texts in comparison.origins.items():
        table.rows.append(table_row(name, *texts))
    return table


def _metric_table(comparison: Comparison, metric: str) -> Table:
    direction = "greater" if greater_is_better(metric) else "less"
    names, rows = _names(comparison.settings)
    table = Table(
        f"{COSTS.get(metric, metric)}, {direction} is better",
        [*names, "before", "after", "difference", "95 % interval", "pairs"],
        note="Marked where the interval excludes zero. Intervals are paired by run and corrected "
        "for the rows that folds share (Nadeau and Bengio); one in twenty excludes zero by chance.",
        n_names=len(names),
    )
    write = format_amount if metric in COSTS else format_average
    for row, cells in zip(comparison.settings, rows, strict=True):
        change = row.changes.get(metric)
        if change is None:
            continue
        # The decimals of the value before, so that columns can be read against each other.
        decimals = _decimals(change.before, metric)
        texts = (write(change.before), write(change.after))
        difference = format_difference(change.difference, decimals)
        row_of_metric = table_row(
            *cells,
            *texts,
            TableCell(difference, _mark(change, metric)),
            format_interval(change.interval, decimals),
            str(change.before.count),
        )
        table.rows.append(row_of_metric)
    return table


def _decimals(average: Average, metric: str) -> int:
    return decimals_of(average.mean, 0, 3) if metric in COSTS else decimals_of(average.mean)


def _mark(change: Change, metric: str) -> Mark:
    if not change.excludes_zero:
        return ""
    return "better" if (change.difference > 0) == greater_is_better(metric) else "worse"


def _cost_table(comparison: Comparison) -> Table:
    names, rows = _names(comparison.settings)
    table = Table(
        "Times and memory",
        [
            *names,
            "training s before",
            "training s after",
            *(RATIO_HEADINGS[name] for name in RATIOS),
            "pairs",
        ],
        note="Ratios: after to before, medians over the pairs."
        + ("" if comparison.times_compare else " Not run alike: times do not compare."),
        n_names=len(names),
    )
    # Times that do not compare are still shown, but stand back.
    mark: Mark = "" if comparison.times_compare else "muted"
    for row, cells in zip(comparison.settings, rows, strict=True):
        training = row.changes.get("train_seconds")
        texts = [format_amount(training.before if training else None)]
        texts += [format_amount(training.after if training else None)]
        for name in RATIOS:
            change = row.changes.get(name)
            texts.append(format_ratio(change.ratio if change else None))
        figures = [TableCell(text, mark) for text in texts]
        table.rows.append(table_row(*cells, *figures, str(row.n_pairs)))
    return table


def _names(settings: list[SettingChange]) -> tuple[list[str], list[list[TableCell]]]:
    """Return headings and cells of names; the experiment only where there are several."""
    names = method_names(row.setting for row in settings)
    several = len({row.setting.experiment for row in settings}) > 1
    headings = [*(["experiment"] if several else []), "data set", "method", "k", "rule"]
    rows = []
    for row in settings:
        setting = row.setting
        where = [setting.experiment, setting.dataset] if several else [setting.dataset]
        rows.append(table_row(*where, *setting_cells(names, setting)))
    return headings, rows
