"""Bring together copies of parameters that several threads trained apart."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _share(start, sums, total):
    """Return the factor for the summed moves of the copies of one AdaGrad parameter.

    With an accumulator that grows from ``start`` by g, AdaGrad moves some ``sqrt(start + g) -
    sqrt(start)`` along a steady gradient. One run that had seen the gradients of all copies would
    have moved by that distance for the total growth; the copies moved by the sum of theirs.
    """
    apart = 0.0
    for index in range(len(sums)):
        apart += np.sqrt(start + sums[index]) - np.sqrt(start)
    if apart <= 0:
        return np.float32(1.0)
    return np.float32((np.sqrt(start + total) - np.sqrt(start)) / apart)


@njit(cache=True)
def _merge_number(acc, accs, row, column, growth):
    """Add up the accumulators of one parameter; returns the factor for its summed moves."""
    start = np.float64(acc[row, column])
    total = 0.0
    for copy in range(len(accs)):
        growth[copy] = accs[copy, row, column] - start
        total += growth[copy]
    acc[row, column] = start + total
    for copy in range(len(accs)):
        accs[copy, row, column] = acc[row, column]
    return _share(start, growth, total)


@njit(cache=True, fastmath=True)
def merge_copies(theta, acc, thetas, accs):
    """Move ``theta`` and ``acc`` by what the copies learned, and set the copies to the result.

    ``theta`` has shape (n, k) and ``acc`` (n, k) or (n, 1); the copies have one more axis in front.
    A row that one copy alone has touched takes its move whole.
    """
    n_copies, n_rows, k = thetas.shape
    growth = np.zeros(n_copies)
    moves = np.zeros(k, np.float32)
    factors = np.ones(k, np.float32)
    for row in range(n_rows):
        for column in range(acc.shape[1]):
            factors[column] = _merge_number(acc, accs, row, column, growth)
        if acc.shape[1] == 1:
            factors[:] = factors[0]
        moves[:] = np.float32(0.0)
        for copy in range(n_copies):
            for q in range(k):
                moves[q] += thetas[copy, row, q] - theta[row, q]
        for q in range(k):
            theta[row, q] += factors[q] * moves[q]
        for copy in range(n_copies):
            for q in range(k):
                thetas[copy, row, q] = theta[row, q]
