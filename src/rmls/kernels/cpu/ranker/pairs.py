"""From lists of labels by row to lists of rows by label."""

from __future__ import annotations

import numpy as np
from numba import njit

from rmls.kernels.cpu.ranker.dual import Pairs


@njit(cache=True, nogil=True)
def _count(y_indptr, y_indices, listed, n_relevant, n_pairs):
    """Count the relevant rows and all rows of every label; a relevant label may not be listed."""
    stamp = np.full(len(n_pairs), -1, np.int64)
    for row in range(len(listed)):
        for position in range(y_indptr[row], y_indptr[row + 1]):
            label = y_indices[position]
            stamp[label] = row
            n_relevant[label] += 1
            n_pairs[label] += 1
        for label in listed[row]:
            if label >= 0 and stamp[label] != row:
                n_pairs[label] += 1


@njit(cache=True, nogil=True)
def _fill(y_indptr, y_indices, listed, indptr, n_relevant, rows):
    """Write the rows of every label, relevant ones first."""
    m = len(n_relevant)
    stamp = np.full(m, -1, np.int64)
    relevant = indptr[:m].copy()
    irrelevant = indptr[:m] + n_relevant
    for row in range(len(listed)):
        for position in range(y_indptr[row], y_indptr[row + 1]):
            label = y_indices[position]
            stamp[label] = row
            rows[relevant[label]] = row
            relevant[label] += 1
        for label in listed[row]:
            if label >= 0 and stamp[label] != row:
                rows[irrelevant[label]] = row
                irrelevant[label] += 1


def pair_rows(y_indptr, y_indices, listed, n_labels):
    """Return for every label the rows that have it and the rows that list it.

    Parameters
    ----------
    y_indptr, y_indices : ndarray of int64 and int32
        Relevant labels of the rows, a CSR pattern.
    listed : ndarray of int32, shape (n_rows, k)
        Labels that look relevant; -1 stands for none.
    n_labels : int

    Returns
    -------
    Pairs

    Examples
    --------
    >>> listed = np.int32([[0, 1], [1, 2]])
    >>> pairs = pair_rows(np.int64([0, 1, 2]), np.int32([0, 2]), listed, 3)
    >>> pairs.rows.tolist(), pairs.indptr.tolist(), pairs.n_relevant.tolist()
    ([0, 0, 1, 1], [0, 1, 3, 4], [1, 0, 1])
    """
    n_relevant, n_pairs = np.zeros((2, n_labels), np.int64)
    _count(y_indptr, y_indices, listed, n_relevant, n_pairs)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_pairs)])
    rows = np.empty(int(indptr[-1]), np.int32)
    _fill(y_indptr, y_indices, listed, indptr, n_relevant, rows)
    return Pairs(indptr, rows, n_relevant)


@njit(cache=True, nogil=True)
def mark_relevant(y_indptr, y_indices, listed, n_labels, out):
    """Write which of the listed labels are relevant."""
    stamp = np.full(n_labels, -1, np.int64)
    for row in range(len(listed)):
        for position in range(y_indptr[row], y_indptr[row + 1]):
            stamp[y_indices[position]] = row
        for place in range(listed.shape[1]):
            out[row, place] = stamp[listed[row, place]] == row
