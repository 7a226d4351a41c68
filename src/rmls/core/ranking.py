"""`Ranking`: the one type in which scores travel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError


@dataclass(frozen=True)
class Ranking:
    """The best labels of every row, best first, with their scores.

    Row ``i`` owns the slice ``indptr[i]:indptr[i + 1]`` of `labels` and `scores`, as in a CSR
    matrix; within a row scores never increase. Rows may differ in length.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_samples + 1,)
    labels : ndarray of int32, shape (nnz,)
    scores : ndarray of float32, shape (nnz,)
    n_labels : int
    rest : ndarray of float32, shape (n_samples,), or None
        Sum of the scores of the labels that are not listed, where scores are probabilities:
        with it the expected number of labels of a row is known.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], k=2)
    >>> ranking.labels.tolist()
    [1, 2, 0, 1]
    >>> ranking.top(1).to_sets().toarray().tolist()
    [[0, 1, 0], [1, 0, 0]]
    """

    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    scores: NDArray[np.float32]
    n_labels: int
    rest: NDArray[np.float32] | None = None

    @classmethod
    def from_table(
        cls, labels: NDArray[np.int32], scores: NDArray[np.float32], n_labels: int
    ) -> Ranking:
        """Wrap two (n_samples, k) tables that are already sorted best first."""
        n_samples, k = labels.shape
        indptr = np.arange(0, n_samples * k + 1, max(k, 1), dtype=np.int64)
        # The step of arange cannot be 0.
        if k == 0:
            indptr = np.zeros(n_samples + 1, dtype=np.int64)
        return cls(indptr, labels.ravel(), scores.ravel(), n_labels)

    @classmethod
    def from_dense(cls, scores: ArrayLike, k: int | None = None) -> Ranking:
        """Sort a dense (n_samples, n_labels) score array; ties go to the lower label index."""
        dense = np.asarray(scores, dtype=np.float32)
        if dense.ndim != 2:
            raise InputError(f"scores must be 2-d (rows × labels); got {dense.ndim} dimension(s).")
        k = dense.shape[1] if k is None else min(k, dense.shape[1])
        # Stable: equal scores stay in the order of their labels.
        order = np.argsort(-dense, axis=1, kind="stable")[:, :k].astype(np.int32)
        return cls.from_table(order, np.take_along_axis(dense, order, axis=1), dense.shape[1])

    @classmethod
    def from_csr(cls, scores: Any) -> Ranking:
        """Sort the stored entries of a sparse score matrix from any library."""
        matrix = sparse.csr_matrix(scores).astype(np.float32)
        matrix.sort_indices()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        # The last key counts first: by row, then by falling score, then by label.
        order = np.lexsort((matrix.indices, -matrix.data, rows))
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices[order].astype(np.int32),
            matrix.data[order],
            int(matrix.shape[1]),
        )

    @classmethod
    def stack(cls, pieces: Sequence[Ranking]) -> Ranking:
        """Put the rows of several rankings of the same labels below one another."""
        lengths = np.concatenate([[0], *(piece.lengths for piece in pieces)])
        return cls(
            np.cumsum(lengths).astype(np.int64),
            np.concatenate([piece.labels for piece in pieces]),
            np.concatenate([piece.scores for piece in pieces]),
            pieces[0].n_labels,
            None if pieces[0].rest is None else np.concatenate([p.rest for p in pieces]),
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of ranked labels of each row."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row index of every entry."""
        return np.repeat(np.arange(self.n_samples, dtype=np.int64), self.lengths)

    @property
    def positions(self) -> NDArray[np.int64]:
        """Zero-based rank of every entry within its row."""
        return np.arange(len(self.labels), dtype=np.int64) - np.repeat(
            self.indptr[:-1], self.lengths
        )

    def top(self, k: int) -> Ranking:
        """Keep at most the best ``k`` labels of every row."""
        return self.where(self.positions < k)

    def where(self, keep: NDArray[np.bool_]) -> Ranking:
        """Keep the entries marked in the boolean array ``keep``."""
        # kept[e] entries survive before entry e, so that kept[indptr] are the new bounds.
        kept = np.concatenate([[0], np.cumsum(keep)])
        rest = self.rest
        if rest is not None:
            # The probability of what is dropped goes to the rest: the expected size stays.
            dropped = np.bincount(self.rows, np.where(keep, 0, self.scores), self.n_samples)
            rest = (rest + dropped).astype(np.float32)
        return Ranking(
            kept[self.indptr].astype(np.int64),
            self.labels[keep],
            self.scores[keep],
            self.n_labels,
            rest,
        )

    def to_csr(self) -> sparse.csr_matrix:
        """Return the scores as a CSR matrix with sorted indices."""
        # Sorting works in place: without copies it would undo the ranking.
        matrix = sparse.csr_matrix(
            (self.scores.copy(), self.labels.copy(), self.indptr),
            shape=(self.n_samples, self.n_labels),
        )
        matrix.sort_indices()
        return matrix

    def to_sets(self) -> sparse.csr_matrix:
        """Return the ranked labels as a 0/1 CSR matrix, forgetting the scores."""
        sets = sparse.csr_matrix(
            (np.ones(len(self.labels), dtype=np.int32), self.labels.copy(), self.indptr),
            shape=(self.n_samples, self.n_labels),
        )
        sets.sort_indices()
        return sets

    def __len__(self) -> int:
        return self.n_samples
