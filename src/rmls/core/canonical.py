"""Rows in an order that depends on their content alone.

Training on distinct rows in that order makes a fitted model independent of the order of the rows,
and makes an integer sample weight the same thing as repeating the row. Random draws from rows and
labels in that order do not depend on how either were ordered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.sparse import label_counts

BLOCK = 1 << 17


def distinct_rows(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return one row index per distinct (x, y) pair and the summed weights; weight 0 is dropped.

    Rows are compared by a 64-bit fingerprint of their stored entries: two different rows are taken
    for one with probability about ``n_samples**2 / 2**65``.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.array([[1, 0], [2, 0], [1, 0]], dtype=np.float32))
    >>> Y = sparse.csr_matrix(np.array([[1], [1], [1]], dtype=np.int32))
    >>> rows, weights = distinct_rows(X, Y, np.array([1.0, 0.0, 2.0]))
    >>> rows.tolist(), weights.tolist()
    ([0], [3.0])
    """
    prints = _mix(fingerprints(X) + np.uint64(0x9E3779B97F4A7C15)) ^ fingerprints(Y)
    used = np.flatnonzero(weights > 0)
    _, first, group = np.unique(prints[used], return_index=True, return_inverse=True)
    totals = np.zeros(len(first))
    np.add.at(totals, group, weights[used])
    return used[first].astype(np.int64), totals


def canonical_order(
    X: sparse.csr_matrix, Y: sparse.csr_matrix
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the labels in an order that forgets the one they were given in.

    Labels come by ascending count. Rows are told apart by their features, the counts of their
    labels and, two steps on, by the rows that have these labels too. What is still equal then is a
    copy, or (in made-up data) something that could be exchanged for the other.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.array([[1], [2], [3]], dtype=np.float32))
    >>> Y = sparse.csr_matrix(np.array([[1, 0], [1, 1], [1, 0]], dtype=np.int32))
    >>> rows, labels = canonical_order(X, Y)
    >>> again, swapped = canonical_order(X[[2, 0, 1]], Y[[2, 0, 1]][:, [1, 0]])
    >>> X[rows].toarray().tolist() == X[[2, 0, 1]][again].toarray().tolist()
    True
    >>> labels.tolist(), swapped.tolist()
    ([1, 0], [0, 1])
    """
    counts = label_counts(Y)
    by_row = Y.astype(np.uint64)
    row_keys, label_keys = _mix(fingerprints(X)), _mix(counts.astype(np.uint64) + np.uint64(1))
    for _ in range(2):
        row_keys = _mix(row_keys + by_row @ label_keys)
        label_keys = _mix(label_keys + by_row.T @ row_keys)
    rows = np.argsort(row_keys, kind="stable")
    return rows.astype(np.int64), np.lexsort((label_keys, counts)).astype(np.int64)


def fingerprints(matrix: sparse.csr_matrix) -> NDArray[np.uint64]:
    """Return a hash of every row: the wrapping sum of its mixed (column, value) entries."""
    n_rows = matrix.shape[0]
    result = np.zeros(n_rows, dtype=np.uint64)
    start = 0
    while start < n_rows:
        end = int(np.searchsorted(matrix.indptr, matrix.indptr[start] + BLOCK, side="right")) - 1
        stop = min(max(end, start + 1), n_rows)
        low, high = matrix.indptr[start], matrix.indptr[stop]
        values = matrix.data[low:high].astype(np.float32).view(np.uint32).astype(np.uint64)
        columns = matrix.indices[low:high].astype(np.uint64)
        sums = np.concatenate(
            [np.zeros(1, np.uint64), np.cumsum(_mix(_mix(columns + np.uint64(1)) ^ values))]
        )
        offsets = matrix.indptr[start : stop + 1] - low
        result[start:stop] = sums[offsets[1:]] - sums[offsets[:-1]]
        start = stop
    return result


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
