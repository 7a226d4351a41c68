"""Lines of means over a parameter, each in a band of one deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rmls.core.show.markup import Markup, element, join
from rmls.report.averages import Average, format_average, is_finite
from rmls.report.charts.frame import WIDTH, Box, nothing_to_show, picture, x_axis, y_axis
from rmls.report.charts.marks import Place, colour, mark, path
from rmls.report.charts.scales import Linear, Scale, around, decades

HEIGHT = 240.0
BOX = Box(46, 10, WIDTH - 10, HEIGHT - 38)
# Beyond this ratio of the largest to the smallest value the axis is logarithmic.
WIDE = 100.0
MAX_NAMED = 12


@dataclass(frozen=True)
class Line:
    """Summaries over increasing values; ``position`` gives colour and shape."""

    name: str
    xs: list[float]
    values: list[Average]
    position: int = 0


def line_chart(title: str, lines: list[Line], x_label: str) -> Markup:
    """Draw lines with their bands on axes just wide enough for them.

    What stands before a comma in ``x_label`` is the symbol of the parameter.

    Examples
    --------
    >>> line = Line("RMLS", [1, 5], [Average(0.3, 0.01, 5), Average(0.4, 0.01, 5)])
    >>> svg = line_chart("F", [line], "irrelevant labels")
    >>> svg.count("<polygon"), svg.count("<circle")
    (1, 2)
    """
    lines = [line for line in map(_finite, lines) if line.xs]
    if not lines:
        return nothing_to_show(title)
    xs = sorted({x for line in lines for x in line.xs})
    across = x_scale(xs)
    ends = [end for line in lines for value in line.values for end in value.span]
    up = around(ends, BOX.bottom, BOX.top)
    # A few values are marked as they are; many leave the choice to the axis.
    names = {x: f"{x:g}" for x in xs} if len(xs) <= MAX_NAMED and _is_linear(xs) else None
    axes = [x_axis(across, BOX, x_label, names), y_axis(up, BOX)]
    symbol = x_label.partition(",")[0]
    drawn = [_line(line, symbol, across, up) for line in lines]
    description = (
        f"{', '.join(line.name for line in lines)} from {xs[0]:g} to {xs[-1]:g}; "
        f"up from {up.low:g} to {up.high:g}."
    )
    return picture(title, description, HEIGHT, *axes, *drawn)


def x_scale(xs: list[float]) -> Scale:
    """Return the axis of the parameter: logarithmic where its values are far apart."""
    if not _is_linear(xs):
        return decades(xs, BOX.left, BOX.right)
    # The first and the last mark stand a little inside the axis.
    room = 0.04 * (xs[-1] - xs[0]) or 1.0
    return Linear(xs[0] - room, xs[-1] + room, BOX.left, BOX.right)


def _line(line: Line, symbol: str, across: Scale, up: Linear) -> Markup:
    points = [(across(x), value) for x, value in zip(line.xs, line.values, strict=True)]
    means = [Place(x, up(value.mean)) for x, value in points]
    marks = [
        mark(place, line.position, f"{line.name}, {symbol} = {x:g}: {format_average(value)}", 3.5)
        for place, x, value in zip(means, line.xs, line.values, strict=True)
    ]
    shade = colour(line.position)
    parts = [path(means, f"trace {shade}"), *marks]
    if any(value.deviation for value in line.values):
        # Along the upper ends and back along the lower ones, behind the line.
        upper = [Place(x, up(value.span[1])) for x, value in points]
        lower = [Place(x, up(value.span[0])) for x, value in points]
        parts.insert(0, path(upper + lower[::-1], f"band {shade}", closed=True))
    return element("g", join(*parts))


def _is_linear(xs: list[float]) -> bool:
    return xs[0] <= 0 or xs[-1] / xs[0] <= WIDE


def _finite(line: Line) -> Line:
    pairs = [
        (x, value)
        for x, value in zip(line.xs, line.values, strict=True)
        if math.isfinite(x) and is_finite(value)
    ]
    return Line(line.name, [x for x, _ in pairs], [value for _, value in pairs], line.position)
