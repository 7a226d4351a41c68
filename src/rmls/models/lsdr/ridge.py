"""Ridge regression for many targets, without a matrix that does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmls.core.errors import InputError
from rmls.kernels.cpu.linalg.products import csr_times_dense

# A'A is dense: 288 MB of float64 at this width.
DIRECT_FEATURES = 6000
REPORT_EVERY = 20
# Of columns of length 1: rounding errors of a product of 6,000 of them are smaller.
LEAST_RIDGE = 1e-10

Floats = NDArray[np.float64]


class RidgeSystem:
    """The normal equations ``(A'A + ridge I) x = b`` of weighted rows ``A``.

    Where there are up to 6,000 columns or rows, the Gram matrix of the fewer of them is formed and
    factorised once; above, every solve is a conjugate gradient with a diagonal preconditioner, all
    right-hand sides at once.

    Parameters
    ----------
    A : CSR matrix of shape (n_samples, n_features)
        Rows already multiplied by the square root of their weight.
    ridge : float
    intercept : ndarray of shape (n_samples,), optional
        A further column, regularised like the others; it becomes the first coefficient.
    tol : float
        Relative residual at which conjugate gradients stop.
    max_iter : int
        Conjugate gradient steps at most.
    n_threads : int
        Threads of the products in conjugate gradients, which are made in float32.
    report : callable, optional
        Called with a line of text now and then during conjugate gradients.

    Examples
    --------
    >>> system = RidgeSystem(sparse.csr_matrix([[1.0], [2.0]]), ridge=1.0)
    >>> system.fit(np.array([[2.0], [5.0]])).round(6).tolist()
    [[2.0]]
    """

    def __init__(
        self,
        A: sparse.csr_matrix,
        ridge: float,
        intercept: Floats | None = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        n_threads: int = 1,
        report: Callable[[str], None] | None = None,
    ) -> None:
        if intercept is not None:
            A = sparse.hstack([sparse.csr_matrix(intercept[:, None]), A], format="csr")
        self.ridge = ridge
        self.tol, self.max_iter, self.n_threads = tol, max_iter, n_threads
        self.report = report
        self._factor: Any = None
        direct = min(A.shape) <= DIRECT_FEATURES
        self._by_rows = direct and A.shape[0] < A.shape[1]
        # Products limit conjugate gradients, and float32 halves their memory traffic.
        self.A = A.astype(np.float64 if direct else np.float32)
        self.A_t = sparse.csr_matrix(self.A.T)
        if direct:
            # (A'A + r I)^-1 A' = A' (AA' + r I)^-1: the smaller of the two is factorised.
            pair = (self.A, self.A_t) if self._by_rows else (self.A_t, self.A)
            gram = (pair[0] @ pair[1]).toarray()
            gram[np.diag_indices_from(gram)] += ridge
            self._factor, self._scale = factorize(gram)
        else:
            # Columns of a sparse A differ in length by their frequency: the diagonal evens that
            # out.
            squares = np.asarray(self.A.multiply(self.A).sum(axis=0)).ravel()
            self._inverse_diagonal = (1.0 / (squares + ridge))[:, None].astype(np.float32)

    def fit(self, targets: Floats) -> Floats:
        """Return the coefficients of the regression on the columns of ``targets``."""
        if self._by_rows:
            return self._times(self.A_t, self._solve(targets))
        right = self._times(self.A_t, targets)
        return self._conjugate_gradient(right) if self._factor is None else self._solve(right)

    def _solve(self, right: Floats) -> Floats:
        """Return the product of the inverse of the factorised matrix and a block of columns."""
        # The factor was checked when it was made: FaIE solves hundreds of times, and looking for
        # infinities in d x d numbers would take a third of each.
        solution: Floats = linalg.cho_solve(self._factor, self._scale * right, check_finite=False)
        return np.asarray(self._scale * solution)

    def smooth(self, targets: Floats) -> Floats:
        """Return ``H targets``: the fitted values, ``H`` being the hat matrix."""
        # H = A (A'A + ridge I)^-1 A', applied from right to left.
        return self._times(self.A, self.fit(targets))

    def _times(self, matrix: sparse.csr_matrix, dense: NDArray[Any]) -> NDArray[Any]:
        if self._factor is not None:
            return np.asarray(matrix @ dense)
        dense = np.ascontiguousarray(dense, dtype=np.float32)
        out = np.empty((int(matrix.shape[0]), dense.shape[1]), np.float32)
        return csr_times_dense(
            matrix.indptr, matrix.indices, matrix.data, dense, out, self.n_threads
        )

    def _conjugate_gradient(self, B: NDArray[Any]) -> Floats:
        x = np.zeros(B.shape, np.float32)
        residual = np.array(B, dtype=np.float32)
        z = self._inverse_diagonal * residual
        direction = z.copy()
        rho = np.einsum("ij,ij->j", residual, z)
        # Every right-hand side has steps of its own; only the products are shared.
        goal = self.tol * np.linalg.norm(residual, axis=0)
        for number in range(self.max_iter):
            left = np.linalg.norm(residual, axis=0)
            if (left <= goal).all():
                break
            if self.report is not None and number and number % REPORT_EVERY == 0:
                self.report(f"conjugate gradients, step {number} of at most {self.max_iter}")
            product = self._times(self.A_t, self._times(self.A, direction))
            product += np.float32(self.ridge) * direction
            curvature = np.einsum("ij,ij->j", direction, product)
            # A column whose residual has vanished takes no further step.
            step = rho / np.where(curvature > 0, curvature, 1)
            x += step * direction
            residual -= step * product
            z = self._inverse_diagonal * residual
            previous, rho = rho, np.einsum("ij,ij->j", residual, z)
            direction *= rho / np.where(previous > 0, previous, 1)
            direction += z
        return x.astype(np.float64)


def factorize(gram: Floats) -> tuple[Any, Any]:
    """Return a Cholesky factor of ``D gram D``, and the diagonal of D as a column (1 if plain).

    Where columns are so large that rounding swallows the ridge, they are brought to length 1 and
    get the least ridge that float64 can tell.
    """
    if not np.isfinite(gram).all():
        raise InputError(
            "the features are too large for a regression; scale them, or use normalize='auto'."
        )
    try:
        return linalg.cho_factor(gram, lower=True), 1.0
    except linalg.LinAlgError:
        scale = 1 / np.sqrt(np.diag(gram))
        even = gram * scale * scale[:, None]
        even[np.diag_indices_from(even)] += LEAST_RIDGE
        return linalg.cho_factor(even, lower=True, overwrite_a=True), scale[:, None]
