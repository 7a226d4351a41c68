"""Charts: lengths and places follow from the values, whatever the values are."""

from __future__ import annotations

import math
import random
from xml.etree import ElementTree

import numpy as np
import pytest

from rmls.report.averages import Average
from rmls.report.charts.bars import Bar, BarRow, bar_chart
from rmls.report.charts.calibration import CURVES, Curve, reliability_chart
from rmls.report.charts.critical import END, START, critical_chart, rank_scale
from rmls.report.charts.dots import DotRow, dot_chart
from rmls.report.charts.frame import WIDTH, Box
from rmls.report.charts.labels import Label, overlap, place_labels
from rmls.report.charts.lines import BOX, Line, line_chart
from rmls.report.charts.marks import Place
from rmls.report.charts.scales import Linear, Log, around, decades, from_zero
from rmls.report.charts.scatter import Point, Trace, scatter_chart
from rmls.report.charts.shares import Stack, share_chart
from rmls.report.charts.text import text_width, wrap

SVG = "{http://www.w3.org/2000/svg}"
AWKWARD = [0.0, 1e-12, 1.0, 1e12, math.nan, math.inf]


def parts(drawn: str, tag: str, class_: str) -> list[ElementTree.Element]:
    """Elements of a picture with a class, in order."""
    found = ElementTree.fromstring(drawn).iter(SVG + tag)
    return [item for item in found if class_ in item.get("class", "").split()]


def number(item: ElementTree.Element, name: str) -> float:
    return float(item.attrib[name])


def texts(drawn: str) -> list[str]:
    return [item.text or "" for item in ElementTree.fromstring(drawn).iter(SVG + "text")]


def average(mean: float, deviation: float | None = None) -> Average:
    return Average(mean, deviation, 5)


def row(*values: Average | None, name: str = "RMLS") -> BarRow:
    return BarRow(name, [Bar(str(25 * (i + 1)), found) for i, found in enumerate(values)])


def test_a_bar_of_twice_the_value_is_twice_as_long() -> None:
    short, long = parts(bar_chart("F", [row(average(0.2), average(0.4))]), "rect", "bar")
    assert number(long, "width") == pytest.approx(2 * number(short, "width"), abs=0.02)
    assert number(short, "x") == number(long, "x")


def test_a_whisker_spans_the_mean_less_and_plus_a_deviation() -> None:
    drawn = bar_chart("F", [row(average(0.4, 0.1), average(0.5))])
    (bar, _), (whisker,) = parts(drawn, "rect", "bar"), parts(drawn, "line", "span")
    unit = number(bar, "width") / 0.4
    start = number(bar, "x")
    assert number(whisker, "x1") == pytest.approx(start + 0.3 * unit, abs=0.05)
    assert number(whisker, "x2") == pytest.approx(start + 0.5 * unit, abs=0.05)


def test_one_fold_has_a_bar_and_no_whisker() -> None:
    drawn = bar_chart("F", [row(average(0.4))])
    assert len(parts(drawn, "rect", "bar")) == 1
    assert not parts(drawn, "line", "whisker")


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_best_value_is_bold(lower_is_better: bool) -> None:
    drawn = bar_chart("F", [row(average(0.2), average(0.4))], lower_is_better=lower_is_better)
    (best,) = parts(drawn, "text", "best")
    assert best.text == ("0.200" if lower_is_better else "0.400")


def test_a_missing_bar_says_why() -> None:
    drawn = bar_chart("F", [BarRow("FaIE", [Bar("500", None, "ran out of time")])])
    assert "ran out of time" in texts(drawn)
    assert not parts(drawn, "rect", "bar")


@pytest.mark.parametrize("value", AWKWARD)
def test_charts_draw_any_value_inside_the_picture(value: float) -> None:
    awkward = average(value, value)
    pictures = [
        bar_chart("F", [row(awkward, None, average(0.5))]),
        dot_chart("F", [DotRow("RMLS", [awkward, None, average(0.5)])], ["head", "torso", "tail"]),
        line_chart("F", [Line("RMLS", [1, 2, value], [awkward, average(0.5), awkward])], "alpha"),
        scatter_chart("F", [Trace("RMLS", [Point(value, 0.5, ""), Point(1, value, "")])], "s"),
    ]
    for drawn in pictures:
        for item in ElementTree.fromstring(drawn).iter():
            for name in ("x", "cx", "x1", "x2"):
                assert 0 <= float(item.get(name, 0)) <= WIDTH


def test_charts_without_values_say_so() -> None:
    for drawn in (
        bar_chart("F", []),
        dot_chart("F", [], ["head"]),
        line_chart("F", [], "alpha"),
        scatter_chart("F", [], "s"),
        reliability_chart("F", []),
        critical_chart("F", [], [], 1.0, []),
        share_chart("F", [], []),
    ):
        assert texts(drawn) == ["no values"]


def test_dots_stand_on_a_line_from_zero() -> None:
    drawn = dot_chart("F", [DotRow("RMLS", [average(0.4), average(0.2)])], ["head", "tail"])
    (head,) = parts(drawn, "circle", "c0")
    (tail,) = parts(drawn, "polygon", "c1")
    zero = min(number(item, "x1") for item in parts(drawn, "line", "grid"))
    tail_x = float(tail.attrib["points"].split()[0].split(",")[0])
    assert number(head, "cx") - zero == pytest.approx(2 * (tail_x - zero), abs=0.05)


def test_a_logarithmic_axis_gives_equal_ratios_equal_lengths() -> None:
    axis = decades([0.02, 700], 10, 310)
    assert axis(0.01) == 10
    assert axis(1000) == 310
    assert axis(0.4) - axis(0.2) == pytest.approx(axis(400) - axis(200))
    assert axis(-1) == axis(0) == 10


def test_training_times_stand_at_their_logarithm() -> None:
    trace = Trace("PLST", [Point(s, 0.5, "") for s in (0.1, 1.0, 10.0)])
    drawn = scatter_chart("F", [trace], "seconds")
    xs = [number(item, "cx") for item in parts(drawn, "circle", "mark")]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.02)


def test_ticks_are_round_and_inside() -> None:
    for axis in (from_zero([0.61], 0, 9), around([0.0362, 0.0444], 0, 9), Linear(1, 12, 0, 9)):
        ticks = axis.ticks()
        assert 2 <= len(ticks) <= 8
        assert all(axis.low <= tick <= axis.high for tick in ticks)
        assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])
    assert Log(1e-6, 1, 0, 9).ticks()[0] == pytest.approx(1e-6)


def test_a_band_spans_a_deviation_around_the_line() -> None:
    line = Line("RMLS", [1, 2], [average(0.4, 0.1), average(0.5, 0.05)])
    (band,) = parts(line_chart("F", [line], "alpha"), "polygon", "band")
    heights = [float(pair.split(",")[1]) for pair in band.attrib["points"].split()]
    up = around([0.3, 0.5, 0.45, 0.55], BOX.bottom, BOX.top)
    assert heights == pytest.approx([up(0.5), up(0.55), up(0.45), up(0.3)], abs=0.01)


def test_one_fold_has_no_band() -> None:
    drawn = line_chart("F", [Line("RMLS", [1, 2], [average(0.4), average(0.5)])], "alpha")
    assert not parts(drawn, "polygon", "band")


def curve(predicted: list[float | None], observed: list[float | None]) -> Curve:
    edges = [0.0, 0.01, 0.1, 1.0]
    pairs = [1000 if value is not None else 0 for value in predicted]
    return Curve("RMLS", edges, pairs, predicted, observed)


def test_honest_probabilities_stand_on_the_diagonal() -> None:
    drawn = reliability_chart("R", [curve([0.001, 0.05, 0.5], [0.001, 0.05, 0.5])])
    (diagonal,) = parts(drawn, "line", "diagonal")
    x1, y1, x2, y2 = (number(diagonal, name) for name in ("x1", "y1", "x2", "y2"))
    for mark in parts(drawn, "circle", "mark"):
        part = (number(mark, "cx") - x1) / (x2 - x1)
        assert number(mark, "cy") == pytest.approx(y1 + part * (y2 - y1), abs=0.05)


def test_bins_without_a_hit_are_hollow_and_those_without_pairs_left_out() -> None:
    drawn = reliability_chart("R", [curve([0.001, 0.05, None], [0.0, 0.05, None])])
    marks = parts(drawn, "circle", "mark")
    assert len(marks) == 2
    assert number(marks[0], "cy") == CURVES.bottom
    assert len(parts(drawn, "g", "hollow")) == 1


def test_ranks_and_the_critical_difference_share_an_axis() -> None:
    drawn = critical_chart("Ranks", ["a", "b", "c"], [1.0, 1.8, 3.0], 0.9, [(0, 1)])
    xs = [number(item, "cx") for item in parts(drawn, "circle", "mark")]
    unit = (END - START) / 2
    assert xs == pytest.approx([START, START + 0.8 * unit, END], abs=0.01)
    (distance,) = parts(drawn, "line", "distance")
    assert number(distance, "x2") - number(distance, "x1") == pytest.approx(0.9 * unit, abs=0.02)
    (group,) = parts(drawn, "line", "group")
    assert number(group, "x1") < xs[0] < xs[1] < number(group, "x2") < xs[2]


@pytest.mark.parametrize("difference", [50.0, math.inf, math.nan])
def test_a_critical_difference_longer_than_the_axis_is_only_written(difference: float) -> None:
    drawn = critical_chart("Ranks", ["a", "b"], [1.0, 2.0], difference, [(0, 1)])
    assert not parts(drawn, "line", "distance")
    assert any(text.startswith("critical difference") for text in texts(drawn))
    assert rank_scale(1).high > rank_scale(1).low


def test_shares_fill_the_whole_bar() -> None:
    drawn = share_chart("enron", [Stack("labels", [0.1, 0.3, 0.6])], ["head", "torso", "tail"])
    widths = [number(item, "width") for item in parts(drawn, "rect", "share")]
    assert widths[2] == pytest.approx(2 * widths[1], abs=0.02)
    assert widths[1] == pytest.approx(3 * widths[0], abs=0.02)


def test_names_do_not_cover_one_another_nor_marks() -> None:
    draw = random.Random(3)
    bounds = Box(40, 10, 350, 290)
    points = [Place(draw.uniform(100, 300), draw.uniform(60, 260)) for _ in range(12)]
    labels = [Label(point, draw.uniform(30, 110)) for point in points]
    placed = place_labels(labels, points, bounds)
    boxes = np.array([found.box for found in placed])
    for i, found in enumerate(placed):
        assert overlap(np.delete(boxes, i, axis=0), boxes[i]).sum() == 0
        assert bounds.left <= found.box.left <= found.box.right <= bounds.right
        assert bounds.top <= found.box.top <= found.box.bottom <= bounds.bottom
        inside = [found.box.left < p.x < found.box.right for p in points]
        level = [found.box.top < p.y < found.box.bottom for p in points]
        assert not any(a and b for a, b in zip(inside, level, strict=True))


def test_many_names_at_one_point_are_all_placed() -> None:
    point = Place(100, 100)
    placed = place_labels([Label(point, 60.0)] * 30, [point], Box(0, 0, 200, 200))
    assert len(placed) == 30
    assert len({found.box for found in placed}) > 15


@pytest.mark.parametrize("name", ["", "x", "RMLS, every irrelevant label", "W" * 300, "ab " * 90])
def test_long_names_are_broken_and_cut_to_their_room(name: str) -> None:
    lines = wrap(name, 110)
    assert 1 <= len(lines) <= 2
    assert all(text_width(line) <= 110 for line in lines)
