"""Rows of bars: every row by name, a bar for each of its values, whiskers of one deviation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from rmls.core.show.markup import Markup, element, escape, join
from rmls.report.averages import Average, format_average, is_finite
from rmls.report.charts.frame import WIDTH, Box, nothing_to_show, picture, x_axis
from rmls.report.charts.marks import Place, line
from rmls.report.charts.scales import Linear, from_zero
from rmls.report.charts.text import name_lines, words
from rmls.report.numbers import format_value

NAMES_END = 114.0
BARS_START = 146.0
# The room to the right is for the value behind the longest bar.
BARS_END = WIDTH - 48
THICK = 10.0
PITCH = 13.0
GAP = 9.0
TWO_LINES = 26.0
N_SHADES = 4


class Bar(NamedTuple):
    """A value of a row; ``tag`` tells it from the others and ``why`` says why it is missing."""

    tag: str
    value: Average | None
    why: str = ""
    shade: int = 0


@dataclass(frozen=True)
class BarRow:
    """A named row."""

    name: str
    bars: list[Bar] = field(default_factory=list)


class _Scene(NamedTuple):
    """What all bars of a chart share: the axis, the best mean, and what their tags are."""

    scale: Linear
    best: float | None
    unit: str


def bar_chart(
    title: str, rows: list[BarRow], *, lower_is_better: bool = False, unit: str = "k"
) -> Markup:
    """Draw rows of bars from zero, the best value in bold.

    Parameters
    ----------
    title : str
    rows : list of BarRow
    lower_is_better : bool
    unit : str
        What the tags of the bars are.
    """
    if not any(row.bars for row in rows):
        return nothing_to_show(title)
    values = [bar.value for row in rows for bar in row.bars if is_finite(bar.value)]
    # The axis holds the whiskers, not only the bars.
    scale = from_zero([end for value in values for end in value.span], BARS_START, BARS_END)
    choose = min if lower_is_better else max
    best = choose((value.mean for value in values), default=None)
    top = 17.0
    parts: list[Markup] = []
    for row in rows:
        # Two lines of a long name, or the bars of the row.
        height = max(TWO_LINES, PITCH * len(row.bars))
        parts.append(_row(row, top + height / 2, _Scene(scale, best, unit)))
        top += height + GAP
    box = Box(BARS_START, 12, BARS_END, top - GAP / 2)
    tags = words(unit, BARS_START - 5, 11, "tick", text_anchor="end")
    description = f"Bars of {len(rows)} methods; " + _best_in_words(rows, lower_is_better)
    return picture(title, description, box.bottom + 20, x_axis(scale, box), tags, *parts)


def _row(row: BarRow, middle: float, scene: _Scene) -> Markup:
    # Bars are spread evenly around the middle of the name beside them.
    first = middle - PITCH * (len(row.bars) - 1) / 2
    parts = [name_lines(row.name, NAMES_END, middle, NAMES_END)]
    parts += [
        _bar(row.name, bar, first + PITCH * position, scene)
        for position, bar in enumerate(row.bars)
    ]
    return element("g", *parts)


def _bar(name: str, bar: Bar, middle: float, scene: _Scene) -> Markup:
    tag = words(bar.tag, BARS_START - 5, middle + 4, "tick", text_anchor="end")
    value = bar.value
    if not is_finite(value):
        return join(tag, words(bar.why or "no value", BARS_START + 4, middle + 4, "missing"))
    tip = f"{name}{f', {scene.unit} = {bar.tag}' if bar.tag else ''}: {format_average(value)}"
    end = scene.scale(value.mean)
    drawn = element(
        "rect",
        element("title", escape(f"{tip} ({value.count} results)")),
        class_=f"bar k{min(bar.shade, N_SHADES - 1)}",
        x=BARS_START,
        y=middle - THICK / 2,
        width=end - BARS_START,
        height=THICK,
    )
    low, high = map(scene.scale, value.span)
    class_ = "value best" if value.mean == scene.best else "value"
    text = words(format_value(value.mean), max(end, high) + 5, middle + 4, class_)
    return join(tag, drawn, *_whisker(low, high, middle), text)


def _whisker(low: float, high: float, middle: float) -> list[Markup]:
    if low == high:
        return []
    ends = [line(Place(x, middle - 3), Place(x, middle + 3), "whisker") for x in (low, high)]
    return [line(Place(low, middle), Place(high, middle), "whisker span"), *ends]


def _best_in_words(rows: list[BarRow], lower_is_better: bool) -> str:
    found = [(bar.value.mean, row.name) for row in rows for bar in row.bars if bar.value]
    if not found:
        return "no values."
    value, name = (min if lower_is_better else max)(found)
    return f"the best is {name} with {format_value(value)}."
