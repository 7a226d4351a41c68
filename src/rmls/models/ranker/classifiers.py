"""The second stage of a training: a sparse classifier for every label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.options import is_auto
from rmls.core.sparse import row_squares
from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem, SparseWeights
from rmls.kernels.backend import Vectors, csr_arrays, get_backend, take_pairs
from rmls.models.ranker.archive import LabelWeights, feature_numbers
from rmls.models.shared.training_set import TrainingSet

DEFAULT_COST = {"squared_hinge": 2.0, "logistic": 20.0}
# C / n^0.25: each row of a rare label is needed, a frequent one is held back more.
DEFAULT_COST_POWER = 0.25
# Where a tenth of the rows or less is added, labels of more rows hardly gain by it.
FEW_ROWS, FEW_ADDED = 100, 0.11

Tick = Callable[[float], None]


@dataclass(frozen=True)
class ClassifierOptions:
    """How the classifiers are trained, by the options of `RMLSRanker`.

    A row costs ``C / n ** cost_power`` in the classifier of a label with n relevant rows.
    """

    loss: str
    C: float
    cost_power: float
    tolerance: float
    max_epochs: int
    prune: float
    offset: float

    @classmethod
    def of(cls, ranker: Any) -> ClassifierOptions:
        """Return the options of a ranker."""
        cost, power = DEFAULT_COST[ranker.loss], DEFAULT_COST_POWER
        if not is_auto(ranker.C):
            cost, power = float(ranker.C), 0.0
        solver = (ranker.tol, ranker.max_epochs, ranker.prune, ranker.offset)
        return cls(ranker.loss, cost, power, *solver)


@dataclass
class ClassifierTrainer:
    """The rows of every label and the dual variables of the solution so far.

    Attributes
    ----------
    data, pairs : TrainingSet, Pairs
        Compact rows, and those of every label: those that have it, and those that list it.
    offsets : ndarray of float32
        One number a pair, or empty.
    row_costs, label_costs : ndarray of float32
        What a row and a label cost in the last solution.
    """

    data: TrainingSet
    pairs: Pairs
    offsets: NDArray[np.float32]
    options: ClassifierOptions
    device: str
    n_threads: int
    row_costs: NDArray[np.float32] = field(init=False)
    label_costs: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        # Kept between two solves: w = sum_i a_i y_i x_i, so that they are the solution, and rows
        # that are added later start from it.
        self.duals = self.data.zeros(len(self.pairs.rows), np.float32)
        self._solved = np.zeros(0, dtype=bool)
        self._weights = LabelWeights(self.data.n_labels)

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        listed: NDArray[np.int32],
        vectors: Vectors,
        options: ClassifierOptions,
        n_threads: int,
    ) -> ClassifierTrainer:
        """Lay out the rows of every label."""
        backend = get_backend(vectors.device)
        pairs = backend.pair_rows(csr_arrays(data.Y), listed, data.n_labels, data.zeros)
        offsets = np.zeros(0, np.float32)
        if options.offset:
            hidden = vectors.hidden(data.X)
            # Scores at the pairs alone; the matrix of all scores is never formed.
            offsets = backend.products_at(pairs, vectors.params.L, hidden, n_threads)
            offsets += np.repeat(vectors.params.c, np.diff(pairs.indptr))
            offsets *= np.float32(options.offset)
        return cls(data, pairs, offsets, options, vectors.device, n_threads)

    def solve(self, rows: NDArray[np.bool_], tick: Tick | None = None) -> SparseWeights:
        """Train on the marked rows; a second call adds rows, to labels that have few of them."""
        labels = self._labels_to_solve(rows)
        problem, every = self._problem(rows), len(labels) == self.data.n_labels
        pairs, places = (self.pairs, ...) if every else take_pairs(self.pairs, labels)
        offsets = self.offsets[places] if len(self.offsets) else self.offsets
        problem = problem._replace(label_costs=self.label_costs[labels], offsets=offsets)
        self._solved = rows.copy()
        if len(labels):
            duals = self.duals[places]
            self._weights.put(labels, self._solve(problem, pairs, duals, tick))
            self.duals[places] = duals
        return self._weights.by_feature(self.data.n_features)

    def _solve(self, problem: Problem, pairs: Pairs, duals: Any, tick: Any) -> Any:
        return get_backend(self.device).solve_classifiers(
            problem, pairs, duals, self.data.n_features, self.n_threads, tick
        )

    def _labels_to_solve(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        first = not len(self._solved)
        added = rows if first else rows & ~self._solved
        if first or added.mean() > FEW_ADDED:
            return np.arange(self.data.n_labels)
        labels = np.unique(self.data.Y[added].indices)
        return labels[self.pairs.n_relevant[labels] <= FEW_ROWS].astype(np.int64)

    def _problem(self, rows: NDArray[np.bool_]) -> Problem:
        X, options = self.data.X, self.options
        self.row_costs = np.where(rows, self.data.weights, 0.0).astype(np.float32)
        self.label_costs = self._label_costs(rows)
        # Empty in the first solve; later only new rows and variables above 0 have to move.
        added = rows & ~self._solved if len(self._solved) else self._solved
        # |x_i|^2 + 1 is the diagonal of Q in the dual, the curvature of a step, for all labels.
        return Problem(
            X.indptr.astype(np.int64),
            feature_numbers(X, self.data.zeros),
            X.data.astype(np.float32, copy=False),
            row_squares(X),
            self.row_costs,
            self.label_costs,
            added,
            self.offsets,
            DUAL_LOSSES.index(options.loss),
            np.float32(options.tolerance),
            options.max_epochs,
            np.float32(options.prune),
        )

    def _label_costs(self, rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return what a row costs for every label, by the number of marked rows that have it."""
        n_relevant = self.pairs.n_relevant
        labels = np.repeat(np.arange(len(n_relevant)), n_relevant)
        # The relevant rows of a label stand before those that list it: the shift jumps over these.
        skipped = self.pairs.indptr[:-1] - np.cumsum(n_relevant) + n_relevant
        relevant = self.pairs.rows[np.arange(len(labels)) + np.repeat(skipped, n_relevant)]
        counts = np.bincount(labels[rows[relevant]], minlength=len(n_relevant))
        costs = self.options.C / np.maximum(counts, 1.0) ** self.options.cost_power
        return np.asarray(costs, dtype=np.float32)
