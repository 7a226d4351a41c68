"""Classifiers of many rows, some labels at a time: lists in two bytes, and the pairs of a few.

All pairs of a label and a row, with their dual variables, would be the largest arrays of a
training. Here they are laid out for one range of labels after the other, twice, and what is kept of
the variables are those that are not 0. Solutions are those of all pairs at once, to the last bit.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.sparse import label_counts
from rmls.kernels.arrays import Pairs, Problem
from rmls.kernels.backend import Vectors, csr_arrays, get_backend
from rmls.kernels.some_labels import Variables
from rmls.models.ranker.sources import sum_curvatures
from rmls.models.ranker.trainer import ClassifierOptions, ClassifierTrainer, Tick

# Laying out takes a look at all lists for every range: a thirtieth of the training at 250,000 rows.
PAIRS_AT_ONCE = 1 << 23
ROWS_AT_ONCE = 1 << 12

Floats = NDArray[np.float32]


class LabelRanges(ClassifierTrainer):
    """The lists of all rows, and what is known of every range of labels.

    Attributes
    ----------
    listed : ndarray of uint16 or int32, shape (n_rows, k)
    ranges : list of tuple of int
        The first label of a range and the one after its last.
    kept : dict of int to Variables
        The solution of every range that was solved.
    curvatures : ndarray of float32, shape (n_labels,)
        Second derivative of every label's loss in its bias, at its last solution.
    costs_then : ndarray of float32, shape (n_labels,)
        What a row cost for every label when that was found.
    """

    listed: NDArray[Any]
    ranges: list[tuple[int, int]]
    kept: dict[int, Variables]
    curvatures: Floats
    costs_then: Floats

    @classmethod
    def of(
        cls,
        data: Any,
        listed: NDArray[np.int32],
        vectors: Vectors,
        options: ClassifierOptions,
        n_threads: int,
    ) -> ClassifierTrainer:
        """Cut the labels into ranges; with an ``offset`` every pair has a number, and all stay."""
        if options.offset:
            return ClassifierTrainer.of(data, listed, vectors, options, n_threads)
        m, relevant = data.n_labels, label_counts(data.Y)
        # No pair is laid out yet.
        pairs = Pairs(np.zeros(m + 1, np.int64), np.zeros(0, np.uint16), relevant)
        made = cls(data, pairs, np.zeros(0, np.float32), options, vectors.device, n_threads)
        narrow = m < 1 << 16 and listed.min(initial=0) >= 0
        made.listed = listed.astype(np.uint16) if narrow else listed
        made.ranges, made.kept = cut_labels(made.listed, relevant), {}
        made.curvatures, made.costs_then = np.zeros(m, np.float32), np.ones(m, np.float32)
        return made

    def _solve(
        self,
        problem: Problem,
        pairs: Pairs,
        duals: Floats,
        tick: Tick | None,
        labels: NDArray[np.int64],
    ) -> tuple[NDArray[Any], ...]:
        # Of the squared hinge a curvature is proportional to the cost. Labels that are not solved
        # again have other costs, too, as more rows have them.
        self.curvatures *= self.label_costs / self.costs_then
        parts, self.costs_then = [], self.label_costs
        for number, (first, last) in enumerate(self.ranges):
            own = labels[slice(*np.searchsorted(labels, (first, last)))]
            if len(own):
                parts.append(self._solve_range(problem, number, own, tick))
        columns = zip(*parts, strict=True)
        return tuple(np.concatenate(column) for column in columns)

    def _solve_range(
        self, problem: Problem, number: int, labels: NDArray[np.int64], tick: Tick | None
    ) -> tuple[NDArray[Any], ...]:
        backend, (m, d) = get_backend(self.device), (self.data.n_labels, self.data.n_features)

        def tell(share: float) -> None:
            if tick is not None:
                tick((number + share) / len(self.ranges))

        given = (csr_arrays(self.data.Y), self.listed, m)
        pairs = backend.pair_rows(*given, part=self.ranges[number])
        duals = np.zeros(len(pairs.rows), np.float32)
        if number in self.kept:
            self.kept[number].put(duals)
        solved = backend.solve_classifiers(problem, pairs, duals, d, self.n_threads, tell, labels)
        self.kept[number] = Variables.of(duals)
        costs = (self.row_costs, self.label_costs)
        curved = sum_curvatures(pairs, duals, *costs, self.options.loss)
        self.curvatures[labels] = curved[labels]
        return solved


def cut_labels(listed: NDArray[Any], relevant: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut the labels into ranges of about as many pairs.

    Examples
    --------
    >>> cut_labels(np.zeros((4, 1), np.int32), np.array([2, 1]))
    [(0, 2)]
    """
    # At most: a relevant label that is listed is counted twice.
    counts = relevant + 1
    for start in range(0, len(listed), ROWS_AT_ONCE):
        part = listed[start : start + ROWS_AT_ONCE].ravel()
        counts += np.bincount(part[part >= 0], minlength=len(relevant))
    ends = np.cumsum(counts)
    wanted = np.arange(PAIRS_AT_ONCE, ends[-1], PAIRS_AT_ONCE)
    cuts = np.unique([0, *np.searchsorted(ends, wanted), len(relevant)])
    return [(int(first), int(last)) for first, last in pairwise(cuts)]
