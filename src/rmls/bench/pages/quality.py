"""Figures on what methods achieve: overall, for their training time, and for rare labels."""

from __future__ import annotations

from collections.abc import Callable

from rmls.bench.pages.series import (
    LOWER_IS_BETTER,
    METRIC_NAMES,
    Results,
    Series,
    components,
    metric_title,
    why_missing,
)
from rmls.bench.tables.summary import CLOCK, Summary
from rmls.core.frequency import GROUP_NAMES
from rmls.core.words import seconds
from rmls.report.averages import format_average
from rmls.report.charts.bars import Bar, BarRow, bar_chart
from rmls.report.charts.dots import DotRow, dot_chart
from rmls.report.charts.scatter import Point, Trace, scatter_chart
from rmls.report.content import Figure, Key, Panel, Part, Section
from rmls.report.numbers import MISSING
from rmls.report.tables import Table, table_row

BAR_METRICS = ("example_f1", "example_accuracy", "hamming_loss")
TIME_METRICS = ("example_f1", "macro_f1")
GROUP_METRICS = ("macro_f1", "macro_recall")

QUALITY = (
    "Means over the folds with whiskers of one deviation; k is the number of components, and "
    "the best value of a chart is bold."
)
TIME = (
    "Processor time of the training, all threads together, as in the tables. Higher and further "
    "left is better; axes do not start at zero. A line joins the numbers of components of a "
    "method, and its name stands at the largest. Methods that find nothing at all are left out."
)
FREQUENCY = (
    "Means over the labels of a group, for the largest number of components of a method. The "
    "head are the most frequent labels that carry half of all assignments, the torso goes on "
    "to 90%, and the tail are the rest."
)

Draw = Callable[[str, list[Series]], Figure]


def quality_sections(results: Results) -> list[Section]:
    """Return quality overall, against training time, and by label frequency, for every data set.

    A study without data sets to compare methods on has empty sections.
    """
    sections: list[tuple[str, str, str, Draw]] = [
        ("quality", "Quality of label sets", QUALITY, _bars),
        ("time", "Quality against training time", TIME, _scatter),
        ("frequency", "Quality by label frequency", FREQUENCY, _groups),
    ]
    return [
        Section(anchor, title, [caption, *figures] if (figures := _figures(results, draw)) else [])
        for anchor, title, caption, draw in sections
    ]


def _figures(results: Results, draw: Draw) -> list[Part]:
    """Return a figure for every data set and experiment."""
    found: list[Part] = []
    for block in results.blocks():
        figure = draw(results.block_title(*block), results.series(*block))
        figure.title, figure.note = results.block_name(*block), results.note(block[1])
        found.append(figure)
    return found


def _bars(title: str, series: list[Series]) -> Figure:
    # The largest number of components has the darkest bar, in every row.
    sizes = sorted({s.setting.n_components or 0 for one in series for s in one.members} - {0})
    shades = {size: position for position, size in enumerate(reversed(sizes))}
    panels = []
    for metric in BAR_METRICS:
        rows = [BarRow(one.name, [_bar(s, metric, shades) for s in one.members]) for one in series]
        name = f"{METRIC_NAMES[metric]} on {title}"
        drawn = bar_chart(name, rows, lower_is_better=metric in LOWER_IS_BETTER)
        panels.append(Panel(metric_title(metric), drawn))
    data = _data_table(f"Quality on {title}", series, BAR_METRICS)
    return Figure(title, panels, data=[data])


def _bar(summary: Summary, metric: str, shades: dict[int, int]) -> Bar:
    k = summary.setting.n_components
    why = why_missing(summary)
    return Bar(components(summary.setting), summary.average(metric), why, shades.get(k or 0, 0))


def _scatter(title: str, series: list[Series]) -> Figure:
    panels = []
    for metric in TIME_METRICS:
        traces = [_trace(one, metric) for one in series]
        shown = [trace for trace in traces if any(point.y for point in trace.points)]
        name = f"{METRIC_NAMES[metric]} against training time on {title}"
        drawn = scatter_chart(name, shown, "training time in processor seconds, logarithmic")
        panels.append(Panel(metric_title(metric), drawn))
    data = _data_table(f"Training time on {title}", series, (CLOCK, *TIME_METRICS))
    return Figure(title, panels, data=[data])


def _trace(one: Series, metric: str) -> Trace:
    points = []
    for summary in one.members:
        # Both axes need a value; a run that failed has neither.
        time, value = summary.average(CLOCK), summary.average(metric)
        if time is not None and value is not None:
            k = components(summary.setting)
            tip = f"{format_average(value)} in {seconds(time.mean)}"
            points.append(Point(time.mean, value.mean, f"k = {k}, {tip}" if k else tip))
    return Trace(one.name, points, one.position)


def _groups(title: str, series: list[Series]) -> Figure:
    groups = list(GROUP_NAMES)
    max_k = max((one.largest.setting.n_components or 0 for one in series), default=0)
    panels = []
    for metric in GROUP_METRICS:
        rows = [_dots(one, metric, groups, max_k) for one in series]
        drawn = dot_chart(f"{METRIC_NAMES[metric]} by frequency on {title}", rows, groups)
        panels.append(Panel(metric_title(metric), drawn))
    legend = [Key(position, group) for position, group in enumerate(groups)]
    return Figure(title, panels, data=[_group_table(title, series)], legend=legend)


def _dots(one: Series, metric: str, groups: list[str], max_k: int) -> DotRow:
    """A row; a method that was run with fewer components than others says so."""
    # The full loss is run with the first k only, so it may be the smaller one here.
    k = one.largest.setting.n_components
    name = f"{one.name}, k = {k}" if k and k < max_k else one.name
    values = [one.largest.average(metric, group) for group in groups]
    return DotRow(name, values, why_missing(one.largest))


def _data_table(title: str, series: list[Series], metrics: tuple[str, ...]) -> Table:
    names = {CLOCK: "training, processor time"} | METRIC_NAMES
    rows = [
        table_row(
            one.name,
            components(summary.setting),
            *(_figure(summary, metric) for metric in metrics),
        )
        for one in series
        for summary in one.members
    ]
    return Table(title, ["method", "k", *(names[m] for m in metrics)], rows, n_names=2)


def _figure(summary: Summary, metric: str) -> str:
    average = summary.average(metric)
    if average is None:
        return why_missing(summary) if summary.failed else MISSING
    return seconds(average.mean) if metric == CLOCK else format_average(average)


def _group_table(title: str, series: list[Series]) -> Table:
    columns = [f"{METRIC_NAMES[m]}, {group}" for m in GROUP_METRICS for group in GROUP_NAMES]
    rows = [
        table_row(
            one.name,
            components(one.largest.setting),
            *(
                format_average(one.largest.average(metric, group))
                for metric in GROUP_METRICS
                for group in GROUP_NAMES
            ),
        )
        for one in series
    ]
    return Table(f"By frequency on {title}", ["method", "k", *columns], rows, n_names=2)
