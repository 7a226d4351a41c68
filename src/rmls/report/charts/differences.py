"""Differences with their intervals around a line at zero."""

from __future__ import annotations

import math
from typing import NamedTuple

from rmls.core.show.markup import Markup, element
from rmls.report.charts.frame import WIDTH, Box, nothing_to_show, picture, x_axis
from rmls.report.charts.marks import Place, line, mark
from rmls.report.charts.scales import Linear, round_step
from rmls.report.charts.text import name_lines
from rmls.report.numbers import format_difference, format_interval

NAMES_END = 104.0
START = 116.0
END = WIDTH - 10
PITCH = 26.0


class Difference(NamedTuple):
    """A named difference and the ends of its interval."""

    name: str
    value: float
    low: float
    high: float


def difference_chart(title: str, rows: list[Difference]) -> Markup:
    """Draw every difference as a mark on its interval; those right of zero are gains.

    Examples
    --------
    >>> svg = difference_chart("B minus A", [Difference("P@1", 0.02, -0.01, 0.05)])
    >>> svg.count("<circle"), "P@1: +0.020 [-0.010, +0.050]" in svg
    (1, True)
    """
    if not rows:
        return nothing_to_show(title)
    reach = max(max(abs(row.low), abs(row.high), abs(row.value)) for row in rows)
    # Zero in the middle: a gain and a loss of the same size are as far from it.
    step = round_step(reach / 2) if reach > 0 else 1.0
    end = step * math.ceil(reach / step) if reach > 0 else 1.0
    scale = Linear(-end, end, START, END, step)
    box = Box(START, 4, END, 4 + PITCH * len(rows))
    zero = line(Place(scale(0), box.top), Place(scale(0), box.bottom), "whisker")
    drawn = [_row(row, box.top + PITCH * (at + 0.5), scale) for at, row in enumerate(rows)]
    description = f"{len(rows)} differences with 95% intervals from {-end:g} to {end:g}."
    return picture(title, description, box.bottom + 20, x_axis(scale, box), zero, *drawn)


def _row(row: Difference, y: float, scale: Linear) -> Markup:
    tip = f"{row.name}: {format_difference(row.value)} {format_interval((row.low, row.high))}"
    span = line(Place(scale(row.low), y), Place(scale(row.high), y), "whisker span")
    ends = [
        line(Place(scale(x), y - 3), Place(scale(x), y + 3), "whisker") for x in (row.low, row.high)
    ]
    name = name_lines(row.name, NAMES_END, y, NAMES_END)
    return element("g", name, span, *ends, mark(Place(scale(row.value), y), 0, tip))
