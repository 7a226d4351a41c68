"""What every chart has: the picture with its description, axes, marks and their colours."""

from __future__ import annotations

import math
from typing import NamedTuple

from rmls.bench.report.charts.scales import Scale
from rmls.bench.report.charts.words import text_width, words
from rmls.bench.report.markup import Markup, coordinate, element, escape
from rmls.bench.summary import Cell

WIDTH = 360.0
N_COLOURS = 8


class Place(NamedTuple):
    """A point of the picture."""

    x: float
    y: float


class Box(NamedTuple):
    """The area between the axes of a chart."""

    left: float
    top: float
    right: float
    bottom: float


def picture(title: str, description: str, height: float, *parts: Markup) -> Markup:
    """Return a picture as wide as a phone with its description for those who do not see it."""
    return element(
        "svg",
        element("title", escape(title)),
        element("desc", escape(description)),
        *parts,
        viewBox=f"0 0 {coordinate(WIDTH)} {coordinate(height)}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def nothing_to_show(title: str, reason: str = "no values") -> Markup:
    """Return the picture of a chart that has nothing to draw."""
    text = words(reason, WIDTH / 2, 24, "tick", text_anchor="middle")
    return picture(title, reason, 40, text)


def x_axis(
    scale: Scale, box: Box, label: str = "", names: dict[float, str] | None = None
) -> Markup:
    """Return grid lines and marks below ``box``; ``names`` stand in the place of values."""
    parts = []
    for value in scale.ticks() if names is None else names:
        x = scale(value)
        text = scale.text(value) if names is None else names[value]
        parts.append(line(Place(x, box.top), Place(x, box.bottom), "grid"))
        half = text_width(text, 11) / 2
        inside = min(max(x, half), WIDTH - half)
        parts.append(words(text, inside, box.bottom + 14, "tick", text_anchor="middle"))
    if label:
        middle = (box.left + box.right) / 2
        parts.append(words(label, middle, box.bottom + 30, "axis", text_anchor="middle"))
    return element("g", *parts) if parts else Markup("")


def y_axis(scale: Scale, box: Box, label: str = "") -> Markup:
    """Return grid lines and marks left of ``box``; the label stands above it."""
    parts = []
    for value in scale.ticks():
        y = scale(value)
        parts.append(line(Place(box.left, y), Place(box.right, y), "grid"))
        parts.append(words(scale.text(value), box.left - 5, y + 4, "tick", text_anchor="end"))
    if label:
        parts.append(words(label, 0, box.top - 9, "axis"))
    return element("g", *parts) if parts else Markup("")


def line(start: Place, end: Place, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", class_=class_, x1=start.x, y1=start.y, x2=end.x, y2=end.y)


def path(places: list[Place], class_: str, closed: bool = False) -> Markup:
    """Return a line through places, or the area they go around."""
    points = " ".join(f"{coordinate(place.x)},{coordinate(place.y)}" for place in places)
    return element("polygon" if closed else "polyline", class_=class_, points=points)


def reaches(cell: Cell) -> tuple[float, float]:
    """Return the mean less and plus a deviation."""
    deviation = cell.deviation if cell.deviation and math.isfinite(cell.deviation) else 0.0
    return cell.mean - deviation, cell.mean + deviation


def colour(position: int) -> str:
    """Return the class with the colour of a series; colours repeat, shapes then differ.

    Examples
    --------
    >>> colour(0), colour(9)
    ('c0', 'c1')
    """
    return f"c{position % N_COLOURS}"


def mark(place: Place, position: int, tip: str, radius: float = 4.5) -> Markup:
    """Return the mark of a series: its shape goes with its position, and so does its colour."""
    x, y = place
    class_ = f"mark {colour(position)}"
    told = element("title", escape(tip)) if tip else Markup("")
    shape = SHAPES[position % len(SHAPES)]
    if not shape:
        return element("circle", told, class_=class_, cx=x, cy=y, r=radius)
    corners = (f"{coordinate(x + dx * radius)},{coordinate(y + dy * radius)}" for dx, dy in shape)
    return element("polygon", told, class_=class_, points=" ".join(corners))


def legend_mark(position: int) -> Markup:
    """Return a mark on its own, for a legend beside the chart."""
    drawn = mark(Place(7, 7), position, "")
    return element("svg", drawn, viewBox="0 0 14 14", class_="key", aria_hidden="true")


# Corners in units of the radius; the circle has none. All have about the same area.
SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, 1.2), (-1.2, -0.9), (1.2, -0.9)),
    ((-1.2, -0.5), (-0.5, -0.5), (-0.5, -1.2), (0.5, -1.2), (0.5, -0.5), (1.2, -0.5),
     (1.2, 0.5), (0.5, 0.5), (0.5, 1.2), (-0.5, 1.2), (-0.5, 0.5), (-1.2, 0.5)),
    ((-1.3, -0.75), (1.3, -0.75), (1.3, 0.75), (-1.3, 0.75)),
)  # fmt: skip
