"""Rows of a sparse matrix as plain arrays, for who needs nothing of scipy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.sparse import over_arrays


@dataclass(frozen=True)
class PlainRows:
    """What a canonical CSR matrix of float32 is, without what it can do.

    Making a matrix of scipy takes as long as finding the words of a short text.

    Attributes
    ----------
    data, indices, indptr : ndarray
    n_columns : int

    Examples
    --------
    >>> rows = PlainRows(np.float32([1, 2]), np.int32([0, 1]), np.array([0, 1, 2]), 3)
    >>> rows.shape, rows.nnz, rows[1:].to_csr().toarray().tolist()
    ((2, 3), 2, [[0.0, 2.0, 0.0]])
    """

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.indptr) - 1, self.n_columns

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.data)

    def __getitem__(self, rows: slice) -> PlainRows:
        start, stop, _ = rows.indices(self.shape[0])
        indptr = self.indptr[start : max(start, stop) + 1]
        part = slice(indptr[0], indptr[-1])
        return PlainRows(self.data[part], self.indices[part], indptr - indptr[0], self.n_columns)

    def to_csr(self) -> sparse.csr_matrix:
        """Return the matrix, over the same arrays."""
        return over_arrays(self.data, self.indices, self.indptr, self.n_columns)


def as_csr(rows: Any) -> sparse.csr_matrix:
    """Return rows as a matrix of scipy, if they are none."""
    matrix: sparse.csr_matrix = rows.to_csr() if isinstance(rows, PlainRows) else rows
    return matrix
