"""Cutting planes for the max-margin surrogate of the F of one label over all rows.

A set S of rows has the feature vector ``Ψ(S) = Σ_(i in S) c_i x_i / N``, with weights c and N the
summed weight of the relevant rows P. The problem is

    min over w, ξ >= 0 of  |w|²/2 + C ξ   with   w·(Ψ(P) - Ψ(S)) >= 1 - F(S) - ξ   for all S

Of the 2^n constraints few matter. The one that the present w violates most joins the kept ones,
the cuts; the problem is solved for them; and so on until none is violated by more than a tolerance
(Tsochantaridis et al., 2005; Joachims, Finley and Yu, 2009). The dual of the kept cuts is

    max over alpha >= 0, Σ alpha = C  of  Σ_c alpha_c (1 - F_c) - |Σ_c alpha_c d_c|²/2,

``d_c = Ψ(P) - Ψ(S_c)`` and ``w = Σ_c alpha_c d_c``.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit

HARMLESS = -0.5
"""Irrelevant rows that score no more are in no most violated set.

With hits of weight h, one more miss of weight c raises 1 - F by at most 2 h c / (N + h)², at most
c / (2 N), and adds c s / N by its score s.
"""
STEPS_PER_CUT = 200
MAX_KEPT = 40


@njit(cache=True, nogil=True)
def most_violated(scores, relevant, weights, chosen):
    """Mark in ``chosen`` the rows whose set violates the margin most; return its loss, 1 - F.

    The set maximises ``1 - F + Σ_chosen c_i s_i / N`` with scores s, weights c and N the summed
    weight of the relevant rows. It holds the best a relevant and the best b irrelevant rows for
    some a and b; the value is concave in b, and its best b does not fall as a grows, so that both
    lists are walked once: O(n log n). This is exact for equal weights; with unequal ones the sets
    of that form are searched.
    """
    n_relevant, n_others, total = 0, 0, 0.0
    for row in range(len(scores)):
        chosen[row] = False
        if relevant[row]:
            n_relevant += 1
            total += weights[row]
        elif scores[row] > HARMLESS:
            n_others += 1
    own, others = np.empty(n_relevant, np.int64), np.empty(n_others, np.int64)
    n_relevant, n_others = 0, 0
    for row in range(len(scores)):
        if relevant[row]:
            own[n_relevant] = row
            n_relevant += 1
        elif scores[row] > HARMLESS:
            others[n_others] = row
            n_others += 1
    own = own[np.argsort(-scores[own], kind="mergesort")]
    others = others[np.argsort(-scores[others], kind="mergesort")]
    a, b, hits, misses, gain = 0, 0, 0.0, 0.0, 0.0
    best, best_a, best_b, loss = -np.inf, 0, 0, 1.0
    while True:
        value = _value(hits, misses, gain, total)
        # Irrelevant rows, best first, as long as they raise the value. b never goes back.
        while b < n_others:
            row = others[b]
            more = gain + weights[row] * scores[row]
            further = _value(hits, misses + weights[row], more, total)
            if further <= value:
                break
            value, misses, gain, b = further, misses + weights[row], more, b + 1
        if value > best:
            best, best_a, best_b = value, a, b
            loss = 1.0 - 2.0 * hits / (total + hits + misses)
        if a == n_relevant:
            break
        hits += weights[own[a]]
        gain += weights[own[a]] * scores[own[a]]
        a += 1
    chosen[own[:best_a]] = True
    chosen[others[:best_b]] = True
    return loss


@njit(cache=True, inline="always")
def _value(hits, misses, gain, total):
    return 1.0 - 2.0 * hits / (total + hits + misses) + gain / total


@njit(cache=True, nogil=True)
def solve_label(rows, relevant, weights, C, limits, w):
    """Write the weights with the smallest ``|w|²/2 + C ξ`` to ``w``, the intercept last.

    Parameters
    ----------
    rows : Csr
    relevant : ndarray of bool, shape (n_rows,)
    weights : ndarray of float64, shape (n_rows,)
    C : float
    limits : (int, float)
        Cuts at most, and the violation that is tolerated.
    w : ndarray of float64, shape (n_features + 1,)

    Returns
    -------
    int
        The number of cuts.
    """
    n_rows, max_kept = len(weights), min(limits[0], MAX_KEPT)
    # A cut is a mix of rows: the shares of each, and the product of each row with it, are kept.
    # The first place stands for the slack: a cut of zeros without loss.
    size = max_kept + 1
    shares, products = np.zeros((size, n_rows)), np.zeros((size, n_rows))
    gram, alpha, losses = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    alpha[0] = C
    scores, share, chosen = np.zeros(n_rows), np.empty(n_rows), np.zeros(n_rows, np.bool_)
    total, count, number = np.sum(weights[relevant]), 1, 0
    while number < limits[0]:
        loss = most_violated(scores, relevant, weights, chosen)
        for row in range(n_rows):
            share[row] = weights[row] / total * (np.int64(relevant[row]) - np.int64(chosen[row]))
        mixed = np.flatnonzero(share)
        slopes = _slopes(gram, losses, alpha, count)
        # The largest slope is ξ, what the kept cuts are violated by at most: is the new one worse?
        if loss - _dot(share, scores, mixed) <= np.max(slopes) + limits[1]:
            break
        place = count if count <= max_kept else _weakest_cut(slopes, alpha)
        count = max(count, place + 1)
        shares[place], losses[place] = share, loss
        # Products of the new cut with all rows: scores and Gram matrix then need no features.
        _mix_rows(rows, share, w)
        _score(rows, w, products[place])
        for other in range(1, count):
            gram[place, other] = gram[other, place] = _dot(share, products[other], mixed)
        _balance(gram, losses, alpha, count, 0.1 * limits[1])
        _combine(alpha[:count], products, scores)
        number += 1
    _combine(alpha[:count], shares, share)
    _mix_rows(rows, share, w)
    return number


@njit(cache=True, nogil=True)
def _dot(one, other, places):
    """Return the product of two vectors of which the first is zero outside ``places``."""
    total = 0.0
    for place in places:
        total += one[place] * other[place]
    return total


@njit(cache=True, nogil=True)
def _slopes(gram, losses, alpha, count):
    """Return the gradient of the dual, which is the violation of every cut."""
    slopes = losses[:count].copy()
    for cut in range(count):
        for other in range(count):
            slopes[cut] -= gram[cut, other] * alpha[other]
    return slopes


@njit(cache=True, nogil=True)
def _weakest_cut(violations, alpha):
    """Return the cut that is furthest from being violated among those of the smallest weight.

    Its weight goes to the slack.
    """
    place = 1
    for cut in range(2, len(alpha)):
        if alpha[cut] < alpha[place] or (
            alpha[cut] == alpha[place] and violations[cut] < violations[place]
        ):
            place = cut
    alpha[0] += alpha[place]
    alpha[place] = 0.0
    return place


@njit(cache=True, nogil=True)
def _combine(alpha, vectors, out):
    """Write the sum of the first vectors, weighted by ``alpha``, to ``out``."""
    out[:] = 0.0
    for cut in range(1, len(alpha)):
        if alpha[cut] > 0.0:
            out += alpha[cut] * vectors[cut]


@njit(cache=True, nogil=True)
def _mix_rows(rows, share, out):
    """Write the sum of the rows, weighted by ``share``, to ``out``, the constant feature last."""
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    out[:] = 0.0
    for row in range(len(share)):
        if share[row] != 0.0:
            for place in range(indptr[row], indptr[row + 1]):
                out[indices[place]] += share[row] * data[place]
            out[-1] += share[row]


@njit(cache=True, nogil=True)
def _score(rows, w, scores):
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    for row in range(len(scores)):
        product = w[-1]
        for place in range(indptr[row], indptr[row + 1]):
            product += w[indices[place]] * data[place]
        scores[row] = product


@njit(cache=True, nogil=True, error_model="numpy")
def _balance(gram, losses, alpha, count, tol):
    """Maximise ``losses·alpha - alpha' gram alpha / 2`` with the sum of ``alpha`` kept.

    Moves weight to the cut of the steepest slope from the one that gains most by it (Fan, Chen and
    Lin, 2005); only the first ``count`` cuts take part.
    """
    slopes = _slopes(gram, losses, alpha, count)
    for _ in range(STEPS_PER_CUT * count):
        up = np.argmax(slopes)
        down, widest, most_gained = -1, 0.0, 0.0
        for cut in range(count):
            gap = slopes[up] - slopes[cut]
            if alpha[cut] > 0.0 and gap > 0.0:
                widest = max(widest, gap)
                gained = gap * gap / _curvature(gram, up, cut)
                if gained > most_gained:
                    down, most_gained = cut, gained
        if widest <= tol or down < 0:
            break
        # The maximum along the line, or all the weight that there is to move.
        gap = slopes[up] - slopes[down]
        step = min(alpha[down], gap / _curvature(gram, up, down))
        alpha[up] += step
        alpha[down] -= step
        for cut in range(count):
            slopes[cut] -= step * (gram[up, cut] - gram[down, cut])


@njit(cache=True, inline="always")
def _curvature(gram, one, other):
    return max(gram[one, one] + gram[other, other] - 2.0 * gram[one, other], 1e-12)
