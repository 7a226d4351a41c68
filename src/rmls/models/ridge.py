"""Ridge regression for many targets, without a matrix that does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

DIRECT_FEATURES = 6000

Floats = NDArray[np.float64]


class RidgeSystem:
    """The normal equations ``(A'A + ridge I) x = b`` of weighted rows ``A``.

    Up to 6,000 columns ``A'A`` is formed and factorised once; above, every solve is a conjugate
    gradient with a diagonal preconditioner, all right-hand sides at once.

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

    Examples
    --------
    >>> system = RidgeSystem(sparse.csr_matrix([[1.0], [2.0]]), ridge=1.0)
    >>> system.solve(np.array([[12.0]])).tolist()
    [[2.0]]
    """

    def __init__(
        self,
        A: sparse.csr_matrix,
        ridge: float,
        intercept: Floats | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        A = A.astype(np.float64)
        if intercept is not None:
            A = sparse.hstack([sparse.csr_matrix(intercept[:, None]), A], format="csr")
        self.A = A
        self.A_t = sparse.csr_matrix(A.T)
        self.ridge = ridge
        self.tol, self.max_iter = tol, max_iter
        self._factor: Any = None
        if A.shape[1] <= DIRECT_FEATURES:
            gram = (self.A_t @ A).toarray()
            gram[np.diag_indices_from(gram)] += ridge
            self._factor = linalg.cho_factor(gram, lower=True, overwrite_a=True)
        else:
            squares = np.asarray(A.multiply(A).sum(axis=0)).ravel()
            self._inverse_diagonal = 1.0 / (squares + ridge)[:, None]

    def solve(self, B: Floats) -> Floats:
        """Return ``(A'A + ridge I)^-1 B`` for a block of columns."""
        if self._factor is not None:
            solution: Floats = linalg.cho_solve(self._factor, B)
            return solution
        return self._conjugate_gradient(B)

    def fit(self, targets: Floats) -> Floats:
        """Return the coefficients of the regression on the columns of ``targets``."""
        return self.solve(np.asarray(self.A_t @ targets))

    def smooth(self, targets: Floats) -> Floats:
        """Return ``H targets``: the fitted values, ``H`` being the hat matrix."""
        return np.asarray(self.A @ self.fit(targets))

    def _conjugate_gradient(self, B: Floats) -> Floats:
        x = np.zeros_like(B)
        residual = B.copy()
        z = self._inverse_diagonal * residual
        direction = z.copy()
        rho = np.einsum("ij,ij->j", residual, z)
        goal = self.tol * np.linalg.norm(B, axis=0)
        for _ in range(self.max_iter):
            if (np.linalg.norm(residual, axis=0) <= goal).all():
                break
            product = self.A_t @ (self.A @ direction) + self.ridge * direction
            curvature = np.einsum("ij,ij->j", direction, product)
            step = rho / np.where(curvature > 0, curvature, 1.0)
            x += step * direction
            residual -= step * product
            z = self._inverse_diagonal * residual
            previous, rho = rho, np.einsum("ij,ij->j", residual, z)
            direction = z + rho / np.where(previous > 0, previous, 1.0) * direction
        return x
