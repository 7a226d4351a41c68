"""Rows of dots: every method by name, its values for the same few groups on one line."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rmls.bench.formatting import format_cell
from rmls.bench.report.charts.frame import (
    WIDTH,
    Box,
    Place,
    line,
    mark,
    nothing_to_show,
    picture,
    x_axis,
)
from rmls.bench.report.charts.scales import Linear, from_zero
from rmls.bench.report.charts.words import name_lines, words
from rmls.bench.report.markup import Markup, element
from rmls.bench.summary import Cell

NAMES_END = 118.0
DOTS_START = 130.0
DOTS_END = WIDTH - 10
PITCH = 32.0


@dataclass(frozen=True)
class DotRow:
    """A named row with a value, or none, for each group; ``why`` says why it has none at all."""

    name: str
    cells: list[Cell | None]
    why: str = ""


def dot_chart(title: str, rows: list[DotRow], groups: list[str]) -> Markup:
    """Draw rows of dots from zero; the groups are told apart by shape and colour.

    Examples
    --------
    >>> svg = dot_chart("F", [DotRow("RMLS", [Cell(0.5, None, 1), None])], ["head", "tail"])
    >>> svg.count("<circle"), "RMLS, head: 0.500" in svg
    (1, True)
    """
    if not rows:
        return nothing_to_show(title)
    means = [cell.mean for row in rows for cell in row.cells if cell]
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
        (scale(cell.mean), position, f"{row.name}, {groups[position]}: {format_cell(cell)}")
        for position, cell in enumerate(row.cells)
        if cell is not None and math.isfinite(cell.mean)
    ]
    if not shown:
        return element("g", name, words(row.why or "no value", DOTS_START + 4, y + 4, "missing"))
    places = [x for x, _, _ in shown]
    bond = line(Place(min(places), y), Place(max(places), y), "bond")
    marks = [mark(Place(x, y), position, tip) for x, position, tip in shown]
    return element("g", name, bond, *reversed(marks))
