"""Many ridge regressions on the same rows with different weights, improved side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels.cpu.linalg.products import csr_times_dense

Floats = NDArray[np.float32]


class Design(NamedTuple):
    """The rows X of a regression as CSR, X transposed as CSR, and the threads to use."""

    rows: sparse.csr_matrix
    columns: sparse.csr_matrix
    n_threads: int

    @classmethod
    def of(cls, X: sparse.csr_matrix, n_threads: int = 1) -> Design:
        """Return the design of the float32 matrix ``X``."""
        return cls(X, X.T.tocsr(), n_threads)

    def times(self, coefficients: Floats) -> Floats:
        """Return ``X @ coefficients``."""
        return _product(self.rows, self.rows.data, coefficients, self.n_threads)

    def transposed_times(self, values: Floats) -> Floats:
        """Return ``X.T @ values``."""
        return _product(self.columns, self.columns.data, values, self.n_threads)

    def squares_times(self, values: Floats) -> Floats:
        """Return ``(X ** 2).T @ values``."""
        return _product(self.columns, self.columns.data**2, values, self.n_threads)


def improve_ridge(
    design: Design,
    row_weights: Floats,
    residuals: Floats,
    penalty: Floats,
    coefficients: Floats,
    n_steps: int,
) -> None:
    """Take conjugate-gradient steps of every regression; ``coefficients`` is changed in place.

    Column k maximises ``sum_i r_ik f_ik - w_ik f_ik^2 / 2 - sum_j penalty_j b_jk^2 / 2``, with
    ``f = X delta`` the change of the fit and ``b`` the coefficients after it.

    Parameters
    ----------
    design : Design
        Of shape (n, d).
    row_weights, residuals : ndarray of float32, shape (n, k)
        The curvatures w and slopes r at the coefficients given.
    penalty : ndarray of float32, shape (d,)
    coefficients : ndarray of float32, shape (d, k)
    n_steps : int

    Notes
    -----
    The steps start from the coefficients given and every one of them raises the maximised
    quadratic, however few are taken. The preconditioner is the diagonal.
    """
    # One run of conjugate gradients a column, all by the same two sparse products a step. Column k
    # solves with X' diag(w_k) X + diag(penalty), which is never formed.
    ridge = penalty[:, None]
    remainder = design.transposed_times(residuals) - ridge * coefficients
    scale = 1.0 / (design.squares_times(row_weights) + ridge)
    conditioned = scale * remainder
    direction = conditioned.copy()
    slope = _column_dots(remainder, conditioned)
    for _ in range(n_steps):
        change = design.times(direction)
        change *= row_weights
        curved = design.transposed_times(change)
        curved += ridge * direction
        # To the maximum along the direction, r'z / d'Ad.
        step = _ratio(slope, _column_dots(direction, curved))
        coefficients += step * direction
        remainder -= step * curved
        np.multiply(scale, remainder, out=conditioned)
        # The next direction is conjugate to all before: d = z + (r'z new / r'z old) d.
        previous, slope = slope, _column_dots(remainder, conditioned)
        direction *= _ratio(slope, previous)
        direction += conditioned


def _product(matrix: sparse.csr_matrix, data: Floats, dense: Floats, n_threads: int) -> Floats:
    out = np.empty((matrix.shape[0], dense.shape[1]), dtype=np.float32)
    csr_times_dense(matrix.indptr, matrix.indices, data, dense, out, n_threads)
    return out


def _column_dots(left: Floats, right: Floats) -> NDArray[np.float64]:
    dots: NDArray[np.float64] = np.einsum("dk,dk->k", left, right, dtype=np.float64)
    return dots


def _ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> Floats:
    """Return quotients, 0 where a regression has nothing left to gain."""
    good = (under > 0) & (over > 0)
    return np.where(good, over / np.where(good, under, 1.0), 0.0).astype(np.float32)
