"""Figures with curves: quality over the sample of irrelevant labels, and reliability."""

from __future__ import annotations

from collections.abc import Sequence

from rmls.bench.pages.series import METRIC_NAMES, Results, alpha_of, metric_title
from rmls.bench.run.records import Reliability
from rmls.bench.tables.study_tables import dataset_title
from rmls.bench.tables.summary import Summary
from rmls.report.averages import format_average
from rmls.report.charts.calibration import Curve, reliability_chart
from rmls.report.charts.lines import Line, line_chart
from rmls.report.content import Figure, Key, Panel, Section
from rmls.report.numbers import format_number, format_value
from rmls.report.tables import Table, table_row

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
    pairs = [(alpha_of(s), s.average(metric)) for s in summaries]
    found = [(x, value) for x, value in pairs if x is not None and value is not None]
    return Line(name, [x for x, _ in found], [value for _, value in found], position)


def _alpha_table(title: str, groups: dict[str, list[Summary]]) -> Table:
    rows = [
        table_row(
            name,
            f"{alpha_of(summary):g}",
            *(format_average(summary.average(metric)) for metric in METRICS),
        )
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
        # The first rule of a method stands for all of them.
        key = (setting.label, setting.variant)
        if pooled is not None and key not in found:
            # Probabilities are the same under every rule, so the rule is no part of the name.
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
    # One list of the folds' counts for each bin; a mean over folds is weighted by them.
    counts = list(zip(*(part["pairs"] for part in parts), strict=True))
    predicted = zip(*(part["predicted"] for part in parts), strict=True)
    observed = zip(*(part["observed"] for part in parts), strict=True)
    return Reliability(
        edges=list(parts[0]["edges"]),
        pairs=[sum(of_bin) for of_bin in counts],
        predicted=[_mean(*both) for both in zip(predicted, counts, strict=True)],
        observed=[_mean(*both) for both in zip(observed, counts, strict=True)],
    )


def _mean(values: Sequence[float | None], weights: Sequence[int]) -> float | None:
    pairs = zip(values, weights, strict=True)
    known = [(value, weight) for value, weight in pairs if value is not None and weight > 0]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _reliability_table(title: str, curve: Curve) -> Table:
    rows = [
        table_row(f"{low:g} to {high:g}", format_value(x), format_value(y), format_number(n, 0))
        for low, high, x, y, n in zip(
            curve.edges, curve.edges[1:], curve.predicted, curve.observed, curve.pairs, strict=False
        )
        if n
    ]
    return Table(title, ["probability", "predicted", "observed", "pairs"], rows)
