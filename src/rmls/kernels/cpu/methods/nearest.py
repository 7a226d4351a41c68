"""The training rows most similar to a row, through an inverted index; never rows × rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from rmls.kernels.cpu.linalg.select import best_of_rows

LOWEST = np.finfo(np.float32).min


class Csr(NamedTuple):
    """The arrays of a CSR matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


@njit(cache=True, nogil=True)
def nearest_rows(queries, index, left_out, products, bounds, out_rows, out_products):
    """Write the training rows with the largest inner products with each query, best first.

    Parameters
    ----------
    queries : Csr
        Rows to look up.
    index : Csr
        Training rows, transposed: one row per feature.
    left_out : ndarray of int64
        For every query a training row that is put last, or -1.
    products : ndarray of float32, shape (1, n_training_rows)
        Working memory of one thread.
    bounds : (int, int)
        First and last query to process, the last one excluded.
    out_rows, out_products : ndarrays of int32 and float32, shape (n_queries, k)
        k is at most the number of training rows. Ties go to the lower row. A row left out has a
        product of ``LOWEST``.
    """
    indptr, indices, data = index.indptr, index.indices, index.data
    x_indptr, x_indices, x_data = queries.indptr, queries.indices, queries.data
    for row in range(bounds[0], bounds[1]):
        products[:] = np.float32(0.0)
        for position in range(x_indptr[row], x_indptr[row + 1]):
            feature, value = x_indices[position], x_data[position]
            for place in range(indptr[feature], indptr[feature + 1]):
                products[0, indices[place]] += value * data[place]
        if left_out[row] >= 0:
            products[0, left_out[row]] = LOWEST
        best_of_rows(products, 0, 1, out_rows[row : row + 1], out_products[row : row + 1])
