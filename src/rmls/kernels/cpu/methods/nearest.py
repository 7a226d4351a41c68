"""The training rows most similar to a row, through an inverted index; never rows × rows."""

from __future__ import annotations

import numpy as np

from rmls.kernels.arrays import Csr
from rmls.kernels.cpu.linalg.csr import add_row_product
from rmls.kernels.cpu.linalg.select import best_of_rows
from rmls.kernels.jit import njit

__all__ = ["Csr", "nearest_rows"]

LOWEST = np.finfo(np.float32).min


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
    for row in range(bounds[0], bounds[1]):
        products[:] = np.float32(0.0)
        add_row_product(queries, row, index, products[0])
        if left_out[row] >= 0:
            products[0, left_out[row]] = LOWEST
        best_of_rows(products, 0, 1, out_rows[row : row + 1], out_products[row : row + 1])
