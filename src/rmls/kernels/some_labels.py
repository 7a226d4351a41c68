"""Pairs of some labels, and their dual variables, for who cannot look at them where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.arrays import Pairs, Problem

Floats = NDArray[np.float32]


class Variables(NamedTuple):
    """Dual variables of some pairs: a bit for each, and those that are not 0, which are few."""

    marks: NDArray[np.uint8]
    values: Floats

    @classmethod
    def of(cls, duals: Floats) -> Variables:
        """Return what there is to keep, or to send, of variables.

        Examples
        --------
        >>> kept, duals = Variables.of(np.float32([0, 2, 0, 3])), np.ones(4, np.float32)
        >>> kept.put(duals)
        >>> kept.marks.nbytes, kept.values.tolist(), duals.tolist()
        (1, [2.0, 3.0], [0.0, 2.0, 0.0, 3.0])
        """
        marks = duals != 0
        return cls(np.packbits(marks), duals[marks])

    def put(self, duals: Floats) -> None:
        """Set variables to these, and all others to 0."""
        duals[:] = 0
        duals[np.unpackbits(self.marks, count=len(duals)).astype(bool)] = self.values


def take_pairs(pairs: Pairs, labels: NDArray[np.int64]) -> tuple[Pairs, NDArray[np.bool_]]:
    """Return the pairs of some labels, which rise, and which of all pairs they are.

    Examples
    --------
    >>> pairs = Pairs(np.array([0, 2, 5]), np.array([7, 8, 7, 8, 9]), np.array([1, 2]))
    >>> some, chosen = take_pairs(pairs, np.array([1]))
    >>> some.indptr.tolist(), some.rows.tolist(), chosen.tolist()
    ([0, 3], [7, 8, 9], [False, False, True, True, True])
    """
    lengths = np.diff(pairs.indptr)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[labels])])
    chosen = np.repeat(np.isin(np.arange(len(lengths)), labels), lengths)
    return Pairs(indptr, pairs.rows[chosen], pairs.n_relevant[labels]), chosen


def count_pairs(pairs: Pairs, labels: NDArray[np.int64] | None = None) -> int:
    """Return how many pairs some labels have; all where none are named."""
    return len(pairs.rows) if labels is None else int(np.diff(pairs.indptr)[labels].sum())


def solve_copies(
    solve: Callable[[Problem, Pairs, Floats], Any],
    problem: Problem,
    pairs: Pairs,
    duals: Floats,
    labels: NDArray[np.int64] | None,
) -> Any:
    """Train the classifiers of some labels by copies of their pairs, where these go elsewhere."""
    if labels is None or len(labels) == len(pairs.n_relevant):
        return solve(problem, pairs, duals)
    some, chosen = take_pairs(pairs, labels)
    offsets = problem.offsets[chosen] if len(problem.offsets) else problem.offsets
    problem = problem._replace(label_costs=problem.label_costs[labels], offsets=offsets)
    own = duals[chosen]
    found = solve(problem, some, own)
    duals[chosen] = own
    return found
