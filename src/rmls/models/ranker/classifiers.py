"""A sparse linear classifier for every label, trained on the rows that propose it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels import cpu
from rmls.models.ranker.precision import PRECISIONS
from rmls.models.ranker.representation import Representation

PARTS_A_THREAD = 16


@dataclass(frozen=True)
class ResidualOptions:
    """How the classifiers are trained.

    Attributes
    ----------
    loss : {"squared_hinge", "logistic"}
    C : float
        Cost of a row, against the squared norm of the weights, of a label with one relevant row.
    cost_power : float
        The cost of a label with n relevant rows is ``C / n ** cost_power``.
    tolerance : float
        Violation of the optimality conditions at which a label is finished.
    max_epochs : int
    prune : float
        Weights smaller than this are dropped.
    offset : float
        Share of the representation's score that is given, so that the weights learn the rest.
    """

    loss: str
    C: float
    cost_power: float
    tolerance: float
    max_epochs: int
    prune: float
    offset: float


@dataclass
class ResidualTrainer:
    """The rows of every label and the dual variables of the solution so far.

    Attributes
    ----------
    X : CSR matrix
        Normalised training rows.
    pairs : cpu.Pairs
    weights : ndarray of float64, shape (n_rows,)
    offsets : ndarray of float32
        One number a pair, or empty.
    """

    X: sparse.csr_matrix
    pairs: cpu.Pairs
    weights: NDArray[np.float64]
    offsets: NDArray[np.float32]
    options: ResidualOptions
    n_threads: int

    def __post_init__(self) -> None:
        self.duals = np.zeros(len(self.pairs.rows), np.float32)
        self._solved = np.zeros(0, dtype=bool)

    @classmethod
    def of(
        cls,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        weights: NDArray[np.float64],
        listed: NDArray[np.int32],
        representation: Representation,
        options: ResidualOptions,
        n_threads: int,
    ) -> ResidualTrainer:
        """Lay out the rows of every label: those that have it, and those that list it."""
        y_indptr, y_indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
        pairs = cpu.pair_rows(y_indptr, y_indices, listed, Y.shape[1])
        offsets = np.zeros(0, np.float32)
        if options.offset:
            offsets = np.empty(len(pairs.rows), np.float32)
            hidden = representation.hidden(X, 0, X.shape[0])
            vectors = representation.labels
            cpu.products_at(pairs.indptr, pairs.rows, vectors, hidden, offsets, n_threads)
            offsets += np.repeat(representation.label_bias, np.diff(pairs.indptr))
            offsets *= np.float32(options.offset)
        return cls(X, pairs, weights, offsets, options, n_threads)

    def solve(self, rows: NDArray[np.bool_]) -> cpu.SparseWeights:
        """Train on the marked rows; a second call adds rows to the solution of the first."""
        n_labels = len(self.pairs.n_relevant)
        bias = np.zeros(n_labels, np.float32)
        problem = self._problem(rows)
        cuts = self._parts()

        def work(part: tuple[int, int]) -> tuple[Any, Any, Any]:
            labels = np.arange(*part, dtype=np.int64)
            solved: tuple[Any, Any, Any] = cpu.solve_labels(
                problem, self.pairs, self.duals, labels, self.X.shape[1], bias
            )
            return solved

        if self.n_threads == 1:
            parts = [work(part) for part in pairwise(cuts)]
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                parts = list(pool.map(work, pairwise(cuts)))
        lengths, indices, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        self._solved = rows.copy()
        return turn_weights(indptr, indices, values, bias, self.X.shape[1])

    def _problem(self, rows: NDArray[np.bool_]) -> cpu.Problem:
        X, options = self.X, self.options
        added = rows & ~self._solved if len(self._solved) else self._solved
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel()
        return cpu.Problem(
            X.indptr.astype(np.int64),
            X.indices.astype(index_type(X.shape[1])),
            X.data.astype(np.float32, copy=False),
            squares,
            np.where(rows, self.weights, 0.0).astype(np.float32),
            self._label_costs(rows),
            added,
            self.offsets,
            cpu.DUAL_LOSSES.index(options.loss),
            np.float32(options.tolerance),
            options.max_epochs,
            np.float32(options.prune),
        )

    def _label_costs(self, rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return what a row costs for every label, by the number of marked rows that have it."""
        n_relevant = self.pairs.n_relevant
        labels = np.repeat(np.arange(len(n_relevant)), n_relevant)
        skipped = self.pairs.indptr[:-1] - np.cumsum(n_relevant) + n_relevant
        relevant = self.pairs.rows[np.arange(len(labels)) + np.repeat(skipped, n_relevant)]
        counts = np.bincount(labels[rows[relevant]], minlength=len(n_relevant))
        costs = self.options.C / np.maximum(counts, 1.0) ** self.options.cost_power
        return np.asarray(costs, dtype=np.float32)

    def _parts(self) -> list[int]:
        """Cut the labels into parts of about equal work, a few for every thread."""
        work = self.pairs.indptr + np.arange(len(self.pairs.indptr))
        wanted = np.linspace(0, work[-1], PARTS_A_THREAD * self.n_threads + 1)
        cuts = np.unique(np.searchsorted(work, wanted))
        return [int(cut) for cut in np.unique([0, *cuts, len(self.pairs.n_relevant)])]


def index_type(n_columns: int) -> type:
    """Return the type of feature or label numbers: two bytes where they suffice."""
    return np.uint16 if n_columns <= 1 << 16 else np.uint32


def turn_weights(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[np.float32],
    bias: NDArray[np.float32],
    n_features: int,
) -> cpu.SparseWeights:
    """Return weights by feature from weights by label.

    Examples
    --------
    >>> parts = (np.array([0, 1, 3]), np.uint16([2, 0, 2]), np.float32([5, 6, 7]))
    >>> turned = turn_weights(*parts, np.zeros(2, np.float32), 3)
    >>> turned.indptr.tolist(), turned.indices.tolist(), turned.values.tolist()
    ([0, 1, 1, 3], [1, 0, 1], [6.0, 5.0, 7.0])
    """
    shape = (len(bias), n_features)
    by_label = sparse.csr_matrix((values, indices.astype(np.int32), indptr), shape)
    turned = by_label.tocsc()
    labels: NDArray[Any] = turned.indices.astype(index_type(len(bias)))
    scale = np.ones(len(bias), np.float32)
    return cpu.SparseWeights(turned.indptr.astype(np.int64), labels, turned.data, scale, bias)


def quantize(weights: cpu.SparseWeights, precision: str) -> cpu.SparseWeights:
    """Store the weights in fewer bytes: whole numbers times a scale for every label.

    Examples
    --------
    >>> one = np.zeros(1, np.float32)
    >>> values = np.float32([1.0, -0.5])
    >>> full = cpu.SparseWeights(np.array([0, 1, 2]), np.uint16([0, 0]), values, one + 1, one)
    >>> quantize(full, "int8").values.tolist()
    [127, -64]
    """
    if precision == "float32":
        return weights
    dtype = PRECISIONS[precision]
    largest = np.zeros(len(weights.bias), np.float32)
    np.maximum.at(largest, weights.indices, np.abs(weights.values))
    scale = np.where(largest > 0, largest / np.iinfo(dtype).max, 1.0).astype(np.float32)
    whole = np.rint(weights.values / scale[weights.indices]).astype(dtype)
    return weights._replace(values=whole, scale=scale)
