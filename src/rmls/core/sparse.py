"""Canonical sparse matrices: what every layer above may rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError

INT32_MAX = int(np.iinfo(np.int32).max)


def as_feature_csr(X: Any) -> sparse.csr_matrix:
    """Return ``X`` as CSR float32 with sorted, distinct int32 indices and no stored zeros.

    The input is never modified; it is returned as it is when it is canonical already.
    """
    matrix = X
    if not isinstance(X, sparse.csr_matrix) or X.dtype != np.float32:
        matrix = sparse.csr_matrix(X, dtype=np.float32)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return _narrow_indices(matrix)


def as_label_csr(Y: Any, name: str = "Y") -> sparse.csr_matrix:
    """Return a 0/1 label matrix as CSR of int32 ones with sorted, distinct indices.

    Examples
    --------
    >>> as_label_csr([[0, 1], [1, 1]]).indices.tolist()
    [1, 0, 1]
    >>> as_label_csr([[0, 2]])
    Traceback (most recent call last):
    rmls.core.errors.InputError: Y must hold only 0 and 1; found 2.
    """
    if not sparse.issparse(Y):
        Y = np.asarray(Y)
        if Y.dtype.kind not in "biuf":
            raise InputError(f"{name} must hold only 0 and 1; got values of type {Y.dtype}.")
        if Y.ndim != 2:
            raise InputError(f"{name} must be 2-d (rows × labels); got {Y.ndim} dimension(s).")
    matrix = sparse.csr_matrix(Y)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    wrong = (matrix.data != 0) & (matrix.data != 1)
    if wrong.any():
        raise InputError(f"{name} must hold only 0 and 1; found {matrix.data[wrong][0]}.")
    matrix = matrix.astype(np.int32)
    if matrix.nnz and not matrix.data.all():
        matrix.eliminate_zeros()
    return _narrow_indices(matrix)


def label_counts(Y: sparse.csr_matrix) -> NDArray[np.int64]:
    """Count the positive rows of every label."""
    return np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)


def _narrow_indices(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    if matrix.shape[1] > INT32_MAX:
        raise InputError(f"at most {INT32_MAX} columns are supported; got {matrix.shape[1]}.")
    if matrix.indices.dtype != np.int32:
        # Assigning keeps scipy from widening the pair back to a common type.
        matrix = sparse.csr_matrix(matrix)
        matrix.indices = matrix.indices.astype(np.int32)
    return matrix
