"""Expected F and Jaccard value of the best k labels, exact for independent labels.

With ``1 / (k + n) = ∫ t^(k + n - 1) dt`` over [0, 1] the expectation over the number n of further
relevant labels becomes a product over labels, so that a quadrature with q nodes costs q visits of
every entry instead of a sum over all truths. The integrand rises within 1 / (k + n) of t = 1, where
nodes lie 1 / q^2 apart: a row with more likely labels takes more nodes (`Nodes`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.jit import njit


class Nodes(NamedTuple):
    """Nodes and weights of several rules, one behind the other, and which one each row takes.

    Rule r has the nodes ``starts[r]`` to ``starts[r + 1]``; ``rules`` has a number for every row.
    """

    places: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    rules: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def best_sizes_f(indptr, scores, rest, nodes, sizes):
    """Write to ``sizes`` how many of the best labels of every row have the best expected F.

    ``E F_k = 2 ∫ t^k ∏_j (1 - p_j + p_j t) Σ_(i<=k) p_i / (1 - p_i + p_i t) dt``; labels that are
    not listed, of summed probability ``rest``, are many and improbable: ``∏ = exp(-rest (1 - t))``.
    """
    places, weights, starts, rules = nodes
    longest = np.int64(0)
    for row in range(len(sizes)):
        longest = max(longest, indptr[row + 1] - indptr[row])
    values = np.empty(longest)
    for row in range(len(sizes)):
        start, count = indptr[row], indptr[row + 1] - indptr[row]
        values[:count] = 0.0
        rule = rules[row]
        for node in range(starts[rule], starts[rule + 1]):
            t = places[node]
            # What all k share: ∏_j (1 - p_j + p_j t), those not listed included.
            product = np.exp(-rest[row] * (1 - t)) * weights[node]
            for entry in range(start, start + count):
                product *= 1 - scores[entry] * (1 - t)
            # From k to k + 1: one more power of t, one more term of the sum.
            power, inside = product, 0.0
            for position in range(count):
                p = scores[start + position]
                power *= t
                inside += p / (1 - p * (1 - t))
                values[position] += power * inside
        sizes[row] = _first_best(values, count)


@njit(cache=True, nogil=True, error_model="numpy")
def best_sizes_jaccard(indptr, scores, rest, nodes, sizes):
    """Write to ``sizes`` how many of the best labels have the best expected Jaccard value.

    ``E J_k = S_k ∫ t^(k - 1) ∏_(j>k) (1 - p_j + p_j t) dt`` with the sum S_k of the first k.
    """
    places, weights, starts, rules = nodes
    longest = np.int64(0)
    for row in range(len(sizes)):
        longest = max(longest, indptr[row + 1] - indptr[row])
    values, powers = np.empty(longest), np.empty(longest)
    for row in range(len(sizes)):
        start, count = indptr[row], indptr[row + 1] - indptr[row]
        values[:count] = 0.0
        rule = rules[row]
        for node in range(starts[rule], starts[rule + 1]):
            t = places[node]
            power = 1.0
            for position in range(count):
                powers[position] = power
                power *= t
            # From the last label to the first: the product holds those behind it.
            product = np.exp(-rest[row] * (1 - t)) * weights[node]
            for position in range(count - 1, -1, -1):
                values[position] += powers[position] * product
                product *= 1 - scores[start + position] * (1 - t)
        inside = 0.0
        for position in range(count):
            inside += scores[start + position]
            values[position] *= inside
        sizes[row] = _first_best(values, count)


@njit(cache=True, inline="always")
def _first_best(values, count):
    """Return the number of labels at the first best value, 0 where nothing promises anything."""
    best, size = 0.0, 0
    for position in range(count):
        if values[position] > best:
            best, size = values[position], position + 1
    return size
