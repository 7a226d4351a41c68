"""Arithmetic on rows of dense matrices, inlined into the kernels that call it.

A row is passed as the matrix and its number: a view would be made, and counted, at every call.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit


@njit(cache=True, fastmath=True, inline="always")
def dot_row(matrix, row, vector):
    """Return the inner product of a row of ``matrix`` with ``vector``."""
    # fastmath lets the compiler keep several partial sums in one vector register.
    total = np.float32(0.0)
    for q in range(len(vector)):
        total += matrix[row, q] * vector[q]
    return total


@njit(cache=True, fastmath=True, inline="always")
def mean_square(vector):
    """Return the mean of the squares of ``vector``."""
    total = np.float32(0.0)
    for q in range(len(vector)):
        total += vector[q] * vector[q]
    return total / np.float32(len(vector))


@njit(cache=True, fastmath=True, inline="always")
def add_scaled_row(target, scale, matrix, row):
    """Add ``scale`` times a row of ``matrix`` to the vector ``target``."""
    for q in range(len(target)):
        target[q] += scale * matrix[row, q]


@njit(cache=True, inline="always")
def copy_front(target, source, count):
    """Write the first ``count`` values of a vector to another."""
    # Between slices it would be checked, and the words of the error would be compiled, too.
    for q in range(count):
        target[q] = source[q]


@njit(cache=True, fastmath=True, inline="always")
def add_to_row(matrix, row, scale, vector):
    """Add ``scale * vector`` to the first entries of a row of ``matrix``."""
    for q in range(len(vector)):
        matrix[row, q] += scale * vector[q]


@njit(cache=True, nogil=True)
def doubled(array):
    """Return an array of twice the length that begins with the same numbers."""
    larger = np.empty(2 * len(array), array.dtype)
    copy_front(larger, array, len(array))
    return larger
