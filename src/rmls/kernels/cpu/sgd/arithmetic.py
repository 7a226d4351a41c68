"""Losses, activations and AdaGrad steps on float32 vectors.

The functions are inlined where they are called: a call per label, with its array headers, cost a
third of a training pass.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.functions import sigmoid
from rmls.kernels.cpu.linalg.prefetch import AHEAD, prefetch_row
from rmls.kernels.jit import njit

LOGISTIC, SQUARED, SQUARED_HINGE = 0, 1, 2
TANH, RELU = 0, 2


@njit(cache=True, inline="always")
def slope_of_loss(loss, score, target, focus):
    """Return the derivative of the loss in the score; ``target`` is 1 (relevant) or -1.

    ``focus`` belongs to the focal and asymmetric losses; see `focused`.
    """
    if loss == LOGISTIC:
        return -target / (np.float32(1.0) + np.exp(target * score))
    if loss == SQUARED:
        return score - np.float32(0.5) * (target + np.float32(1.0))
    if loss == SQUARED_HINGE:
        return np.float32(-2.0) * target * max(np.float32(1.0) - target * score, np.float32(0.0))
    return focused(score, target, focus)[1]


@njit(cache=True, inline="always")
def value_of_loss(loss, score, target, focus):
    """Return the loss of one score; ``target`` is 1 (relevant) or -1.

    Squared: ``(s - y)^2 / 2`` with y = 0 or 1; logistic: ``log(1 + exp(-t s))``; squared hinge:
    ``max(0, 1 - t s)^2``.
    """
    if loss == LOGISTIC:
        margin = target * score
        return np.log1p(np.exp(-abs(margin))) + max(-margin, np.float32(0.0))
    if loss == SQUARED:
        error = score - np.float32(0.5) * (target + np.float32(1.0))
        return np.float32(0.5) * error * error
    if loss == SQUARED_HINGE:
        gap = max(np.float32(1.0) - target * score, np.float32(0.0))
        return gap * gap
    return focused(score, target, focus)[0]


@njit(cache=True, error_model="numpy")
def focused(score, target, focus):
    """Return value and slope of the asymmetric loss (Ridnik et al., 2021).

    ``focus`` = (relevant g, irrelevant g, margin m). With ``p = sigmoid(s)`` a relevant label costs
    ``-(1 - p)^g log p`` and an irrelevant one ``-u^g log(1 - u)`` with ``u = max(p - m, 0)``. Equal
    g and no margin give the focal loss (Lin et al., 2017). Scores beyond 40 count as 40.
    """
    one = np.float32(1.0)
    score = min(max(score, np.float32(-40.0)), np.float32(40.0))
    p, other = sigmoid(score), sigmoid(-score)
    if target > 0:
        log_p = min(score, np.float32(0.0)) - np.log1p(np.exp(-abs(score)))
        scale = other ** focus[0]
        return -scale * log_p, scale * (focus[0] * p * log_p - other)
    # An irrelevant label below the margin is easy: neither loss nor slope.
    u = p - focus[2]
    if u <= 0:
        return np.float32(0.0), np.float32(0.0)
    left = other + focus[2]
    # log(1 - u) from whichever of u and 1 - u is small, where the other has lost its digits.
    log_left = np.log1p(-u) if u < np.float32(0.5) else np.log(left)
    scale = u ** focus[1]
    slope = scale * p * other * (one / left - focus[1] * log_left / u)
    return -scale * log_left, slope


@njit(cache=True)
def slopes_of_scores(loss, scores, target, focus):
    """Return the derivative of the loss at every one of ``scores`` (float32, any shape)."""
    out = np.empty_like(scores)
    for index in np.ndindex(scores.shape):
        out[index] = slope_of_loss(loss, scores[index], target, focus)
    return out


@njit(cache=True, fastmath=True, inline="always")
def tanh(x):
    """Return tanh of a float32 within 4e-7, in a form that the compiler turns into vector code.

    A rational function of x, fitted by least squares on [-8, 8].
    """
    x = min(max(x, np.float32(-8.0)), np.float32(8.0))
    z = x * x
    p = np.float32(1.503278038e-08) * z + np.float32(2.175374098e-05)
    p = (p * z + np.float32(3.563018119e-03)) * z + np.float32(1.343724586e-01)
    q = np.float32(8.442239689e-07) * z + np.float32(3.397287398e-04)
    q = (q * z + np.float32(2.613172727e-02)) * z + np.float32(4.677056679e-01)
    return x * (p * z + np.float32(9.999999715e-01)) / (q * z + np.float32(1.0))


@njit(cache=True, fastmath=True, inline="always")
def represent(W, b, indices, data, activation, h):
    """Write ``theta(x W + b)`` of one sparse row to ``h``."""
    k = len(h)
    for q in range(k):
        h[q] = b[q]
    for position in range(len(indices)):
        row = indices[position]
        value = data[position]
        if position + AHEAD < len(indices):
            prefetch_row(W, indices[position + AHEAD])
        for q in range(k):
            h[q] += value * W[row, q]
    if activation == TANH:
        for q in range(k):
            h[q] = tanh(h[q])
    elif activation == RELU:
        for q in range(k):
            h[q] = max(h[q], np.float32(0.0))


@njit(cache=True, fastmath=True, inline="always")
def times_activation_slope(activation, h, grad):
    """Multiply ``grad`` in place by the derivative of the activation, from its output ``h``."""
    # tanh' = 1 - tanh^2.
    if activation == TANH:
        for q in range(len(h)):
            grad[q] *= np.float32(1.0) - h[q] * h[q]
    elif activation == RELU:
        for q in range(len(h)):
            if h[q] <= 0:
                grad[q] = np.float32(0.0)


@njit(cache=True, fastmath=True, inline="always")
def adagrad_row(theta, acc, row, scale, direction, square, rate, decay, elementwise):
    """Take one AdaGrad step of ``theta[row]`` against ``scale * direction + decay * theta[row]``.

    ``acc`` has the width of ``theta`` (element-wise form) or width 1 (row-wise form, fed with the
    mean squared gradient of the loss alone, which saves a pass over the row); of one component both
    have the same width. ``square`` is the mean of ``direction**2``.
    """
    # The accumulator grows before the step: but for the decay, no step is longer than ``rate`` in
    # root mean square.
    k = theta.shape[1]
    if elementwise:
        for q in range(k):
            gradient = scale * direction[q] + decay * theta[row, q]
            acc[row, q] += gradient * gradient
            theta[row, q] -= rate * gradient / np.sqrt(acc[row, q])
        return
    acc[row, 0] += scale * scale * square
    step = rate / np.sqrt(acc[row, 0])
    # theta - step (scale direction + decay theta), in one pass and with one root.
    shrink = np.float32(1.0) - step * decay
    step *= scale
    for q in range(k):
        theta[row, q] = shrink * theta[row, q] - step * direction[q]


@njit(cache=True, fastmath=True, inline="always")
def adagrad_number(theta, acc, index, gradient, rate):
    """Take one AdaGrad step of the number ``theta[index]``."""
    acc[index] += gradient * gradient
    theta[index] -= rate * gradient / np.sqrt(acc[index])


@njit(cache=True, fastmath=True, inline="always")
def adagrad_vector(theta, acc, gradient, rate):
    """Take one AdaGrad step of every number of ``theta``."""
    for q in range(len(theta)):
        acc[q] += gradient[q] * gradient[q]
        theta[q] -= rate * gradient[q] / np.sqrt(acc[q])


@njit(cache=True, fastmath=True, inline="always")
def shrink_row(theta, row, max_square):
    """Rescale ``theta[row]`` so that its squared norm is at most ``max_square``."""
    square = np.float32(0.0)
    for q in range(theta.shape[1]):
        square += theta[row, q] * theta[row, q]
    if square > max_square:
        factor = np.sqrt(max_square / square)
        for q in range(theta.shape[1]):
            theta[row, q] *= factor
