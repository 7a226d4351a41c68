"""Reliability curves: how often labels come true at every predicted probability."""

from __future__ import annotations

from dataclasses import dataclass

from rmls.core.show.markup import Markup, element
from rmls.report.charts.frame import WIDTH, Box, nothing_to_show, picture, x_axis, y_axis
from rmls.report.charts.marks import Place, colour, line, mark, path
from rmls.report.charts.scales import Log, decades
from rmls.report.numbers import format_number

CURVES = Box(46, 24, WIDTH - 10, 280)
PAIRS = Box(46, 330, WIDTH - 10, 400)
# Lower probabilities would stretch both axes over decades that hold nothing to see.
MIN_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Curve:
    """Pairs of rows and labels by predicted probability, summed over folds.

    ``predicted`` and ``observed`` are means within the bins between ``edges``, None where a bin
    has no pairs. ``position`` gives colour and shape.
    """

    name: str
    edges: list[float]
    pairs: list[int]
    predicted: list[float | None]
    observed: list[float | None]
    position: int = 0


def reliability_chart(title: str, curves: list[Curve]) -> Markup:
    """Draw observed against predicted probability on logarithmic axes, and the number of pairs.

    Bins in which no label came true have no place on a logarithmic axis: they stand at its
    lower end and are hollow.
    """
    shown = [curve for curve in curves if any(curve.pairs)]
    if not shown:
        return nothing_to_show(title)
    known = [v for c in shown for v in [*c.predicted, *c.observed] if v is not None]
    values = [v for v in known if v >= MIN_PROBABILITY]
    across = _up_to_one(values, CURVES.left, CURVES.right)
    up = _up_to_one(values, CURVES.bottom, CURVES.top)
    perfect = line(Place(across(across.low), up(up.low)), Place(across(1), up(1)), "diagonal")
    # Counts over decades too: the first bin may hold a thousand times the others.
    many = decades([1, *(float(n) for c in shown for n in c.pairs)], PAIRS.bottom, PAIRS.top)
    axes = [
        x_axis(across, CURVES),
        y_axis(up, CURVES, "observed share"),
        x_axis(across, PAIRS, "predicted probability"),
        y_axis(many, PAIRS, "pairs of a row and a label"),
    ]
    drawn = [_curve(curve, across, up) for curve in shown]
    drawn += [_histogram(curve, across, many) for curve in shown]
    description = (
        f"Curves of {', '.join(c.name for c in shown)}; both axes are logarithmic from "
        f"{across.low:g} to 1. The diagonal is perfect calibration."
    )
    return picture(title, description, PAIRS.bottom + 38, *axes, perfect, *drawn)


def _up_to_one(values: list[float], start: float, end: float) -> Log:
    # Probabilities end at 1, and both axes begin at the same decade: the diagonal is honest.
    lowest = decades([*values, 1.0], start, end).low
    return Log(lowest, 1.0, start, end)


def _curve(curve: Curve, across: Log, up: Log) -> Markup:
    marks, places = [], []
    for x, y, n in zip(curve.predicted, curve.observed, curve.pairs, strict=True):
        if x is None or y is None or not n:
            continue
        place = Place(across(x), up(y))
        tip = f"{curve.name}: predicted {x:.3g}, observed {y:.3g}, {format_number(n, 0)} pairs"
        drawn = mark(place, curve.position, tip, radius=3.5)
        # log 0 has no place: hollow, at the lower end, and not part of the line.
        if y < up.low:
            drawn = element("g", drawn, class_="hollow")
        else:
            places.append(place)
        marks.append(drawn)
    return element("g", path(places, f"trace {colour(curve.position)}"), *marks)


def _histogram(curve: Curve, across: Log, up: Log) -> Markup:
    """A line in steps, so that several curves can be seen through one another."""
    places = [Place(across(curve.edges[0]), up.start)]
    for low, high, n in zip(curve.edges[:-1], curve.edges[1:], curve.pairs, strict=True):
        height = up(n) if n else up.start
        places += [Place(across(low), height), Place(across(high), height)]
    places.append(Place(across(curve.edges[-1]), up.start))
    return path(places, f"trace {colour(curve.position)}")
