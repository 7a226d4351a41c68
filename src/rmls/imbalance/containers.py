"""Resampled rows and labels in the containers that the user gave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.tables import columns_of, library_of, make_table

Indices = NDArray[np.int64]


def like_features(X: Any, rows: Indices, synthetic: sparse.csr_matrix | None) -> Any:
    """Return rows of ``X`` in its container, the last of them replaced by synthetic ones.

    Parameters
    ----------
    X : array-like, table or sparse matrix
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
    n_copied = len(rows) - (0 if synthetic is None else synthetic.shape[0])
    if sparse.issparse(X):
        return _like_sparse(X, rows[:n_copied], synthetic)
    if hasattr(X, "columns"):
        return _like_table(X, rows, n_copied, synthetic)
    chosen = np.asarray(X)[rows[:n_copied]]
    return chosen if synthetic is None else np.concatenate([chosen, synthetic.toarray()])


def _like_sparse(X: Any, rows: Indices, synthetic: sparse.csr_matrix | None) -> Any:
    chosen = X.tocsr()[rows]
    if synthetic is not None:
        chosen = sparse.vstack([chosen, synthetic], format="csr")
    return chosen.asformat(X.format)


def _like_table(X: Any, rows: Indices, n_copied: int, synthetic: sparse.csr_matrix | None) -> Any:
    """Return rows of a table; in pandas all keep the index of the row that they come from."""
    library, columns = library_of(X), columns_of(X)
    copied = rows[:n_copied]
    if library == "pandas":
        chosen = X.iloc[copied]
    else:
        chosen = X[copied] if library == "polars" else X.take(copied)
    if synthetic is None:
        return chosen
    made = make_table(
        synthetic.toarray(),
        columns,
        library,
        X.iloc[rows[n_copied:]] if library == "pandas" else None,
    )
    if library == "pandas":
        from pandas import concat

        return concat([chosen, made])
    if library == "polars":
        from polars import concat as stack

        return stack([chosen, made], how="vertical_relaxed")
    from pyarrow import concat_tables

    return concat_tables([chosen, made], promote_options="permissive")


def like_labels(Y: Any, restored: Any, rows: Indices) -> Any:
    """Return label sets in the sparse format and type of ``Y``, or with the index of its rows.

    Examples
    --------
    >>> Y = sparse.csc_array(np.eye(2, dtype=bool))
    >>> found = like_labels(Y, sparse.csr_matrix([[1, 0]]), np.array([0]))
    >>> type(found).__name__, found.dtype.name, found.toarray().tolist()
    ('csc_array', 'bool', [[True, False]])
    """
    given: Any = Y
    if sparse.issparse(Y):
        result = restored.astype(given.dtype)
        if isinstance(given, sparse.sparray):
            result = sparse.csr_array(result)
        return result.asformat(given.format)
    if hasattr(given, "iloc") and hasattr(given, "index"):
        if hasattr(restored, "columns"):
            return restored.set_axis(given.index[rows], axis=0)
        return type(given)(restored, index=given.index[rows], name=given.name)
    return restored
