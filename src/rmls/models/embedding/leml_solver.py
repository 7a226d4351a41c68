"""Alternating minimisation of ``sum loss(Y, X W L') + l2/2 (||W||^2 + ||L||^2)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmls.core.errors import InputError
from rmls.kernels.cpu.linalg.products import csr_times_dense
from rmls.models.embedding.leml_losses import Entries, Floats

Csr = tuple[NDArray[np.int64], NDArray[np.int32], Floats]

CG_TOLERANCE = 1e-3
# 2^-30: a direction that does not descend by then does not descend in float32.
LINE_SEARCH_STEPS = 30
TOO_LARGE = (
    "features or sample weights are too large for l2; scale them, raise l2, or let "
    "normalize='auto' scale the features."
)
# Share of the promised decrease that is asked for (Armijo).
SUFFICIENT_DECREASE = 1e-4


class Product:
    """A sparse matrix with its transpose, for products with tall dense matrices on threads."""

    def __init__(self, X: sparse.csr_matrix, n_threads: int = 1) -> None:
        self.shape = X.shape
        self.n_threads = n_threads
        self._arrays, self._turned = _arrays(X), _arrays(sparse.csr_matrix(X.T))

    def __matmul__(self, dense: Floats) -> Floats:
        return self._times(self._arrays, dense, self.shape[0])

    def transposed_times(self, dense: Floats) -> Floats:
        """Return the product of the transpose and ``dense``."""
        return self._times(self._turned, dense, self.shape[1])

    def squares(self) -> Floats:
        """Return the sum of squares of every column."""
        indptr, _, data = self._turned
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        sums = np.bincount(rows, weights=data.astype(np.float64) ** 2, minlength=len(indptr) - 1)
        return sums.astype(np.float32)

    def _times(self, arrays: Csr, dense: Floats, n_rows: int) -> Floats:
        dense = np.ascontiguousarray(dense, dtype=np.float32)
        out = np.empty((n_rows, dense.shape[1]), np.float32)
        return csr_times_dense(*arrays, dense, out, self.n_threads)


def _arrays(X: sparse.csr_matrix) -> Csr:
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32)


class Problem(Protocol):
    """One objective with its two half-steps; both return what they changed."""

    def objective(self, W: Floats, L: Floats) -> float:
        """Return the objective."""

    def fit_labels(self, W: Floats, L: Floats) -> Floats:
        """Return better label vectors for fixed ``W``."""

    def fit_features(self, W: Floats, L: Floats) -> tuple[Floats, Floats]:
        """Return better feature vectors; both matrices may be rotated together."""


@dataclass
class SquaredProblem:
    """The loss ``(s - y)^2 / 2`` over all entries, without ever forming them.

    Rows of ``X`` and ``Y`` come multiplied by the square root of their weight.
    """

    X: Product
    Y: Product
    label_square: float
    l2: float
    cg_steps: int

    def objective(self, W: Floats, L: Floats) -> float:
        """Return ``||Y - H L'||^2 / 2`` from its three parts, and the penalties."""
        H = self.X @ W
        # |Y - H L'|^2 = |Y|^2 - 2 <Y'H, L> + <H'H, L'L>: k x k and m x k products only.
        cross = float(np.vdot(self.Y.transposed_times(H), L))
        fitted = float(np.vdot(_gram(H), _gram(L)))
        return 0.5 * (self.label_square - 2 * cross + fitted) + penalty(self.l2, W, L)

    def fit_labels(self, W: Floats, L: Floats) -> Floats:
        """Solve for the label vectors: ``(H'H + l2 I) L' = H'Y``."""
        H = self.X @ W
        # All labels share one k x k system: a single factorisation solves for m right-hand sides.
        gram = _gram(H) + self.l2 * np.eye(H.shape[1])
        right = self.Y.transposed_times(H).T.astype(np.float64)
        if not (np.isfinite(gram).all() and np.isfinite(right).all()):
            raise InputError(TOO_LARGE)
        try:
            solved = linalg.cho_solve(linalg.cho_factor(gram, lower=True), right)
        except linalg.LinAlgError:
            raise InputError(TOO_LARGE) from None
        return np.ascontiguousarray(solved.T, dtype=np.float32)

    def fit_features(self, W: Floats, L: Floats) -> tuple[Floats, Floats]:
        """Run conjugate gradients for ``W`` in the basis where ``L'L`` is diagonal.

        There every column of ``W`` has a system of its own, with its own step lengths.
        """
        # A rotation of both changes neither W L' nor the norms, and takes the Hessian apart by
        # columns.
        spectrum, basis = np.linalg.eigh(_gram(L))
        W, L = (np.ascontiguousarray(V @ basis, dtype=np.float32) for V in (W, L))
        # Rounding may leave eigenvalues just below 0, which would not be a convex problem.
        spectrum = np.maximum(spectrum, 0).astype(np.float32)
        diagonal = np.outer(self.X.squares(), spectrum) + np.float32(self.l2)
        residual = self.X.transposed_times(self.Y @ L) - self.hessian_product(W, spectrum)
        W = W + solve_columns(
            lambda V: self.hessian_product(V, spectrum), residual, diagonal, self.cg_steps
        )
        return W, L

    def hessian_product(self, V: Floats, spectrum: Floats) -> Floats:
        """Return ``X'(X V diag(spectrum)) + l2 V``."""
        out = self.X.transposed_times(self.X @ V)
        out *= spectrum
        out += np.float32(self.l2) * V
        return out


@dataclass
class NewtonProblem:
    """Any loss over all or the observed entries; half-steps are inexact Newton steps."""

    X: Product
    entries: Entries
    l2: float
    cg_steps: int

    def objective(self, W: Floats, L: Floats) -> float:
        """Return the objective."""
        return self.entries.total(self.X @ W, L) + penalty(self.l2, W, L)

    def fit_labels(self, W: Floats, L: Floats) -> Floats:
        """Take one Newton step of the label vectors."""
        H, l2 = self.X @ W, np.float32(self.l2)
        return newton_step(
            L,
            lambda V: self.entries.total(H, V) + penalty(self.l2, W, V),
            self.entries.slope(H, L, True) + l2 * L,
            lambda D: self.entries.curve(H, L, D, True) + l2 * D,
            self.cg_steps,
        )

    def fit_features(self, W: Floats, L: Floats) -> tuple[Floats, Floats]:
        """Take one Newton step of the feature vectors."""
        gradient = (
            self.X.transposed_times(self.entries.slope(self.X @ W, L, False))
            + np.float32(self.l2) * W
        )
        moved = newton_step(
            W,
            lambda V: self.objective(V, L),
            gradient,
            lambda D: self.hessian_product(W, L, D),
            self.cg_steps,
        )
        return moved, L

    def hessian_product(self, W: Floats, L: Floats, D: Floats) -> Floats:
        """Return the Hessian in ``W`` times ``D``."""
        curved = self.entries.curve(self.X @ W, L, self.X @ D, False)
        return self.X.transposed_times(curved) + np.float32(self.l2) * D


def alternate(
    problem: Problem,
    W: Floats,
    L: Floats,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None],
) -> tuple[Floats, Floats, list[float]]:
    """Take half-steps in turn, labels first; returns both matrices and the objective after each.

    Ends after ``max_iter`` pairs, or when a pair lowers the objective by less than its share
    ``tol``. ``report`` is called with the number of the pair and the objective.
    """
    curve = [problem.objective(W, L)]
    for number in range(max_iter):
        before = curve[-1]
        # Convex in each with the other fixed, not in both: every half-step can only descend.
        L = problem.fit_labels(W, L)
        curve.append(problem.objective(W, L))
        W, L = problem.fit_features(W, L)
        curve.append(problem.objective(W, L))
        report(number, curve[-1])
        if before - curve[-1] <= tol * abs(before):
            break
    return W, L, curve


def solve_columns(
    product: Callable[[Floats], Floats], right: Floats, diagonal: Floats, max_steps: int
) -> Floats:
    """Solve a system per column by preconditioned conjugate gradients, from 0.

    Parameters
    ----------
    product : callable
        The matrices of all columns times their columns.
    right : ndarray of shape (n, k)
        Right-hand sides; overwritten.
    diagonal : ndarray of shape (n, k)
        Diagonals of the matrices, the preconditioner.
    max_steps : int
        Fewer are made when every column's residual has fallen to 0.001 of its start.
    """
    solution = np.zeros_like(right)
    residual, scaled = right, right / diagonal
    direction = scaled.copy()
    power = np.einsum("ij,ij->j", residual, scaled, dtype=np.float64)
    goal = CG_TOLERANCE**2 * power
    for _ in range(max_steps):
        if (power <= goal).all():
            break
        image = product(direction)
        step = _ratio(power, np.einsum("ij,ij->j", direction, image, dtype=np.float64))
        solution += step * direction
        residual -= step * image
        np.divide(residual, diagonal, out=scaled)
        previous, power = power, np.einsum("ij,ij->j", residual, scaled, dtype=np.float64)
        direction *= _ratio(power, previous)
        direction += scaled
    return solution


def newton_step(
    start: Floats,
    value: Callable[[Floats], float],
    gradient: Floats,
    product: Callable[[Floats], Floats],
    cg_steps: int,
) -> Floats:
    """Return ``start`` moved along an inexact Newton direction to a lower value, or as it is.

    ``product`` multiplies the Hessian at ``start``; the step is halved until the value has fallen
    by a share of what the slope promises.
    """
    flat = -gradient.reshape(-1, 1)
    direction = solve_columns(
        lambda d: product(d.reshape(start.shape)).reshape(-1, 1),
        flat,
        np.ones_like(flat),
        cg_steps,
    ).reshape(start.shape)
    slope = float(np.vdot(gradient, direction))
    before, length = value(start), np.float32(1.0)
    # Truncated conjugate gradients from 0 always give a direction of descent.
    for _ in range(LINE_SEARCH_STEPS):
        moved: Floats = start + length * direction
        if value(moved) <= before + SUFFICIENT_DECREASE * float(length) * slope:
            return moved
        length /= 2
    return start


def penalty(l2: float, W: Floats, L: Floats) -> float:
    """Return ``l2/2 (||W||^2 + ||L||^2)``."""
    squares = sum(float(np.einsum("ij,ij->", V, V, dtype=np.float64)) for V in (W, L))
    return 0.5 * l2 * squares


def _gram(V: Floats) -> NDArray[np.float64]:
    return (V.T @ V).astype(np.float64)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> Floats:
    """Return quotients, 0 where nothing is left to divide."""
    safe = np.where(below > 0, below, 1)
    return np.where(below > 0, above / safe, 0).astype(np.float32)
