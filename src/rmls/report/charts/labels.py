"""Names beside points, moved until they do not cover one another."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.report.charts.frame import Box
from rmls.report.charts.marks import Place

Array = NDArray[np.float64]

# Close steps near the point, wide ones far away, where only a crowd sends a name.
DISTANCES = (7.0, 12.0, 18.0, 26.0, 36.0, 48.0, 64.0, 84.0, 110.0, 140.0)
N_DIRECTIONS = 16
# One to find places, the others to leave those that have become bad.
ROUNDS = 3
HEIGHT = 13.0
# A name this far from its point needs a line to it.
FAR = 11.0
# Names leave this much room around marks.
ROOM = 3.5
# In units of distance: a hidden mark costs as much as a way of 60.
PRICE_OF_AREA, PRICE_OF_POINT = 50.0, 60.0


class Label(NamedTuple):
    """A name of a given width that belongs to a point."""

    point: Place
    width: float


class Placed(NamedTuple):
    """The area of a name and whether it is so far from its point that a line must join them."""

    box: Box
    is_far: bool


def place_labels(labels: list[Label], points: list[Place], bounds: Box) -> list[Placed]:
    """Find a place for every name: near its point, inside ``bounds``, covering nothing.

    Parameters
    ----------
    labels : list of Label
    points : list of Place
        Marks which names should leave visible.
    bounds : Box

    Returns
    -------
    list of Placed
        In the order of ``labels``. Names that find no free place take the one where they cover
        least.

    Notes
    -----
    Greedy: names with the most crowded surroundings choose first; then all of them may choose
    again, knowing the others. There is no randomness.
    """
    # Most crowded first: those with room around them can still move away later.
    crowded = sorted(range(len(labels)), key=lambda i: (-_neighbours(labels[i].point, labels), i))
    boxes = [_candidates(label, bounds) for label in labels]
    prices = [
        _gaps(label.point, found) + PRICE_OF_POINT * _hidden(found, points)
        for label, found in zip(labels, boxes, strict=True)
    ]
    chosen: dict[int, int] = {}
    # After the first round every name chooses again, now that all others have a place.
    for i in crowded * ROUNDS:
        price = prices[i].copy()
        for other in sorted(chosen.keys() - {i}):
            # Covering another name costs more than any distance, but is possible.
            price += PRICE_OF_AREA * overlap(boxes[i], boxes[other][chosen[other]])
        chosen[i] = int(np.argmin(price))
    return [
        Placed(Box(*map(float, boxes[i][chosen[i]])), _is_far(label, boxes[i][chosen[i]]))
        for i, label in enumerate(labels)
    ]


def overlap(boxes: Array, other: Array) -> Array:
    """Return the area that each of some boxes has in common with another one.

    Examples
    --------
    >>> overlap(np.array([[0.0, 0, 2, 2], [0, 0, 1, 1]]), np.array([1.0, 1, 3, 3])).tolist()
    [1.0, 0.0]
    """
    across = np.minimum(boxes[:, 2], other[2]) - np.maximum(boxes[:, 0], other[0])
    down = np.minimum(boxes[:, 3], other[3]) - np.maximum(boxes[:, 1], other[1])
    return np.asarray(np.maximum(across, 0.0) * np.maximum(down, 0.0), dtype=np.float64)


def _candidates(label: Label, bounds: Box) -> Array:
    """Boxes around the point, nearest first; those beyond the bounds are moved inside."""
    found = []
    for distance in DISTANCES:
        for direction in range(N_DIRECTIONS):
            angle = 2 * math.pi * direction / N_DIRECTIONS
            across, down = math.cos(angle), math.sin(angle)
            # The side of the box that looks at the point slides along it with the direction.
            left = label.point.x + distance * across - label.width * (1 - across) / 2
            top = label.point.y + distance * down - HEIGHT * (1 - down) / 2
            left = max(min(left, bounds.right - label.width), bounds.left)
            top = max(min(top, bounds.bottom - HEIGHT), bounds.top)
            found.append((left, top, left + label.width, top + HEIGHT))
    return np.array(found)


def _hidden(boxes: Array, points: list[Place]) -> Array:
    """How many marks each box would cover."""
    # Candidates in rows, marks in columns: one comparison for all pairs.
    x, y = np.array(points, dtype=np.float64).reshape(-1, 2).T
    across = (x > boxes[:, :1] - ROOM) & (x < boxes[:, 2:3] + ROOM)
    down = (y > boxes[:, 1:2] - ROOM) & (y < boxes[:, 3:] + ROOM)
    return np.asarray((across & down).sum(axis=1), dtype=np.float64)


def _gaps(point: Place, boxes: Array) -> Array:
    # Distance to a box: 0 in a direction in which the point is within it.
    across = np.maximum(np.maximum(boxes[:, 0] - point.x, point.x - boxes[:, 2]), 0.0)
    down = np.maximum(np.maximum(boxes[:, 1] - point.y, point.y - boxes[:, 3]), 0.0)
    return np.asarray(np.hypot(across, down), dtype=np.float64)


def _is_far(label: Label, box: Array) -> bool:
    return bool(_gaps(label.point, box[None, :])[0] > FAR)


def _neighbours(point: Place, labels: list[Label]) -> int:
    return sum(math.dist(point, other.point) < 45 for other in labels)
