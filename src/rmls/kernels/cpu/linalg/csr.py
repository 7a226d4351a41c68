"""Products of sparse rows with sparse matrices."""

from __future__ import annotations

from rmls.kernels.jit import njit


@njit(cache=True, nogil=True, inline="always")
def add_row_product(rows, row, matrix, out):
    """Add row ``row`` of the CSR ``rows`` times the CSR ``matrix`` to the dense vector ``out``.

    With ``matrix`` the transpose of some training rows, an inverted index, this gives the inner
    products with all of them in the time of the entries that share a feature with the row.
    """
    x_indptr, x_indices, x_data = rows.indptr, rows.indices, rows.data
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    # Row by row of ``matrix`` (Gustavson's order): its entries are read where they lie.
    for position in range(x_indptr[row], x_indptr[row + 1]):
        feature, value = x_indices[position], x_data[position]
        for place in range(indptr[feature], indptr[feature + 1]):
            out[indices[place]] += value * data[place]
