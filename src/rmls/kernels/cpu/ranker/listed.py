"""Lists of labels by row: scored, combined, ranked, and made into lists of rows by label."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.arrays import N_TERMS, Pairs
from rmls.kernels.cpu.linalg.select import best_of_rows
from rmls.kernels.cpu.ranker.dual import add_sparse
from rmls.kernels.cpu.ranker.names import make_room
from rmls.kernels.jit import njit


@njit(cache=True, inline="always")
def mix_scores(coefficients, knots, label, own, other):
    """Return the combined score of one label."""
    zero = np.float32(0.0)
    return (
        coefficients[label, 0]
        + coefficients[label, 1] * own
        + coefficients[label, 2] * max(own - knots[0], zero)
        + coefficients[label, 3] * max(own - knots[1], zero)
        + coefficients[label, 4] * other
        + coefficients[label, 5] * max(other - knots[2], zero)
    )


@njit(cache=True, nogil=True, fastmath=True)
def score_listed(x_indptr, x_indices, x_data, weights, listed, first_row, start, stop, sums, out):
    """Write ``w_j . x + b_j`` for the listed labels of rows ``start`` to ``stop``.

    The weights of a row's features are added up for all labels at once: they are few, while the
    labels that are listed tend to be those with the most weights. ``listed`` and ``out`` begin with
    row ``first_row`` of the features; ``sums`` is working memory of one number a label, zero
    before and after.
    """
    indptr, indices, values = weights.indptr, weights.indices, weights.values
    scale, bias = weights.scale, weights.bias
    for row in range(start, stop):
        visited = 0
        for position in range(x_indptr[row], x_indptr[row + 1]):
            feature, value = x_indices[position], np.float32(x_data[position])
            add_sparse(indices, values, indptr[feature], indptr[feature + 1], value, sums)
            visited += indptr[feature + 1] - indptr[feature]
        for place in range(listed.shape[1]):
            label = listed[row - first_row, place]
            out[row - first_row, place] = sums[label] * scale[label] + bias[label]
        # Clear what was touched, or all of it where that is less.
        if visited > len(sums):
            sums[:] = np.float32(0.0)
            continue
        for position in range(x_indptr[row], x_indptr[row + 1]):
            feature = x_indices[position]
            for place in range(np.uint64(indptr[feature]), np.uint64(indptr[feature + 1])):
                sums[indices[place]] = np.float32(0.0)


@njit(cache=True, nogil=True)
def mix_listed(listed, scores, mixture, out):
    """Write the combined score of every listed label; ``out`` may be ``scores.own``."""
    coefficients, knots = mixture.coefficients, mixture.knots
    n_more = scores.more.shape[2]
    for row in range(len(listed)):
        for place in range(listed.shape[1]):
            label = listed[row, place]
            score = mix_scores(
                coefficients, knots, label, scores.own[row, place], scores.other[row, place]
            )
            for column in range(n_more):
                score += coefficients[label, N_TERMS + column] * scores.more[row, place, column]
            out[row, place] = score


@njit(cache=True, nogil=True)
def rank_listed(listed, scores, labels_out, scores_out):
    """Write the best of the listed labels of every row, best first."""
    # The best places of the lists first, then the labels that stand there.
    best_of_rows(scores, 0, len(scores), labels_out, scores_out)
    for row in range(len(listed)):
        for place in range(labels_out.shape[1]):
            labels_out[row, place] = listed[row, labels_out[row, place]]


@njit(cache=True, nogil=True)
def _count(y_indptr, y_indices, listed, n_relevant, n_pairs):
    """Count the relevant rows and all rows of every label; a relevant label may not be listed."""
    # stamp[label] is the last row that has the label: nothing to clear between rows.
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
    # A counting sort: where the next relevant and the next other row of each label are written.
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


def pair_rows(y_indptr, y_indices, listed, n_labels, zeros=np.zeros):
    """Return for every label the rows that have it and the rows that list it.

    Parameters
    ----------
    y_indptr, y_indices : ndarray of int64 and int32
        Relevant labels of the rows, a CSR pattern.
    listed : ndarray of int32, shape (n_rows, k)
        Labels that look relevant; -1 stands for none.
    n_labels : int
    zeros : callable
        Makes the array of the rows.

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
    rows = zeros(int(indptr[-1]), np.int32)
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


class Scratch(threading.local):
    """Working memory of one thread, zero between calls: none is made for the next row."""

    def __init__(self) -> None:
        self._sums, self._places = np.zeros(0, np.float32), np.zeros(0, np.int64)
        self._numbers = np.zeros(0, np.int32)
        self._buckets = (np.zeros(0, np.uint8), np.zeros(0, np.int64))
        self._names: Any = None
        self._sizes = (0, 0)

    def sums(self, n_labels: int) -> NDArray[np.float32]:
        """Return a number for each of at least so many labels."""
        if len(self._sums) < n_labels:
            self._sums = np.zeros(n_labels, np.float32)
        return self._sums

    def places(self, n_labels: int) -> NDArray[np.int64]:
        """Return a place for each of at least so many labels."""
        if len(self._places) < n_labels:
            self._places = np.zeros(n_labels, np.int64)
        return self._places

    def numbers(self, n_labels: int) -> NDArray[np.int32]:
        """Return the numbers from 0 to below so many; they are only read."""
        if len(self._numbers) < n_labels:
            self._numbers = np.arange(n_labels, dtype=np.int32)
        return self._numbers[:n_labels]

    def buckets(self, n_labels: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return a bucket and a key for each of at least so many labels, and one key more."""
        if len(self._buckets[0]) < n_labels:
            self._buckets = np.empty(n_labels, np.uint8), np.empty(n_labels + 1, np.int64)
        return self._buckets

    def names(self, n_names: int, n_labels: int) -> Any:
        """Return the room of at least so many names and labels."""
        if n_names > self._sizes[0] or n_labels > self._sizes[1]:
            self._sizes = (max(n_names, self._sizes[0]), max(n_labels, self._sizes[1]))
            self._names = make_room(*self._sizes)
        return self._names


SCRATCH = Scratch()
