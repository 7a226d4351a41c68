"""Sparse recovery: the few labels whose columns of a random matrix add up to given codes.

All functions take a block of codes ``Z`` (n_samples, k), the matrix ``A`` (k, n_labels) and the
number of labels wanted, and return labels (n_samples, sparsity) with their coefficients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmls.models.lsdr.label_operator import Floats

Labels = NDArray[np.int64]
Support = tuple[Labels, Floats]

# Bounds the gathered columns: 256 x sparsity x k numbers at once.
SOLVE_ROWS = 256
COSAMP_STEPS = 8
LASSO_STEPS = 60
# At the largest correlation itself the solution would be 0.
LASSO_SHARE = 0.1


def matching_pursuit(Z: Floats, A: Floats, sparsity: int) -> Support:
    """Take the label that correlates best with what is left, fit again, repeat (OMP)."""
    labels = np.empty((len(Z), sparsity), dtype=np.int64)
    coefficients: Floats = np.zeros((len(Z), 0))
    residual = Z
    rows = np.arange(len(Z))
    for step in range(sparsity):
        correlation = np.abs(residual @ A)
        # Below every correlation: no label is taken twice.
        correlation[rows[:, None], labels[:, :step]] = -1.0
        labels[:, step] = correlation.argmax(axis=1)
        coefficients, residual = _least_squares(Z, A, labels[:, : step + 1])
    return labels, coefficients


def cosamp(Z: Floats, A: Floats, sparsity: int) -> Support:
    """Merge twice as many candidates into the support, fit, keep the largest, repeat (CoSaMP)."""
    n_labels = A.shape[1]
    labels = _largest(np.abs(Z @ A), sparsity)
    coefficients, residual = _least_squares(Z, A, labels)
    for _ in range(COSAMP_STEPS):
        correlation = np.abs(residual @ A)
        np.put_along_axis(correlation, labels, -1.0, axis=1)
        # 2 s candidates beside the s kept (Needell and Tropp, 2009): wrong ones can still be
        # replaced.
        more = _largest(correlation, min(2 * sparsity, n_labels - sparsity))
        merged = np.concatenate([labels, more], axis=1)
        wide, _ = _least_squares(Z, A, merged)
        best = _largest(np.abs(wide), sparsity)
        labels = np.take_along_axis(merged, best, axis=1)
        coefficients, residual = _least_squares(Z, A, labels)
    return labels, coefficients


def lasso(Z: Floats, A: Floats, sparsity: int) -> Support:
    """Minimise ``||z - A y||^2 / 2 + lambda |y|_1`` by accelerated proximal steps (FISTA).

    lambda is a tenth of the largest correlation of the row; the largest entries are returned.
    """
    # The reciprocal of the largest eigenvalue of A'A: the longest step that surely descends.
    length = 1.0 / max(float(np.linalg.norm(A @ A.T, 2)), 1e-12)
    correlation = Z @ A
    cut = LASSO_SHARE * np.abs(correlation).max(axis=1, keepdims=True) * length
    y = np.zeros_like(correlation)
    ahead, momentum = y, 1.0
    for _ in range(LASSO_STEPS):
        moved = ahead - length * ((ahead @ A.T) @ A - correlation)
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - cut, 0.0)
        # Momentum of Beck and Teboulle (2009): an error of 1/t^2 after t steps instead of 1/t.
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = shrunk + (momentum - 1) / following * (shrunk - y)
        y, momentum = shrunk, following
    labels = _largest(np.abs(y), sparsity)
    return labels, np.take_along_axis(y, labels, axis=1)


RECOVERIES = {"omp": matching_pursuit, "cosamp": cosamp, "lasso": lasso}


def _largest(values: Floats, count: int) -> Labels:
    if count >= values.shape[1]:
        return np.tile(np.arange(values.shape[1]), (len(values), 1))
    return np.argpartition(-values, count - 1, axis=1)[:, :count]


def _least_squares(Z: Floats, A: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Fit every row of ``Z`` with its own columns of ``A``; returns coefficients and residuals."""
    coefficients = np.empty(labels.shape)
    residual = np.empty_like(Z)
    columns = A.T
    for start in range(0, len(Z), SOLVE_ROWS):
        block = slice(start, start + SOLVE_ROWS)
        atoms = columns[labels[block]]
        gram = atoms @ atoms.transpose(0, 2, 1)
        # Columns may repeat or depend on one another when there are more labels than codes.
        gram += 1e-8 * np.eye(labels.shape[1])
        targets = atoms @ Z[block][:, :, None]
        solution = np.linalg.solve(gram, targets)
        coefficients[block] = solution[:, :, 0]
        residual[block] = Z[block] - (solution.transpose(0, 2, 1) @ atoms)[:, 0]
    return coefficients, residual
