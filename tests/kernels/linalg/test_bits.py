"""Sets of 64 places hold what a comparison one by one finds."""

import numpy as np
import pytest

from rmls.kernels.cpu.linalg.bits import (
    PLACES,
    _mark,
    count_places,
    first_place,
    mark_places,
    without_first,
)
from rmls.kernels.jit import njit

SETS = [0, 1, 1 << 63, (1 << 64) - 1, 0x8000000080000000, 0b101100, 0x123456789ABCDEF]


@njit(cache=False)
def mark(scores, start, bound):
    return mark_places(scores, np.uint64(start), np.float32(bound))


@pytest.mark.parametrize("places", SETS)
def test_places_are_counted(places):
    assert count_places(np.uint64(places)) == bin(places).count("1")


@pytest.mark.parametrize("places", SETS[1:])
def test_places_are_visited_from_the_lowest(places):
    left, visited = np.uint64(places), []
    while left:
        visited.append(int(first_place(left)))
        left = without_first(left)
    assert visited == [place for place in range(PLACES) if places >> place & 1]


@pytest.mark.parametrize("start", [0, 1, 7, 36])
@pytest.mark.parametrize("bound", [-np.inf, -0.5, 0.0, 0.7, np.inf])
def test_marked_are_the_places_that_are_not_below(start, bound):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=100).astype(np.float32)
    # Equal numbers, both zeros, infinities, and what is not a number count as not below.
    scores[[3, 40]], scores[[5, 41]], scores[[9, 42]] = bound, np.nan, [-np.inf, np.inf]
    scores[[11, 43]] = [0.0, -0.0]
    found = int(mark(scores, start, bound))
    wanted = [place for place in range(PLACES) if not scores[start + place] < np.float32(bound)]
    assert [place for place in range(PLACES) if found >> place & 1] == wanted
    assert int(_mark(scores, np.uint64(start), np.float32(bound))) == found


def test_numbers_with_gaps_between_them_are_refused():
    with pytest.raises(Exception, match="mark_places"):
        mark(np.zeros(200, np.float32)[::2], 0, 0.0)
