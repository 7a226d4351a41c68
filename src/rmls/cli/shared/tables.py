"""Tables for the terminal, at most 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table
    from rich.text import Text

    from rmls.imbalance import ImbalanceReport
    from rmls.metrics import EvaluationReport, LabelReport

GROUP_STYLES = {"head": "green", "torso": "yellow", "tail": "red"}
SHORT = {
    "hamming_loss": "Hamming loss",
    "example_f1": "example F1",
    "example_accuracy": "accuracy",
    "precision": "P",
    "psp": "PSP",
    "ndcg": "nDCG",
}

LABEL_COLUMNS = {
    "train_rows": "train",
    "test_rows": "test",
    "predicted": "predicted",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "mean_probability": "prob.",
    "observed_share": "share",
}


def statistics_table(report: ImbalanceReport) -> Table:
    """Return the figures of a data set in two pairs of columns."""
    table = _grid()
    left = [
        ("rows", f"{report.n_samples:,}"),
        ("  without a label", f"{report.n_empty_rows:,}"),
        ("labels", f"{report.n_labels:,}"),
        ("  without a row", f"{report.n_unused_labels:,}"),
        ("distinct label sets", f"{report.n_label_sets:,}"),
    ]
    right = [
        ("labels per row", f"{report.cardinality:.2f}"),
        ("density", f"{report.density:.3g}"),
        ("mean imbalance ratio", f"{report.mean_imbalance_ratio:,.1f}"),
        ("largest imbalance ratio", f"{report.max_imbalance_ratio:,.1f}"),
        ("MeanIR / CVIR / SCUMBLE", _triple(report)),
    ]
    for pair, other in zip(left, right, strict=True):
        table.add_row(*pair, *other)
    return table


def _grid() -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for _ in range(2):
        table.add_column(style="dim", no_wrap=True)
        table.add_column(justify="right", min_width=10, no_wrap=True)
    return table


def _triple(report: ImbalanceReport) -> str:
    return f"{report.mean_ir:,.1f} / {report.cvir:.2f} / {report.scumble:.2f}"


def frequency_table(report: ImbalanceReport) -> Table:
    """Return head, torso and tail with their shares of labels and positives."""
    table = _table()
    table.add_column("group")
    for title in ("labels", "of labels", "of positives", "rows per label"):
        table.add_column(title, justify="right", no_wrap=True)
    for group in report.groups:
        spread = f"{group.min_count:,} – {group.max_count:,}" if group.n_labels else "-"
        shares = (f"{share:.1%}" for share in (group.label_share, group.positive_share))
        table.add_row(_styled(group.name), f"{group.n_labels:,}", *shares, spread)
    return table


def frequent_labels(report: ImbalanceReport) -> str:
    """Return one line each for the most and the least frequent labels."""
    lines = []
    for title, pairs in (("most", report.most_frequent), ("least", report.least_frequent)):
        shown = ", ".join(f"{name} ({number:,})" for name, number in pairs) or "-"
        lines.append(f"{title} frequent: {shown}")
    return "\n".join(lines)


def metric_table(report: EvaluationReport, baseline: EvaluationReport | None = None) -> Table:
    """Return the metrics by group of labels, those of a baseline to the right of them.

    Parameters
    ----------
    report : EvaluationReport
    baseline : EvaluationReport, optional
        With the metrics of ``report``.
    """
    table = _table()
    table.add_column("\nmetric" if baseline else "metric", no_wrap=True)
    sides = {"RMLS": report, "baseline": baseline} if baseline else {"": report}
    cells: list[list[Text]] = [[] for _ in report.totals]
    for title, side in sides.items():
        for position, (group, values) in enumerate({"all": side.totals, **side.groups}.items()):
            above = f"{title if position == 0 else ''}\n" if baseline else ""
            _add_group(table, above, group)
            for row, name in zip(cells, report.totals, strict=True):
                row.append(_value(values.get(name), strong=group == "all"))
    for name, row in zip(report.totals, cells, strict=True):
        table.add_row(short_name(name) if baseline else name, *row)
    return table


def label_table(report: LabelReport) -> Table:
    """Return a line for every label: its rows, its figures, and whether its probabilities hold."""
    table = _table()
    table.add_column("label", no_wrap=True, overflow="ellipsis", max_width=24)
    shown = {name: title for name, title in LABEL_COLUMNS.items() if name in report.columns}
    for title in shown.values():
        table.add_column(title, justify="right", no_wrap=True)
    for row in report.rows():
        table.add_row(str(row["label"]), *(_figure(row[name]) for name in shown))
    return table


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def short_name(name: str) -> str:
    """Return the name of a metric as papers write it.

    Examples
    --------
    >>> short_name("precision@5"), short_name("micro_f1")
    ('P@5', 'micro_f1')
    """
    stem, at, k = name.partition("@")
    return SHORT.get(stem, stem) + at + k


def plain_table(titles: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; columns in ``numbers`` are right-aligned, only the last one wraps."""
    table = _table()
    for title in titles:
        justify: Literal["left", "right"] = "right" if title in numbers else "left"
        table.add_column(title, justify=justify, no_wrap=title != titles[-1])
    return table


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def _add_group(table: Table, title: str, group: str) -> None:
    from rich.text import Text

    header = Text.assemble(title, (group, GROUP_STYLES.get(group, "bold")))
    table.add_column(header, justify="right", no_wrap=True)


def _styled(group: str) -> Text:
    from rich.text import Text

    return Text(group, style=GROUP_STYLES.get(group, ""))


def _value(value: float | None, strong: bool) -> Text:
    from rich.text import Text

    return Text("-" if value is None else f"{value:.4f}", style="bold" if strong else "")
