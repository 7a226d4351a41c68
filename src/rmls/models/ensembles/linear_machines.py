"""Linear machines of a few classes for every label, on rows drawn against its imbalance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels import cpu
from rmls.kernels.cpu.methods.binary_linear import clear_features, confide_dense, train_machine

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
    """Normalised rows and who is relevant for which label, as the machines need them."""

    def __init__(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float64]
    ) -> None:
        self.features = cpu.Csr(
            X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32)
        )
        self.n_features = int(X.shape[1])
        self.weights = weights
        self.n_rows = len(weights)
        self._even = bool((weights == weights[0]).all())
        self._least = float(weights.min())
        turned = sparse.csc_matrix(Y)
        turned.sort_indices()
        self._indptr, self._indices = turned.indptr, turned.indices.astype(np.int64)

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
            count = max(1, int(budget / self.weights[0] + 1e-9))
            return rows if count >= len(rows) else rng.choice(rows, count, replace=False)
        most = int(budget / self._least) + 1
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
            return [2 * self._against_rest(picked, own == 1, key)]
        scores = [self._against_rest(picked, own == number, key) for number in range(last + 1)]
        return [scores[last] - score for score in scores[:last]]

    def _against_rest(
        self, picked: Indices, inside: NDArray[np.bool_], key: int
    ) -> NDArray[np.float64]:
        targets = np.where(inside, 1.0, -1.0)
        costs = self.settings.C * self.rows.weights[picked]
        limits = (int(self.settings.max_iter), float(self.settings.tol))
        arrays = (self.rows.features, picked, targets, costs)
        n_iter = train_machine(*arrays, limits, np.uint64(key), self._w)
        self._n_iter = max(self._n_iter, n_iter)
        found = self._w.copy()
        clear_features(self.rows.features, picked, self._w)
        return found

    def _threshold(self, label: int, table: NDArray[np.float32], ends: Indices) -> float:
        scores = np.empty(self.rows.n_rows, np.float32)
        confide_dense(self.rows.features, table, ends, scores)
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
    values = 2 * np.cumsum(own[order]) / (np.cumsum(weights[order]) + own.sum())
    following = np.append(ranked[1:], 0.0)
    # A set ends between two scores that differ.
    values[(ranked <= following) & (np.arange(len(ranked)) < len(ranked) - 1)] = -1.0
    best = int(np.argmax(values))
    return float(ranked[best] + following[best]) / 2
