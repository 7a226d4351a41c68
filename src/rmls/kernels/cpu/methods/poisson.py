"""The loops of BMLPL: expected counts of positive labels, gamma shapes, scores.

Model: ``y_j = 1[m_j >= 1]``, ``m_j ~ Poisson(v_j · u)``, and u_q is gamma of shape r_q and scale
``exp(w_q · x)``. The shares of a topic sum to 1 over the labels, so that the rates of a row sum to
``Σ_q u_q`` whatever its labels are: only positive labels are visited. A count is split among the
topics, and given the counts the rest separates: u is gamma again, its shape has a concave
likelihood, and the regression on x is negative-binomial, quadratic once a Polya-Gamma variable is
taken at its mean.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.core.resources import run_parts
from rmls.kernels.cpu.methods.gamma import gamma_terms, polya_gamma_mean, softplus
from rmls.kernels.jit import njit

# Counts below this share of a shape change no figure of a gamma variable that float32 can hold.
NEGLIGIBLE = 1e-7
SMALL = np.float32(2e-3)


class Positives(NamedTuple):
    """The relevant labels of all rows, as CSR, and the weights of the rows."""

    indptr: NDArray[np.int32]
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]


class SparseTopics(NamedTuple):
    """Topic q gives label ``labels[p]`` the share ``values[p]``, other labels ``floor[q]``.

    The entries of topic q lie at ``indptr[q]:indptr[q + 1]``, largest first.
    """

    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    values: NDArray[np.float32]
    floor: NDArray[np.float32]


@njit(cache=True, nogil=True)
def row_log_means(shapes, terms, activation, counts, logs):
    """Write the mean of ``log u`` of one row to ``logs``; return its part of the bound.

    ``u_q`` has the posterior Gamma(shape + count, scale sigmoid(activation)). The part is
    ``-count digamma(a) + log gamma(a) - log gamma(shape) - shape log(1 + exp(activation))``
    with ``a = shape + count``, summed over q.
    """
    bound = 0.0
    for q in range(len(shapes)):
        count, shape = counts[q], shapes[q]
        digamma = terms[1, q]
        # log sigmoid(a) = a - log(1 + exp(a)).
        rest = softplus(activation[q])
        bound -= shape * rest
        if count > NEGLIGIBLE * shape:
            log_gamma, digamma, _ = gamma_terms(shape + count)
            bound += log_gamma - terms[0, q] - count * digamma
        logs[q] = digamma + activation[q] - rest
    return bound


@njit(cache=True, nogil=True)
def allocate_counts(positives, shapes, activation, counts, topics, statistics):
    """Give every positive label its expected count and split it among the topics.

    ``counts`` (rows × topics) is read for the posterior of u and then overwritten with the new
    expected counts; ``statistics`` (labels × topics) gets their weighted sums. Returns the bound
    on the log-likelihood of the rows at the new counts, without the priors.

    Work: (positive labels + rows) × topics.
    """
    indptr, labels, weights = positives
    n_topics = len(shapes)
    terms = table_of_gamma_terms(shapes)
    means = np.empty(n_topics)
    statistics[:] = 0.0
    highest = 0.0
    total = 0.0
    for row in range(len(weights)):
        bound = row_log_means(shapes, terms, activation[row], counts[row], means)
        counts[row] = np.float32(0.0)
        if indptr[row] < indptr[row + 1]:
            # Relative to the largest, because the mean of log u can be far below any exponent.
            highest = means.max()
            for q in range(n_topics):
                means[q] = math.exp(means[q] - highest)
        for position in range(indptr[row], indptr[row + 1]):
            label = labels[position]
            share = 0.0
            for q in range(n_topics):
                share += topics[label, q] * means[q]
            # P(m >= 1) is all that a positive label says; its count is the mean of what is left.
            mean, log_part = truncated_poisson(math.log(share) + highest)
            bound += log_part
            # A Poisson count falls to the topics in the proportion of their rates.
            factor = mean / share
            for q in range(n_topics):
                part = factor * topics[label, q] * means[q]
                counts[row, q] += part
                statistics[label, q] += weights[row] * part
        total += weights[row] * bound
    return total


@njit(cache=True)
def truncated_poisson(log_rate):
    """Return the mean of a Poisson variable given that it is at least 1, and ``log expm1(rate)``.

    Examples
    --------
    >>> round(truncated_poisson(-50.0)[0], 6)
    1.0
    """
    rate = math.exp(log_rate)
    if rate < 1e-8:
        return 1.0, log_rate
    # E[m | m >= 1] = rate / (1 - exp(-rate)); expm1(rate) = exp(rate) (1 - exp(-rate)).
    positive = -math.expm1(-rate)
    return rate / positive, rate + math.log(positive)


@njit(cache=True)
def table_of_gamma_terms(values):
    """Return `gamma_terms` of every value, of shape (3, n)."""
    table = np.empty((3, len(values)))
    for q in range(len(values)):
        table[0, q], table[1, q], table[2, q] = gamma_terms(values[q])
    return table


@njit(cache=True, nogil=True)
def shape_curve(weights, shapes, counts):
    """Return value and two derivatives of ``sum_i w_i log(gamma(r + m_i) / gamma(r))`` per topic.

    The result has shape (3, n_topics).
    """
    terms = table_of_gamma_terms(shapes)
    curve = np.zeros((3, len(shapes)))
    for row in range(len(weights)):
        weight = weights[row]
        for q in range(len(shapes)):
            count, shape = counts[row, q], shapes[q]
            if count > NEGLIGIBLE * shape:
                log_gamma, digamma, trigamma = gamma_terms(shape + count)
                curve[0, q] += weight * (log_gamma - terms[0, q])
                curve[1, q] += weight * (digamma - terms[1, q])
                curve[2, q] += weight * (trigamma - terms[2, q])
            elif count > 0:
                # log Γ(r + m) - log Γ(r) = m digamma(r) + O(m²), and so on for the derivatives.
                curve[0, q] += weight * count * terms[1, q]
                curve[1, q] += weight * count * terms[2, q]
    return curve


@njit(cache=True, nogil=True)
def regression_targets(weights, shapes, activation, counts, curvatures, slopes):
    """Write the quadratic bound on the negative-binomial log-likelihood of every count.

    ``curvatures`` gets the expected Polya-Gamma variables PG(count + shape, activation),
    ``slopes`` the derivatives at the activation, both times the weight of the row.
    """
    for row in range(len(weights)):
        weight = weights[row]
        for q in range(len(shapes)):
            # exp(ψ)^m / (1 + exp(ψ))^(m + r) is the mean of exp((m - r) ψ / 2 - ω ψ² / 2) over
            # ω ~ PG(m + r, 0), but for a constant; given ψ, ω is PG(m + r, ψ).
            psi, count, shape = np.float64(activation[row, q]), counts[row, q], shapes[q]
            omega = weight * polya_gamma_mean(count + shape, psi)
            curvatures[row, q] = omega
            slopes[row, q] = weight * 0.5 * (count - shape) - omega * psi


@njit(cache=True, nogil=True)
def softplus_sums(weights, activation):
    """Return the weighted sums of ``log(1 + exp(activation))`` over the rows, per topic."""
    sums = np.zeros(activation.shape[1])
    for row in range(len(weights)):
        for q in range(activation.shape[1]):
            sums[q] += weights[row] * softplus(np.float64(activation[row, q]))
    return sums


@njit(cache=True, nogil=True)
def score_range(topics, shapes, odds, out, start, stop):
    """Write ``sum_q r_q log(1 + v_jq odds_q)`` of rows ``start`` to ``stop`` to ``out``.

    Below ``SMALL`` the logarithm is its series, right to 1e-8.
    """
    indptr, labels, values, floor = topics
    for row in range(start, stop):
        # First as if every label had the smallest share of every topic, then the few with more.
        target = out[row]
        base = np.float32(0.0)
        for q in range(len(shapes)):
            base += shapes[q] * np.log1p(floor[q] * odds[row, q])
        target[:] = base
        for q in range(len(shapes)):
            shape, odd = shapes[q], odds[row, q]
            base = shape * np.log1p(floor[q] * odd)
            # Entries fall: behind the first small one all are, and their loop has no logarithm.
            position, end = indptr[q], indptr[q + 1]
            while position < end and values[position] * odd > SMALL:
                target[labels[position]] += shape * np.log1p(values[position] * odd) - base
                position += 1
            for p in range(position, end):
                z = values[p] * odd
                series = z * (np.float32(1.0) - z * (np.float32(0.5) - z * np.float32(1 / 3)))
                target[labels[p]] += shape * series - base


def score_rows(
    topics: SparseTopics,
    shapes: NDArray[np.float32],
    odds: NDArray[np.float32],
    out: NDArray[np.float32],
    n_threads: int = 1,
) -> NDArray[np.float32]:
    """Write `score_range` of all rows to ``out``; the result does not depend on ``n_threads``."""
    cuts = np.linspace(0, len(odds), max(1, min(n_threads, len(odds))) + 1).astype(int)
    run_parts(
        lambda bounds: score_range(topics, shapes, odds, out, *bounds), pairwise(cuts), n_threads
    )
    return out
