"""Figures with curves: quality over the sample of irrelevant labels, and reliability."""

from __future__ import annotations

from collections.abc import Sequence

from rmls.bench.formatting import format_cell
from rmls.bench.records import Reliability
from rmls.bench.report import numbers
from rmls.bench.report.charts.calibration import Curve, reliability_chart
from rmls.bench.report.charts.lines import Line, line_chart
from rmls.bench.report.content import Figure, Key, Panel, Section
from rmls.bench.report.series import METRIC_NAMES, Results, alpha_of, metric_title
from rmls.bench.study_tables import dataset_title
from rmls.bench.summary import Summary
from rmls.bench.tables import Table, TableCell

METRICS = ("example_f1", "example_accuracy", "hamming_loss")


def alpha_section(results: Results) -> Section | None:
    """Return quality over the number of irrelevant labels for each relevant one, if measured."""
    found = results.sampled
    if not found:
        return None
    datasets = dict.fromkeys(summary.setting.dataset for summary in found)
    figures = [
        _alpha_figure(results, dataset, [s for s in found if s.setting.dataset == dataset])
        for dataset in datasets
    ]
    caption = (
        "Means over the folds in bands of one deviation; the vertical axes do not start at zero."
    )
    return Section("alpha", "Irrelevant labels for each relevant one", [caption, *figures])


def _alpha_figure(results: Results, dataset: str, summaries: list[Summary]) -> Figure:
    groups: dict[str, list[Summary]] = {}
    for summary in sorted(summaries, key=lambda s: alpha_of(s) or 0.0):
        k = summary.setting.n_components
        name = results.names[summary.setting] + (f", k = {k}" if k else "")
        groups.setdefault(name, []).append(summary)
    panels = [
        Panel(
            metric_title(metric),
            line_chart(
                f"{METRIC_NAMES[metric]} by alpha on {dataset}",
                [_line(name, group, metric, i) for i, (name, group) in enumerate(groups.items())],
                "α, irrelevant labels for each relevant one",
            ),
        )
        for metric in METRICS
    ]
    data = _alpha_table(f"By alpha on {dataset_title(dataset, results.study)}", groups)
    legend = [Key(position, name) for position, name in enumerate(groups)]
    return Figure(dataset, panels, data=[data], legend=legend, note=results.note(dataset))


def _line(name: str, summaries: list[Summary], metric: str, position: int) -> Line:
    pairs = [(alpha_of(s), s.cell(metric)) for s in summaries]
    found = [(x, cell) for x, cell in pairs if x is not None and cell is not None]
    return Line(name, [x for x, _ in found], [cell for _, cell in found], position)


def _alpha_table(title: str, groups: dict[str, list[Summary]]) -> Table:
    rows = [
        [TableCell(name), TableCell(f"{alpha_of(summary):g}")]
        + [TableCell(format_cell(summary.cell(metric))) for metric in METRICS]
        for name, group in groups.items()
        for summary in group
    ]
    return Table(title, ["method", "α", *(METRIC_NAMES[m] for m in METRICS)], rows, n_names=2)


def reliability_section(results: Results) -> Section | None:
    """Return reliability curves of the methods that give probabilities, if there are any."""
    curves = {block: reliability_curves(results, *block) for block in results.blocks()}
    shown = {block: found for block, found in curves.items() if found}
    if not shown:
        return None
    panels, data = [], []
    for block, found in shown.items():
        title = results.block_title(*block)
        drawn = reliability_chart(f"Reliability on {title}", found)
        panels.append(Panel(results.block_name(*block), drawn, results.note(block[1])))
        data += [_reliability_table(f"Reliability on {title}: {c.name}", c) for c in found]
    keys = dict.fromkeys((c.position, c.name) for found in shown.values() for c in found)
    caption = (
        "Pairs of a test row and a label, over all folds, for the largest number of components: "
        "how often the label is there, by the probability predicted. On the diagonal probabilities "
        "are honest; below it they promise too much. Both axes are logarithmic because nearly all "
        "pairs are at small probabilities; where no label came true the mark is hollow, at the "
        "lower end. Below, the number of pairs, also logarithmic."
    )
    legend = [Key(*key) for key in keys]
    figure = Figure("Observed against predicted", panels, data=data, legend=legend)
    return Section("reliability", "Reliability of probabilities", [caption, figure])


def reliability_curves(results: Results, experiment: str, dataset: str) -> list[Curve]:
    """Return a curve for every method with probabilities; decision rules do not change them."""
    found: dict[tuple[str, str], Curve] = {}
    for one in results.series(experiment, dataset):
        setting = one.largest.setting
        bins = [r["measured"]["reliability"] for r in one.largest.records if r["measured"]]
        pooled = pool([part for part in bins if part is not None])
        key = (setting.label, setting.variant)
        if pooled is not None and key not in found:
            name = one.name.removesuffix(f" · {setting.decision}")
            found[key] = Curve(name, **pooled, position=one.position)
    return list(found.values())


def pool(parts: Sequence[Reliability]) -> Reliability | None:
    """Sum pairs over folds and average probabilities over pairs; None without any.

    Parts with other bins than the first are left out.

    Examples
    --------
    >>> first = Reliability(edges=[0, 1], pairs=[1], predicted=[0.25], observed=[0.0])
    >>> second = Reliability(edges=[0, 1], pairs=[3], predicted=[0.75], observed=[1.0])
    >>> pooled = pool([first, second])
    >>> pooled["pairs"], pooled["predicted"], pooled["observed"]
    ([4], [0.625], [0.75])
    """
    parts = [part for part in parts if part["edges"] == parts[0]["edges"]]
    if not parts:
        return None
    pairs = [sum(counts) for counts in zip(*(part["pairs"] for part in parts), strict=True)]
    return Reliability(
        edges=list(parts[0]["edges"]),
        pairs=pairs,
        predicted=[
            _mean([(p["predicted"][i], p["pairs"][i]) for p in parts]) for i in range(len(pairs))
        ],
        observed=[
            _mean([(p["observed"][i], p["pairs"][i]) for p in parts]) for i in range(len(pairs))
        ],
    )


def _mean(weighted: list[tuple[float | None, int]]) -> float | None:
    known = [(value, weight) for value, weight in weighted if value is not None and weight > 0]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _reliability_table(title: str, curve: Curve) -> Table:
    rows = [
        [TableCell(f"{low:g} to {high:g}")]
        + [TableCell(numbers.value(value)) for value in (x, y)]
        + [TableCell(numbers.count(n))]
        for low, high, x, y, n in zip(
            curve.edges, curve.edges[1:], curve.predicted, curve.observed, curve.pairs, strict=False
        )
        if n
    ]
    return Table(title, ["probability", "predicted", "observed", "pairs"], rows)
