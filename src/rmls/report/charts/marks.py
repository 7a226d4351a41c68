"""What is drawn between the axes: points, lines, areas, and the colours of series."""

from __future__ import annotations

from typing import NamedTuple

from rmls.core.show.markup import NOTHING, Markup, coordinate, element, escape

# 8 and the 7 shapes have no common divisor: positions 0 to 55 all look different.
N_COLOURS = 8

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


class Place(NamedTuple):
    """A point of the picture."""

    x: float
    y: float


def line(start: Place, end: Place, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", class_=class_, x1=start.x, y1=start.y, x2=end.x, y2=end.y)


def path(places: list[Place], class_: str, closed: bool = False) -> Markup:
    """Return a line through places, or the area they go around."""
    points = " ".join(f"{coordinate(place.x)},{coordinate(place.y)}" for place in places)
    return element("polygon" if closed else "polyline", class_=class_, points=points)


def colour(position: int) -> str:
    """Return the class with the colour of a series.

    There are 8 colours and 7 shapes, so that 56 series can be told apart by both together.

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
    told = element("title", escape(tip)) if tip else NOTHING
    shape = SHAPES[position % len(SHAPES)]
    if not shape:
        return element("circle", told, class_=class_, cx=x, cy=y, r=radius)
    corners = (f"{coordinate(x + dx * radius)},{coordinate(y + dy * radius)}" for dx, dy in shape)
    return element("polygon", told, class_=class_, points=" ".join(corners))


def legend_mark(position: int) -> Markup:
    """Return a mark on its own, for a legend beside the chart."""
    # A legend is read by shape as well as colour, as the chart is.
    drawn = mark(Place(7, 7), position, "")
    return element("svg", drawn, viewBox="0 0 14 14", class_="key", aria_hidden="true")
