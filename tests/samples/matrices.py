"""The same numbers in every form that a table may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse


def wide(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Give a matrix indices of 64 bits."""
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def backwards(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the same entries, those of every row from right to left."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((-matrix.indices, rows))
    parts = (matrix.data[order], matrix.indices[order], matrix.indptr)
    return sparse.csr_matrix(parts, shape=matrix.shape)


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda table: table,
    "lists": lambda table: table.tolist(),
    "csr matrix": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "coo array": sparse.coo_array,
    "lil": sparse.lil_matrix,
    "int64 indices": lambda table: wide(sparse.csr_matrix(table)),
    "backwards": lambda table: backwards(sparse.csr_matrix(table)),
}
