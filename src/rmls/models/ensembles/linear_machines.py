"""Linear machines of a few classes for every label, on rows drawn against its imbalance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels.backend import csr_arrays
from rmls.kernels.cpu.methods.binary_linear import clear_features, sum_confidences, train_machine
from rmls.models.shared.training_set import TrainingSet

LEAST_COST = 1e-300

Indices = NDArray[np.int64]
Classes = list[Indices]


class Settings(NamedTuple):
    """How a machine is trained: cost of the loss, passes at most, tolerance, weights to drop."""

    C: float
    max_iter: int
    tol: float
    prune: float


class LabelMachines(NamedTuple):
    """The machines of one label.

    Attributes
    ----------
    weights : CSC matrix of float32, shape (n_features, n_outputs)
    intercepts : ndarray of float32, shape (n_outputs,)
    sizes : ndarray of int64, shape (n_machines,)
        Outputs of every machine.
    threshold : float
    n_iter : int
        Passes of the machine that took most.
    """

    weights: sparse.csc_matrix
    intercepts: NDArray[np.float32]
    sizes: Indices
    threshold: float
    n_iter: int


class TrainingRows:
    """Normalised rows and who is relevant for which label, as the machines need them.

    The set is compact: its matrices hold its rows in their order.
    """

    def __init__(self, data: TrainingSet) -> None:
        self.features = csr_arrays(data.X)
        self.n_features = data.n_features
        self.weights = weights = data.weights
        self.n_rows = data.n_rows
        self._even = bool((weights == weights[0]).all())
        self._least = float(weights.min())
        by_label = sparse.csc_matrix(data.Y)
        by_label.sort_indices()
        self._indptr, self._indices = by_label.indptr, by_label.indices.astype(np.int64)

    def relevant(self, label: int) -> Indices:
        """Return the rows that have the label."""
        return self._indices[self._indptr[label] : self._indptr[label + 1]]

    def counts(self) -> Indices:
        """Return the number of rows of every label."""
        return np.diff(self._indptr).astype(np.int64)

    def irrelevant_mask(self, label: int) -> NDArray[np.bool_]:
        """Return which rows do not have the label."""
        mask = np.ones(self.n_rows, dtype=bool)
        mask[self.relevant(label)] = False
        return mask

    def draw(self, rows: Indices, budget: float, rng: np.random.Generator) -> Indices:
        """Return random ``rows`` that weigh at most ``budget`` together, but one at least."""
        if self._even:
            # 0.3 / 0.1 is just below 3: the small term keeps the row that rounding would take.
            count = max(1, int(min(budget / self.weights[0] + 1e-9, len(rows))))
            return rows if count >= len(rows) else rng.choice(rows, count, replace=False)
        # More rows than this cannot fit, even if all are of the least weight: no full shuffle is
        # needed.
        most = int(min(budget / self._least, len(rows))) + 1
        shuffled = rng.choice(rows, min(most, len(rows)), replace=False)
        count = int((np.cumsum(self.weights[shuffled]) <= budget * (1 + 1e-12)).sum())
        return shuffled[: max(1, count)]

    def weigh(self, rows: Indices) -> float:
        """Return the summed weight of some rows."""
        return float(self.weights[rows].sum())


class MachineTrainer:
    """Trains the machines of one label after another; one for every thread."""

    def __init__(self, rows: TrainingRows, settings: Settings, n_outputs: int) -> None:
        self.rows, self.settings = rows, settings
        self._w = np.zeros(rows.n_features + 1)
        self._table = np.zeros((rows.n_features + 1, n_outputs), np.float32)
        self._n_iter = 0

    def train(
        self, label: int, problems: list[Classes], key: int, with_threshold: bool
    ) -> LabelMachines:
        """Train a machine for every problem of a label, and find the threshold of its best F.

        A problem lists the rows of its classes, that of the label last.
        """
        outputs: list[NDArray[np.float64]] = []
        sizes: list[int] = []
        self._n_iter = 0
        for classes in problems:
            margins = self._machine(classes, key)
            sizes.append(len(margins))
            outputs += margins
        table = self._table[:, : len(outputs)]
        for column, margin in enumerate(outputs):
            table[:, column] = margin
        kept = table[:-1]
        kept[np.abs(kept) < self.settings.prune] = 0
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        threshold = self._threshold(label, table, ends) if with_threshold else 0.5
        weights = sparse.csc_matrix(kept)
        intercepts = table[-1].copy()
        return LabelMachines(weights, intercepts, np.array(sizes), threshold, self._n_iter)

    def _machine(self, classes: Classes, key: int) -> list[NDArray[np.float64]]:
        """Return the margins of the last class over each other one.

        Every class has a machine against the rest. The machine of one of two classes is the
        negative of the other's, so that one is trained.
        """
        picked = np.concatenate(classes)
        own = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
        last = len(classes) - 1
        if last == 1:
            # The other class scores -s: the soft maximum of (s, -s) is sigmoid(2 s).
            return [2 * self._against_rest(picked, own == 1, key)]
        scores = [self._against_rest(picked, own == number, key) for number in range(last + 1)]
        # The soft maximum needs differences only: one output fewer is stored.
        return [scores[last] - score for score in scores[:last]]

    def _against_rest(
        self, picked: Indices, inside: NDArray[np.bool_], key: int
    ) -> NDArray[np.float64]:
        targets = np.where(inside, 1.0, -1.0)
        # A cost of 0 would be divided by.
        costs = np.maximum(self.settings.C * self.rows.weights[picked], LEAST_COST)
        limits = (int(self.settings.max_iter), float(self.settings.tol))
        arrays = (self.rows.features, picked, targets, costs)
        n_iter = train_machine(*arrays, limits, np.uint64(key), self._w)
        self._n_iter = max(self._n_iter, n_iter)
        found = self._w.copy()
        # Only the features of the drawn rows were touched: O(their entries), not O(d) a machine.
        clear_features(self.rows.features, picked, self._w)
        return found

    def _threshold(self, label: int, table: NDArray[np.float32], ends: Indices) -> float:
        scores = np.empty(self.rows.n_rows, np.float32)
        sum_confidences(self.rows.features, table, ends, scores)
        scores /= np.float32(len(ends) - 1)
        return best_f_threshold(scores, self.rows.relevant(label), self.rows.weights)


def best_f_threshold(
    scores: NDArray[np.float32], relevant: Indices, weights: NDArray[np.float64]
) -> float:
    """Return the threshold on scores in [0, 1] whose set of rows has the best F.

    It lies half-way between the last score taken and the first left out, which is 0 where all are
    taken. O(n log n).

    Examples
    --------
    >>> scores = np.float32([0.9, 0.2, 0.6, 0.4])
    >>> round(best_f_threshold(scores, np.array([0, 2]), np.ones(4)), 3)
    0.5
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order].astype(np.float64)
    own = np.zeros(len(scores))
    own[relevant] = weights[relevant]
    # F = 2 tp / (predicted + true) of every prefix of the ranked rows.
    values = 2 * np.cumsum(own[order]) / (np.cumsum(weights[order]) + own.sum())
    following = np.append(ranked[1:], 0.0)
    # A set ends between two scores that differ.
    values[(ranked <= following) & (np.arange(len(ranked)) < len(ranked) - 1)] = -1.0
    best = int(np.argmax(values))
    return float(ranked[best] + following[best]) / 2
