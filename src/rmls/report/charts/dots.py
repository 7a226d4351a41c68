"""Rows of dots: every method by name, its values for the same few groups on one line."""

from __future__ import annotations

from dataclasses import dataclass

from rmls.core.show.markup import Markup, element
from rmls.report.averages import Average, format_average, is_finite
from rmls.report.charts.frame import WIDTH, Box, nothing_to_show, picture, x_axis
from rmls.report.charts.marks import Place, line, mark
from rmls.report.charts.scales import Linear, from_zero
from rmls.report.charts.text import name_lines, words

NAMES_END = 118.0
DOTS_START = 130.0
DOTS_END = WIDTH - 10
PITCH = 32.0


@dataclass(frozen=True)
class DotRow:
    """A named row with a value, or none, for each group; ``why`` says why it has none at all."""

    name: str
    values: list[Average | None]
    why: str = ""


def dot_chart(title: str, rows: list[DotRow], groups: list[str]) -> Markup:
    """Draw rows of dots from zero; the groups are told apart by shape and colour.

    Examples
    --------
    >>> svg = dot_chart("F", [DotRow("RMLS", [Average(0.5, None, 1), None])], ["head", "tail"])
    >>> svg.count("<circle"), "RMLS, head: 0.500" in svg
    (1, True)
    """
    if not rows:
        return nothing_to_show(title)
    means = [value.mean for row in rows for value in row.values if value]
    scale = from_zero(means, DOTS_START, DOTS_END)
    box = Box(DOTS_START, 4, DOTS_END, 4 + PITCH * len(rows))
    parts = [
        _row(row, groups, box.top + PITCH * (position + 0.5), scale)
        for position, row in enumerate(rows)
    ]
    description = f"{', '.join(groups)} of {len(rows)} methods on lines from 0 to {scale.high:g}."
    return picture(title, description, box.bottom + 20, x_axis(scale, box), *parts)


def _row(row: DotRow, groups: list[str], y: float, scale: Linear) -> Markup:
    name = name_lines(row.name, NAMES_END, y, NAMES_END)
    shown = [
        (scale(value.mean), position, f"{row.name}, {groups[position]}: {format_average(value)}")
        for position, value in enumerate(row.values)
        if is_finite(value)
    ]
    if not shown:
        return element("g", name, words(row.why or "no value", DOTS_START + 4, y + 4, "missing"))
    places = [x for x, _, _ in shown]
    # One line joins the groups of a row: its length is what frequency makes of a method.
    bond = line(Place(min(places), y), Place(max(places), y), "bond")
    marks = [mark(Place(x, y), position, tip) for x, position, tip in shown]
    # The first group is drawn last: where values coincide, it covers the others.
    return element("g", name, bond, *reversed(marks))
