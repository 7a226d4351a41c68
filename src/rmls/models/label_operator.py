"""±1 labels as a sparse matrix plus rank one, and the leading vectors of what acts on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from rmls.core.errors import InputError

DENSE_SIDE = 1024

Floats = NDArray[np.float64]
Action = Callable[[Floats], Floats]


@dataclass(frozen=True)
class SignedLabels:
    """The matrix ``D (2 Y - 1 o')``: ±1 labels, rows scaled by D, columns shifted by o.

    With ``o = 1`` these are plain ±1 labels, with ``o = 1 + mean`` centred ones. The dense matrix
    is never formed.

    Examples
    --------
    >>> Y = sparse.csr_matrix(np.array([[1, 0], [1, 1]]))
    >>> signed = SignedLabels.of(Y, np.ones(2))
    >>> signed.times(np.eye(2)).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    >>> signed.centred().transposed_times(np.ones((2, 1))).ravel().tolist()
    [0.0, 0.0]
    """

    Y: sparse.csr_matrix
    Y_t: sparse.csr_matrix
    scale: Floats
    offset: Floats

    @classmethod
    def of(cls, Y: sparse.csr_matrix, weights: Floats) -> SignedLabels:
        """Return plain ±1 labels whose rows carry the square root of their weight."""
        Y = Y.astype(np.float64)
        return cls(Y, sparse.csr_matrix(Y.T), np.sqrt(weights), np.ones(int(Y.shape[1])))

    @property
    def mean(self) -> Floats:
        """Weighted mean of the ±1 columns before any shift."""
        weights = self.scale**2
        return np.asarray(2 * (self.Y_t @ weights) / weights.sum() - 1)

    def centred(self) -> SignedLabels:
        """Return the labels with their weighted mean taken off."""
        return SignedLabels(self.Y, self.Y_t, self.scale, 1 + self.mean)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and labels."""
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    def times(self, V: Floats) -> Floats:
        """Return the matrix times a block of label vectors."""
        return self.scale[:, None] * (2 * (self.Y @ V) - self.offset @ V)

    def transposed_times(self, U: Floats) -> Floats:
        """Return the transposed matrix times a block of row vectors."""
        scaled = self.scale[:, None] * U
        return np.asarray(2 * (self.Y_t @ scaled) - np.outer(self.offset, scaled.sum(axis=0)))

    def columns(self, labels: NDArray[np.int64]) -> Floats:
        """Return some columns, dense."""
        dense = 2 * self.Y[:, labels].toarray() - self.offset[labels]
        return np.asarray(self.scale[:, None] * dense)


def leading_vectors(action: Action, size: int, k: int, seed: int) -> Floats:
    """Return the ``k`` leading eigenvectors of a symmetric positive operator, largest first.

    Parameters
    ----------
    action : callable
        Maps a (size, j) block to the operator times it.
    size : int
    k : int
        At most ``size``; one less where the operator is too large to be written out.
    seed : int
        Seed of the start vector.

    Notes
    -----
    Up to 1,024 rows the operator is written out and decomposed; above, Lanczos iterations touch it
    through ``action`` alone.
    """
    if k > size:
        raise InputError(f"at most {size} components exist here; got n_components={k}.")
    if size <= DENSE_SIDE:
        dense = action(np.eye(size))
        _, vectors = linalg.eigh((dense + dense.T) / 2, subset_by_index=[size - k, size - 1])
        return np.ascontiguousarray(vectors[:, ::-1])
    start = np.random.default_rng(seed).standard_normal(size)
    operator = LinearOperator(
        (size, size), matvec=lambda v: action(v.reshape(-1, 1)).ravel(), dtype=np.float64
    )
    values, vectors = eigsh(operator, k=min(k, size - 1), which="LA", v0=start)
    return np.ascontiguousarray(vectors[:, np.argsort(-values)])
