"""Rows of bars: every method by name, a bar for each k, whiskers of one deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from rmls.bench.formatting import format_cell
from rmls.bench.report import numbers
from rmls.bench.report.charts.frame import (
    WIDTH,
    Box,
    Place,
    line,
    nothing_to_show,
    picture,
    reaches,
    x_axis,
)
from rmls.bench.report.charts.scales import Linear, from_zero
from rmls.bench.report.charts.words import name_lines, words
from rmls.bench.report.markup import Markup, element, escape, join
from rmls.bench.summary import Cell

NAMES_END = 114.0
BARS_START = 146.0
BARS_END = WIDTH - 48
THICK = 10.0
PITCH = 13.0
GAP = 9.0
N_SHADES = 4


class Bar(NamedTuple):
    """A value of a row; ``tag`` tells it from the others and ``why`` says why it is missing."""

    tag: str
    cell: Cell | None
    why: str = ""
    shade: int = 0


@dataclass(frozen=True)
class BarRow:
    """A named row."""

    name: str
    bars: list[Bar] = field(default_factory=list)


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
    cells = [bar.cell for row in rows for bar in row.bars if _is_shown(bar.cell)]
    if not any(row.bars for row in rows):
        return nothing_to_show(title)
    scale = from_zero(
        [reach for cell in cells if cell for reach in reaches(cell)], BARS_START, BARS_END
    )
    means = [cell.mean for cell in cells if cell]
    best = (min if lower_is_better else max)(means) if means else None
    top = 17.0
    parts: list[Markup] = []
    for row in rows:
        height = row_height(len(row.bars))
        parts.append(_row(row, top, height, scale, best))
        top += height + GAP
    box = Box(BARS_START, 12, BARS_END, top - GAP / 2)
    tags = words(unit, BARS_START - 5, 11, "tick", text_anchor="end")
    description = f"Bars of {len(rows)} methods; " + _said(rows, lower_is_better)
    return picture(title, description, box.bottom + 20, x_axis(scale, box), tags, *parts)


def row_height(n_bars: int) -> float:
    """Return the height of a row: two lines of text, or its bars."""
    return max(26.0, PITCH * n_bars)


def bar_span(cell: Cell, scale: Linear) -> tuple[float, float]:
    """Return where the whisker of a bar begins and ends: the mean less and plus a deviation."""
    low, high = reaches(cell)
    return scale(low), scale(high)


def _row(row: BarRow, top: float, height: float, scale: Linear, best: float | None) -> Markup:
    middle = top + height / 2
    first = middle - PITCH * (len(row.bars) - 1) / 2
    parts = [name_lines(row.name, NAMES_END, middle, NAMES_END)]
    parts += [
        _bar(row.name, bar, first + PITCH * position, scale, best)
        for position, bar in enumerate(row.bars)
    ]
    return element("g", *parts)


def _bar(name: str, bar: Bar, middle: float, scale: Linear, best: float | None) -> Markup:
    tag = words(bar.tag, BARS_START - 5, middle + 4, "tick", text_anchor="end")
    cell = bar.cell
    if cell is None or not _is_shown(cell):
        return join(tag, words(bar.why or "no value", BARS_START + 4, middle + 4, "missing"))
    tip = f"{name}{', k = ' + bar.tag if bar.tag else ''}: {format_cell(cell)}"
    end = scale(cell.mean)
    drawn = element(
        "rect",
        element("title", escape(f"{tip} ({cell.count} results)")),
        class_=f"bar k{min(bar.shade, N_SHADES - 1)}",
        x=BARS_START,
        y=middle - THICK / 2,
        width=end - BARS_START,
        height=THICK,
    )
    low, high = bar_span(cell, scale)
    is_best = "value best" if cell.mean == best else "value"
    value = words(numbers.value(cell.mean), max(end, high) + 5, middle + 4, is_best)
    return join(tag, drawn, *_whisker(low, high, middle), value)


def _whisker(low: float, high: float, middle: float) -> list[Markup]:
    if low == high:
        return []
    ends = [line(Place(x, middle - 3), Place(x, middle + 3), "whisker") for x in (low, high)]
    return [line(Place(low, middle), Place(high, middle), "whisker span"), *ends]


def _is_shown(cell: Cell | None) -> bool:
    return cell is not None and math.isfinite(cell.mean)


def _said(rows: list[BarRow], lower_is_better: bool) -> str:
    found = [(bar.cell.mean, row.name) for row in rows for bar in row.bars if bar.cell]
    if not found:
        return "no values."
    value, name = (min if lower_is_better else max)(found)
    return f"the best is {name} with {numbers.value(value)}."
