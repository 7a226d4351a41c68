"""Resampled rows and labels in the containers that the user gave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Indices = NDArray[np.int64]


def like_features(X: Any, rows: Indices, synthetic: sparse.csr_matrix | None) -> Any:
    """Return rows of ``X`` in its container, the last of them replaced by synthetic ones.

    Parameters
    ----------
    X : array-like, frame or sparse matrix
        Copies keep its type; synthetic rows between whole numbers make it a float.
    rows : ndarray of int64
        Rows of ``X``.
    synthetic : CSR matrix or None
        What stands for the last rows.

    Examples
    --------
    >>> made = sparse.csr_matrix([[0.0, 1.5]])
    >>> like_features(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0, 1, 1]), made)
    array([[1. , 2. ],
           [0. , 1. ],
           [0. , 1.5]])
    """
    if synthetic is not None:
        rows = rows[: len(rows) - synthetic.shape[0]]
    if sparse.issparse(X):
        return _like_sparse(X, rows, synthetic)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return _like_frame(X, rows, synthetic)
    chosen = np.asarray(X)[rows]
    return chosen if synthetic is None else np.concatenate([chosen, synthetic.toarray()])


def _like_sparse(X: Any, rows: Indices, synthetic: sparse.csr_matrix | None) -> Any:
    chosen = X.tocsr()[rows]
    if synthetic is not None:
        chosen = sparse.vstack([chosen, synthetic], format="csr")
    return chosen.asformat(X.format)


def _like_frame(X: Any, rows: Indices, synthetic: sparse.csr_matrix | None) -> Any:
    chosen = X.iloc[rows].reset_index(drop=True)
    if synthetic is None:
        return chosen
    from pandas import DataFrame, concat

    made = DataFrame(synthetic.toarray(), columns=X.columns)
    return concat([chosen, made], ignore_index=True)


def like_labels(Y: Any, restored: Any) -> Any:
    """Return label sets in the sparse format and type of ``Y``; other containers as they are.

    Examples
    --------
    >>> Y = sparse.csc_array(np.eye(2, dtype=bool))
    >>> found = like_labels(Y, sparse.csr_matrix([[1, 0]]))
    >>> type(found).__name__, found.dtype.name, found.toarray().tolist()
    ('csc_array', 'bool', [[True, False]])
    """
    given: Any = Y
    if not sparse.issparse(Y):
        return restored
    result = restored.astype(given.dtype)
    if isinstance(given, sparse.sparray):
        result = sparse.csr_array(result)
    return result.asformat(given.format)
