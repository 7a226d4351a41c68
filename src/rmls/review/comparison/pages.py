"""A comparison of two models as a report, for HTML and the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmls.report.charts.differences import Difference, difference_chart
from rmls.report.content import Bullets, Facts, Figure, Panel, Part, Report, Section
from rmls.report.numbers import format_difference, format_interval, format_number
from rmls.report.tables import Mark, Table, TableCell, table_row
from rmls.review.findings import counted, listed, quote
from rmls.review.quality import GROUPS, Estimate

if TYPE_CHECKING:
    from rmls.review.comparison.model_comparison import ModelComparison

NOTE = (
    "95% intervals by drawing rows anew, the same rows for both models. "
    "✓ and ✗: better and worse, where the interval excludes zero; one in twenty does by chance."
)
MAX_NAME = 32


def comparison_report(
    found: ModelComparison, name: str, n_labels: int = 5, n_rows: int = 3
) -> Report:
    """Return a comparison; so many labels and rows that gain or lose most are shown."""
    one, other = found.names
    sections = [
        Section("difference", "Difference", [answer(found), *_figures(found), _groups(found)]),
        Section("labels", "Labels that gain and lose", _labels(found, n_labels)),
        Section("rows", "Rows that changed", _rows(found, n_rows)),
        Section("compared", "What is compared", [_facts(found)]),
    ]
    where = f" of {name}" if name else ""
    subtitle = f"{other} against {one} on {counted(found.n_rows, 'row')}{where}"
    return Report(f"{one} and {other}", subtitle, sections)


def answer(found: ModelComparison) -> str:
    """Return in a sentence or two what the second model gains and loses."""
    whole = {
        metric: each
        for (metric, group), each in found.quality.differences.items()
        if group == "all"
    }
    better = [metric for metric, each in whole.items() if each.low > 0]
    worse = [metric for metric, each in whole.items() if each.high < 0]
    other = found.names[1]
    if not better and not worse:
        return f"No figure of {other} differs by more than chance explains."
    said = []
    if better:
        said.append(f"{other} is better in {listed(better, 10)}.")
    if worse:
        said.append(f"{other} is worse in {listed(worse, 10)}.")
    if len(better) + len(worse) < len(whole):
        said.append("Other differences are within what chance explains.")
    return " ".join(said)


def _figures(found: ModelComparison) -> list[Part]:
    one, other = found.names
    rows, drawn = [], []
    for (metric, group), each in found.quality.differences.items():
        if group != "all":
            continue
        values = [found.quality.values[side, metric, group].value for side in (one, other)]
        cell = TableCell(format_difference(each.value, 4), _mark(each))
        interval = format_interval((each.low, each.high), 4)
        rows.append(table_row(metric, *(format_number(v, 4) for v in values), cell, interval))
        drawn.append(Difference(metric, *each))
    table = Table("", ["metric", one, other, f"{other} - {one}", "95% interval"], rows, NOTE)
    title = f"{other} minus {one}"
    caption = f"Right of the line {other} is better. A whisker that crosses it may be chance."
    return [Figure(title, [Panel("", difference_chart(title, drawn))], caption, [table])]


def _groups(found: ModelComparison) -> Table:
    rows = []
    metrics = dict.fromkeys(metric for metric, _ in found.quality.differences)
    for metric in metrics:
        cells = []
        for group in GROUPS[1:]:
            each = found.quality.differences.get((metric, group))
            cells.append(TableCell("–") if each is None else TableCell(_written(each), _mark(each)))
        rows.append(table_row(metric, *cells))
    note = (
        "Difference ± half of its 95% interval. Head, torso and tail are the labels with 50%, the "
        "next 40% and the last 10% of all assignments in training."
    )
    return Table("By frequency of labels", ["metric", *GROUPS[1:]], rows, note)


def _written(each: Estimate) -> str:
    half = (each.high - each.low) / 2
    return f"{format_difference(each.value)}±{half:.3f}".replace("±0.", "±.")


def _mark(each: Estimate) -> Mark:
    return "better" if each.low > 0 else "worse" if each.high < 0 else ""


def _labels(found: ModelComparison, n_labels: int) -> list[Part]:
    counts = found.labels.counts()
    total = sum(counts.values())
    said = (
        f"Of {counted(total, 'label')} of the rows, {counts['better']:,} are better by F, "
        f"{counts['worse']:,} worse and {counts['same']:,} as before."
    )
    parts: list[Part] = [said]
    for title, records in (
        ("Most gained", found.labels.winners(n_labels)),
        ("Most lost", found.labels.losers(n_labels)),
    ):
        if records:
            parts.append(_label_table(title, records, found.names))
    return parts


def _label_table(title: str, records: list[dict[str, Any]], names: tuple[str, str]) -> Table:
    rows = [
        table_row(
            quote(str(record["label"]), MAX_NAME),
            format_number(record["train_rows"], 0),
            format_number(record["test_rows"], 0),
            *(_pair(record[what], 0) for what in ("found", "wrong")),
            _pair(record["f1"], 2),
        )
        for record in records
    ]
    note = (
        f"{names[0]} → {names[1]}, by rows × difference of F. Found and wrong: rows with and "
        "without the label that get it."
    )
    return Table(title, ["label", "trained", "rows", "found", "wrong", "F"], rows, note)


def _pair(values: list[float], decimals: int) -> str:
    return " → ".join(format_number(value, decimals) for value in values)


def _rows(found: ModelComparison, n_rows: int) -> list[Part]:
    changes = found.rows
    counts = changes.counts()
    said = (
        f"{counted(changes.n_sets, 'row')} of {found.n_rows:,} get other labels, "
        f"{changes.n_best:,} another best label. By F of its labels a row is better "
        f"{counts['better']:,} times and worse {counts['worse']:,} times."
    )
    parts: list[Part] = [said]
    for title, records in (("Better", changes.best(n_rows)), ("Worse", changes.worst(n_rows))):
        if records:
            parts.append(f"{title}:")
        parts += [_row(record, found.names) for record in records]
    return parts


def _row(record: dict[str, Any], names: tuple[str, str]) -> Bullets:
    named = f" ({quote(str(record['id']), 24)})" if record.get("id") is not None else ""
    lines = [(f"row {record['row']}{named}", f": {quote(record.get('text', ''), 90)}".rstrip(": "))]
    lines.append(("  true: ", quote(", ".join(map(str, record["true"])) or "–", 200)))
    lines += [
        (f"  {name}: ", quote(", ".join(map(str, record[f"labels_{side}"])) or "–", 200))
        for side, name in zip("ab", names, strict=True)
    ]
    return Bullets(lines)


def _facts(found: ModelComparison) -> Facts:
    one, other = found.names
    pairs = [(name, method) for name, method in zip(found.names, found.methods, strict=True)]
    pairs += [("Rows", format_number(found.n_rows, 0)), ("Labels", _labels_in_words(found))]
    if found.only_common and any(found.n_only):
        rule = "Labels that one of them does not know are left out, as true and as predicted."
    elif any(found.n_only):
        rule = "A label that a model does not know is never predicted by it, and counts as missed."
    else:
        rule = f"{one} and {other} know the same labels."
    return Facts([*pairs, ("Rule", rule)])


def _labels_in_words(found: ModelComparison) -> str:
    only = [f"{n:,} only {name}" for n, name in zip(found.n_only, found.names, strict=True) if n]
    both = f"{found.n_common:,} known to both"
    return ", ".join([both, *only])
