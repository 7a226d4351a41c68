"""Functions of the gamma family and the mean of a Polya-Gamma variable, for compiled loops."""

from __future__ import annotations

import math

from rmls.kernels.jit import njit

# From here on the asymptotic series below are right to 1e-11.
ASYMPTOTIC = 8.0
HALF_LOG_TWO_PI = 0.9189385332046727


@njit(cache=True)
def gamma_terms(x):
    """Return the logarithm of the gamma function of ``x > 0`` and its first two derivatives.

    Examples
    --------
    >>> [round(term, 6) for term in gamma_terms(3.0)]
    [0.693147, 0.922784, 0.394934]
    """
    # Γ(x + 1) = x Γ(x) carries x up to where the series hold; one logarithm for all the factors.
    product, first, second = 1.0, 0.0, 0.0
    while x < ASYMPTOTIC:
        product *= x
        first += 1.0 / x
        second += 1.0 / (x * x)
        x += 1.0
    log_x, y = math.log(x), 1.0 / x
    z = y * y
    tail = y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680)))
    log_gamma = (x - 0.5) * log_x - x + HALF_LOG_TWO_PI + tail
    digamma = log_x - 0.5 * y - z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z / 240)))
    trigamma = y + 0.5 * z + y * z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z / 30)))
    return log_gamma - math.log(product), digamma - first, trigamma + second


@njit(cache=True)
def softplus(x):
    """Return ``log(1 + exp(x))``."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@njit(cache=True)
def polya_gamma_mean(b, c):
    """Return the mean ``b / (2 c) tanh(c / 2)`` of a Polya-Gamma variable PG(b, c).

    Examples
    --------
    >>> polya_gamma_mean(2.0, 0.0)
    0.5
    """
    if abs(c) < 1e-3:
        return b * (0.25 - c * c / 48.0)
    return b * math.tanh(0.5 * c) / (2.0 * c)
