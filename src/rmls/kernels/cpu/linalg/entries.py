"""Arithmetic on sparse rows, given by their entries.

Where every row holds all columns nothing has to say which: ``indices`` is an empty array of two
dimensions then. The compiler sees that beforehand and makes vector code of plain loops, which take
a third of the time.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit


@njit(cache=True, nogil=True, fastmath=True)
def sparse_dot(indices, data, start, stop, dense):
    """Return the product of a sparse row and a dense vector.

    Unsigned positions and indices need no check for counting from the end, which would keep the
    compiler from using vector code: twice as fast.
    """
    total = np.float32(0.0)
    if indices.ndim == 2:
        for column in range(np.uint64(stop - start)):
            total += np.float32(data[np.uint64(start) + column]) * dense[column]
    else:
        for position in range(np.uint64(start), np.uint64(stop)):
            total += np.float32(data[position]) * dense[indices[position]]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def add_sparse(indices, data, start, stop, scale, dense):
    """Add a multiple of a sparse row to a dense vector."""
    if indices.ndim == 2:
        for column in range(np.uint64(stop - start)):
            dense[column] += scale * np.float32(data[np.uint64(start) + column])
    else:
        for position in range(np.uint64(start), np.uint64(stop)):
            dense[indices[position]] += scale * np.float32(data[position])


@njit(cache=True, nogil=True)
def room_like(indices, size):
    """Return memory for the columns of so many entries, where they are kept."""
    if indices.ndim == 2:
        return indices
    return np.empty(size, indices.dtype)


@njit(cache=True, nogil=True)
def copy_columns(indices, begin, size, out, filled):
    """Copy the columns of a row, where they are kept, to a place in another array."""
    if indices.ndim == 1:
        for position in range(np.uint64(size)):
            out[np.uint64(filled) + position] = indices[np.uint64(begin) + position]


@njit(cache=True, nogil=True)
def column_of(indices, start, position):
    """Return the column of an entry of a row that begins at ``start``."""
    if indices.ndim == 2:
        return np.uint32(position - start)
    return indices[position]
