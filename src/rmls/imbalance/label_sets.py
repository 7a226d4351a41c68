"""Rows by label set, and how many each set gains or loses in LP-ROS and LP-RUS."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Indices = NDArray[np.int64]


def group_by_set(Y: sparse.csr_matrix, generator: np.random.Generator) -> list[Indices]:
    """Return the rows of every label set, sets by ascending size; rows without labels in none.

    Sets of the same size come in random order: not all of them may have a turn.

    Examples
    --------
    >>> Y = sparse.csr_matrix([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
    >>> [bag.tolist() for bag in group_by_set(Y, np.random.default_rng(0))]
    [[1], [0, 3]]
    """
    bags: dict[bytes, list[int]] = {}
    for row, (start, stop) in enumerate(pairwise(Y.indptr.tolist())):
        if stop > start:
            # Indices are sorted, so that equal sets have equal bytes.
            bags.setdefault(Y.indices[start:stop].tobytes(), []).append(row)
    found = list(bags.values())
    shuffled = [found[place] for place in generator.permutation(len(found)).tolist()]
    return [np.asarray(bag, np.int64) for bag in sorted(shuffled, key=len)]


def share_out(target: int, room: Any) -> Indices:
    """Divide a number of rows equally among bags in turn; what does not fit goes to later ones.

    Parameters
    ----------
    target : int
    room : sequence of int
        How many each bag can take.

    Examples
    --------
    >>> share_out(7, [1, 2, 9, 9]).tolist(), share_out(7, [1, 1]).tolist()
    ([1, 2, 2, 2], [1, 1])
    """
    given = np.zeros(len(room), np.int64)
    left = target
    for turn, limit in enumerate(room):
        # An equal part of what is left; a full bag leaves more to those behind it.
        given[turn] = min(int(limit), left // (len(room) - turn))
        left -= int(given[turn])
    return given
