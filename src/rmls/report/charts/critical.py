"""The critical-difference diagram: average ranks, and which of them the test tells apart."""

from __future__ import annotations

import math

from rmls.core.show.markup import Markup, element, escape
from rmls.report.charts.frame import WIDTH, nothing_to_show, picture
from rmls.report.charts.marks import Place, line, mark
from rmls.report.charts.scales import Linear
from rmls.report.charts.text import name_lines, words

NAMES_END = 130.0
AXIS = 44.0
START, END = 146.0, WIDTH - 44
PITCH = 31.0
GROUP_PITCH = 8.0


def critical_chart(
    title: str,
    names: list[str],
    ranks: list[float],
    critical_difference: float,
    groups: list[tuple[int, int]],
) -> Markup:
    """Draw average ranks, best first, under an axis with the critical difference.

    Parameters
    ----------
    title : str
    names : list of str
    ranks : list of float
        Ascending.
    critical_difference : float
    groups : list of (int, int)
        First and last position of the methods that a thick bar joins: the test does not tell
        them apart.
    """
    if not names:
        return nothing_to_show(title)
    scale = rank_scale(len(names))
    # A group of one says nothing: every method is like itself.
    bars = [group for group in groups if group[1] > group[0]]
    top = AXIS + 14 + GROUP_PITCH * len(bars)
    parts = [_axis(scale, len(names)), _distance(scale, critical_difference)]
    rows = [
        _row(name, rank, top + PITCH * (position + 0.5), scale)
        for position, (name, rank) in enumerate(zip(names, ranks, strict=True))
    ]
    joins = [
        _group(
            scale(ranks[first]),
            scale(ranks[last]),
            AXIS + 10 + GROUP_PITCH * position,
            names[first : last + 1],
        )
        for position, (first, last) in enumerate(bars)
    ]
    description = "; ".join(f"{name} {rank:.2f}" for name, rank in zip(names, ranks, strict=True))
    return picture(title, description, top + PITCH * len(names) + 4, *parts, *rows, *joins)


def rank_scale(n_methods: int) -> Linear:
    """Return the axis of ranks, 1 to the left."""
    # An axis from 1 to 1 would have no length.
    return Linear(1.0, float(max(n_methods, 2)), START, END)


def _axis(scale: Linear, n_methods: int) -> Markup:
    parts = [line(Place(START, AXIS), Place(END, AXIS), "rule")]
    # At most nine ranks are written under the axis.
    step = max(1, math.ceil((n_methods - 1) / 8))
    for rank in range(1, n_methods + 1, step):
        x = scale(rank)
        parts.append(line(Place(x, AXIS - 4), Place(x, AXIS), "rule"))
        parts.append(words(str(rank), x, AXIS - 8, "tick", text_anchor="middle"))
    parts.append(words("average rank", NAMES_END, AXIS - 8, "axis", text_anchor="end"))
    return element("g", *parts)


def _distance(scale: Linear, critical_difference: float) -> Markup:
    """The critical difference as a length on the axis, or in words where it is longer."""
    text = f"critical difference {critical_difference:.2f}"
    label = words(text, END, 12, "tick", text_anchor="end")
    # The length begins at rank 1, where the axis does.
    end = scale.low + critical_difference
    if not math.isfinite(critical_difference) or end > scale.high:
        return label
    y = 20.0
    ends = [line(Place(x, y - 3), Place(x, y + 3), "rule") for x in (START, scale(end))]
    return element("g", label, line(Place(START, y), Place(scale(end), y), "rule distance"), *ends)


def _row(name: str, rank: float, y: float, scale: Linear) -> Markup:
    x = scale(rank)
    return element(
        "g",
        line(Place(x, AXIS), Place(x, y), "leader"),
        line(Place(NAMES_END + 4, y), Place(x, y), "leader"),
        name_lines(name, NAMES_END, y, NAMES_END),
        mark(Place(x, y), 0, f"{name}: average rank {rank:.2f}"),
        words(f"{rank:.2f}", x + 8, y + 4, "value halo"),
    )


def _group(start: float, end: float, y: float, names: list[str]) -> Markup:
    told = element("title", escape(f"not told apart: {'; '.join(names)}"))
    # Drawn a little over both ends, so that equal ranks have a bar as well.
    return element(
        "line", told, class_="group", x1=start - 3, y1=y, x2=max(end, start + 1) + 3, y2=y
    )
