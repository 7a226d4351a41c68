"""Loops over dense blocks of scores: counting them, and turning them into probabilities."""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.functions import sigmoid
from rmls.kernels.jit import njit

# Without the promise that there are no nan and inf: scores of a damaged model may be either.
FAST = {"contract", "reassoc", "arcp", "nsz", "afn"}


@njit(cache=True, nogil=True, error_model="numpy")
def count_block(scores, y_indptr, y_indices, weights, low, step, total, positive):
    """Add every score of a block to the bins of its label, in ``total`` and in ``positive``.

    Bin b holds scores from ``low + b * step``; the first and the last take all beyond.
    """
    n_bins = total.shape[1]
    scale = 1.0 / step
    for row in range(scores.shape[0]):
        weight = weights[row]
        for label in range(scores.shape[1]):
            position = (scores[row, label] - low) * scale
            total[label, _bin(position, n_bins)] += weight
        for entry in range(y_indptr[row], y_indptr[row + 1]):
            label = y_indices[entry]
            position = (scores[row, label] - low) * scale
            positive[label, _bin(position, n_bins)] += weight


@njit(cache=True, inline="always")
def _bin(position, n_bins):
    # What is not a number goes to the first bin, too.
    if not position > 0:
        return 0
    if position >= n_bins:
        return n_bins - 1
    return int(position)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def to_probabilities(scores, labels, low, step, curves, curve_of, bias, slope, out):
    """Write the probability of every score to ``out``; ``labels[i]`` is the label of column i.

    A curve holds logits at ``low``, ``low + step``, …; between two of them it is straight, and
    beyond its ends it goes on with ``slope``.
    """
    scale, last = np.float32(1.0) / step, curves.shape[1] - 1
    for row in range(scores.shape[0]):
        for column in range(scores.shape[1]):
            label = labels[column]
            score = scores[row, column]
            out[row, column] = sigmoid(
                _read_curve(score, low, scale, last, curves, curve_of[label], slope) + bias[label]
            )


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def entries_to_probabilities(scores, labels, low, step, curves, curve_of, bias, slope, out):
    """Write the probability of every entry (score, label) to ``out``."""
    scale, last = np.float32(1.0) / step, curves.shape[1] - 1
    for entry in range(len(scores)):
        label = labels[entry]
        out[entry] = sigmoid(
            _read_curve(scores[entry], low, scale, last, curves, curve_of[label], slope)
            + bias[label]
        )


@njit(cache=True, nogil=True)
def order_rows(indptr, labels, values, out):
    """Write to ``out`` the entries of each row, best value first; the lower label among equals.

    O(entries log K) for K entries a row.
    """
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        costs = -values[start:stop]
        order = np.argsort(costs, kind="mergesort")
        # Only where two values are equal are the labels sorted as well.
        for place in range(1, stop - start):
            if costs[order[place]] == costs[order[place - 1]]:
                by_label = np.argsort(labels[start:stop], kind="mergesort")
                order = by_label[np.argsort(costs[by_label], kind="mergesort")]
                break
        for place in range(stop - start):
            out[start + place] = start + order[place]


@njit(cache=True, inline="always")
def _read_curve(score, low, scale, last, curves, curve, slope):
    position = (score - low) * scale
    # What is not a number stays none; as an index it would lead outside.
    if not position > 0:
        return curves[curve, 0] + (score - low) * slope
    if position >= last:
        return curves[curve, last] + (position - last) / scale * slope
    left = int(position)
    share = position - left
    return curves[curve, left] * (1 - share) + curves[curve, left + 1] * share
