"""Partial selection: the best k of every row of a score block."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _sift_down(scores, labels, parent, size):
    """Restore the heap below ``parent``, whose entry was replaced; the root is the worst entry.

    The worst entry has the lowest score and, among equals, the highest label.
    """
    score, label = scores[parent], labels[parent]
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            scores[other] < scores[child]
            or (scores[other] == scores[child] and labels[other] > labels[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and labels[child] < label):
            break
        scores[parent] = scores[child]
        labels[parent] = labels[child]
        parent = child
    scores[parent] = score
    labels[parent] = label


@njit(cache=True, nogil=True)
def best_of_rows(block, start, stop, out_labels, out_scores):
    """Write the best k labels of rows ``start`` to ``stop`` of ``block``, best first.

    k is the number of columns of ``out_labels`` and at most that of ``block``. Ties go to the
    lower label; what is not a number counts as the lowest score.
    """
    k = out_labels.shape[1]
    n_labels = block.shape[1]
    for row in range(start, stop):
        scores, labels = out_scores[row], out_labels[row]
        values = block[row]
        for label in range(k):
            scores[label] = -np.inf if np.isnan(values[label]) else values[label]
            labels[label] = label
        for parent in range(k // 2 - 1, -1, -1):
            _sift_down(scores, labels, parent, k)
        for label in range(k, n_labels):
            if values[label] > scores[0]:
                scores[0] = values[label]
                labels[0] = label
                _sift_down(scores, labels, 0, k)
        # Sort the heap in place: move the worst entry to the end, again and again.
        for size in range(k - 1, 0, -1):
            score, label = scores[0], labels[0]
            scores[0], labels[0] = scores[size], labels[size]
            _sift_down(scores, labels, 0, size)
            scores[size], labels[size] = score, label
