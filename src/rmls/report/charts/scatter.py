"""Points of two values, those of one method joined and named once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rmls.core.show.markup import Markup
from rmls.report.charts.frame import WIDTH, Box, nothing_to_show, picture, x_axis, y_axis
from rmls.report.charts.labels import Label, Placed, place_labels
from rmls.report.charts.marks import Place, colour, line, mark, path
from rmls.report.charts.scales import Linear, Log, around, decades
from rmls.report.charts.text import shorten, text_width, words

HEIGHT = 330.0
BOX = Box(44, 10, WIDTH - 6, HEIGHT - 38)
NAME_SIZE = 11.0
NAME_WIDTH = 172.0


class Point(NamedTuple):
    """A point with the text that tells its values."""

    x: float
    y: float
    tip: str


@dataclass(frozen=True)
class Trace:
    """Points of one method from small to large; ``position`` gives its colour and shape."""

    name: str
    points: list[Point]
    position: int = 0


def scatter_chart(title: str, traces: list[Trace], x_label: str) -> Markup:
    """Draw points over a logarithmic axis; the name of a method stands at its last point.

    Examples
    --------
    >>> trace = Trace("PLST", [Point(0.1, 0.3, "k = 25"), Point(10.0, 0.4, "k = 50")])
    >>> svg = scatter_chart("F", [trace], "seconds")
    >>> svg.count("<circle"), svg.count("<polyline")
    (2, 1)
    """
    traces = [trace for trace in map(_finite, traces) if trace.points]
    if not traces:
        return nothing_to_show(title)
    points = [point for trace in traces for point in trace.points]
    # Room beyond the values, so that the marks at the ends are whole.
    across = decades([point.x for point in points], BOX.left, BOX.right, room=0.25)
    up = around([point.y for point in points], BOX.bottom, BOX.top, n_ticks=5)
    places = [[Place(across(p.x), up(p.y)) for p in trace.points] for trace in traces]
    pairs = list(zip(traces, places, strict=True))
    parts = [path(found, f"trace {colour(trace.position)}") for trace, found in pairs]
    # Lines lie below names, names below marks.
    parts += _names(traces, places)
    parts += [
        mark(place, trace.position, f"{trace.name}: {point.tip}")
        for trace, found in pairs
        for place, point in zip(found, trace.points, strict=True)
    ]
    axes = [x_axis(across, BOX, x_label), y_axis(up, BOX)]
    return picture(title, _said(traces, across, up), HEIGHT, *axes, *parts)


def _names(traces: list[Trace], places: list[list[Place]]) -> list[Markup]:
    texts = [shorten(trace.name, NAME_WIDTH, NAME_SIZE) for trace in traces]
    labels = [
        Label(found[-1], text_width(text, NAME_SIZE))
        for text, found in zip(texts, places, strict=True)
    ]
    # Names may reach the edge of the picture but not the axes.
    bounds = Box(BOX.left + 2, BOX.top, BOX.right, BOX.bottom - 2)
    placed = place_labels(labels, [place for found in places for place in _along(found)], bounds)
    leaders, names = [], []
    for trace, text, label, where in zip(traces, texts, labels, placed, strict=True):
        if where.is_far:
            leaders.append(_leader(label, where, trace.position))
        class_ = f"name series {colour(trace.position)}"
        names.append(words(text, where.box.left, where.box.bottom - 3, class_))
    return leaders + names


def _along(places: list[Place]) -> list[Place]:
    """Marks, and points between them: names should not cover lines either."""
    between = [
        Place(a.x + part * (b.x - a.x), a.y + part * (b.y - a.y))
        for a, b in pairwise(places)
        for part in (0.25, 0.5, 0.75)
    ]
    return [*places, *between]


def _leader(label: Label, placed: Placed, position: int) -> Markup:
    # The point of the name's box that is nearest to the mark.
    x = min(max(label.point.x, placed.box.left), placed.box.right)
    y = min(max(label.point.y, placed.box.top + 2), placed.box.bottom - 2)
    return line(label.point, Place(x, y), f"leader series {colour(position)}")


def _finite(trace: Trace) -> Trace:
    shown = [p for p in trace.points if math.isfinite(p.x) and math.isfinite(p.y)]
    return Trace(trace.name, shown, trace.position)


def _said(traces: list[Trace], across: Log, up: Linear) -> str:
    names = ", ".join(trace.name for trace in traces)
    return (
        f"Points of {names}; across from {across.low:.2g} to {across.high:.2g} on a "
        f"logarithmic axis, up from {up.low:g} to {up.high:g}."
    )
