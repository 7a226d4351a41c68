"""Scores of listed labels from sparse weights, and their combination with other scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from rmls.kernels.cpu.linalg.select import best_of_rows
from rmls.kernels.cpu.ranker.dual import add_sparse


class SparseWeights(NamedTuple):
    """Weights by feature as CSR, ``indices`` the labels, unsigned.

    A stored number times ``scale[label]`` is the weight.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


class Mixture(NamedTuple):
    """A score that is piecewise linear in two others, with coefficients for every label.

    ``coefficients[j]`` = (constant, own, own above knots[0], own above knots[1], other, other above
    knots[2]).
    """

    coefficients: np.ndarray
    knots: np.ndarray


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
        if visited > len(sums):
            sums[:] = np.float32(0.0)
            continue
        for position in range(x_indptr[row], x_indptr[row + 1]):
            feature = x_indices[position]
            for place in range(np.uint64(indptr[feature]), np.uint64(indptr[feature + 1])):
                sums[indices[place]] = np.float32(0.0)


@njit(cache=True, nogil=True)
def mix_listed(listed, own, other, mixture, out):
    """Write the combined score of every listed label; ``out`` may be ``own``."""
    coefficients, knots = mixture.coefficients, mixture.knots
    for row in range(len(listed)):
        for place in range(listed.shape[1]):
            out[row, place] = mix_scores(
                coefficients, knots, listed[row, place], own[row, place], other[row, place]
            )


@njit(cache=True, nogil=True)
def rank_listed(listed, scores, labels_out, scores_out):
    """Write the best of the listed labels of every row, best first."""
    best_of_rows(scores, 0, len(scores), labels_out, scores_out)
    for row in range(len(listed)):
        for place in range(labels_out.shape[1]):
            labels_out[row, place] = listed[row, labels_out[row, place]]
