"""Products of sparse and tall dense matrices in float32, by ranges of rows on several threads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.resources import run_parts
from rmls.kernels.cpu.linalg.prefetch import AHEAD, prefetch_row
from rmls.kernels.cpu.linalg.rows import add_scaled_row, dot_row
from rmls.kernels.jit import njit

Array = NDArray[Any]

WORTH_A_THREAD = 1 << 22  # multiplications, some milliseconds


@njit(cache=True, nogil=True)
def multiply_rows(indptr, indices, data, dense, out, start, stop):
    """Write rows ``start`` to ``stop`` of a CSR matrix times ``dense`` to ``out``."""
    last = len(indices) - AHEAD
    for row in range(start, stop):
        target = out[row]
        target[:] = np.float32(0.0)
        for position in range(indptr[row], indptr[row + 1]):
            if position < last:
                prefetch_row(dense, indices[position + AHEAD])
            add_scaled_row(target, data[position], dense, indices[position])


@njit(cache=True, nogil=True)
def multiply_entries(indptr, indices, left, right, out, start, stop):
    """Write ``left[i] . right[j]`` to ``out`` for the stored entries of rows ``start`` to ``stop``.

    ``indptr`` and ``indices`` are a CSR pattern; ``out`` has one number per stored entry.
    """
    last = len(indices) - AHEAD
    for row in range(start, stop):
        vector = left[row]
        for position in range(indptr[row], indptr[row + 1]):
            if position < last:
                prefetch_row(right, indices[position + AHEAD])
            out[position] = dot_row(right, indices[position], vector)


def csr_times_dense(
    indptr: Array, indices: Array, data: Array, dense: Array, out: Array, n_threads: int = 1
) -> Array:
    """Write the product of a CSR matrix and ``dense`` to ``out``.

    Parameters
    ----------
    indptr, indices, data : ndarray of int, int and float32
        The CSR matrix; for the product with its transpose pass that one's arrays.
    dense : C-contiguous ndarray of float32, shape (n_columns, k)
    out : C-contiguous ndarray of float32, shape (n_rows, k)
    n_threads : int, default=1
        The result does not depend on it.

    Examples
    --------
    >>> out = np.empty((2, 1), np.float32)
    >>> values = np.float32([2, 3])
    >>> dense = np.float32([[5], [7]])
    >>> csr_times_dense(np.array([0, 1, 2]), np.array([1, 0]), values, dense, out).tolist()
    [[14.0], [15.0]]
    """
    _by_rows(multiply_rows, (indptr, indices, data, dense, out), n_threads)
    return out


def products_at(
    indptr: Array, indices: Array, left: Array, right: Array, out: Array, n_threads: int = 1
) -> Array:
    """Write ``left[i] . right[j]`` for every stored entry (i, j) of a CSR pattern to ``out``.

    Examples
    --------
    >>> out = np.empty(2, np.float32)
    >>> left, right = np.float32([[1], [2]]), np.float32([[3], [4]])
    >>> products_at(np.array([0, 1, 2]), np.array([1, 0]), left, right, out).tolist()
    [4.0, 6.0]
    """
    _by_rows(multiply_entries, (indptr, indices, left, right, out), n_threads)
    return out


def _by_rows(kernel, arrays, n_threads):
    """Run ``kernel`` on ranges of rows with about equally many stored entries."""
    indptr, width = arrays[0], arrays[3].shape[1]
    n_rows = len(indptr) - 1
    if n_threads == 1 or n_rows < 2 * n_threads or int(indptr[-1]) * width < WORTH_A_THREAD:
        kernel(*arrays, 0, n_rows)
        return
    # Four ranges a thread, so that a slow one does not hold up the others for long. A row costs
    # something even when it is empty: count it as one more entry.
    work = indptr + np.arange(n_rows + 1)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], 4 * n_threads + 1))
    cuts[0], cuts[-1] = 0, n_rows
    run_parts(lambda bounds: kernel(*arrays, *bounds), pairwise(cuts), n_threads)
