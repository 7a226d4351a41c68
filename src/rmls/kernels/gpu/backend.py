"""The operations of `rmls.kernels.backend.Backend` in PyTorch.

What is cheap, or has no shape that suits a GPU, is left to the CPU backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rmls.core.numeric import NewtonSteps
from rmls.kernels.arrays import (
    DUAL_LOSSES,
    IN_BATCH,
    Csr,
    LabelledRows,
    Leading,
    Objective,
    Pairs,
    Params,
    Problem,
)
from rmls.kernels.cpu.backend import CpuBackend, Floats, Labels
from rmls.kernels.gpu.classifiers import solve_listed
from rmls.kernels.gpu.device import LOG
from rmls.kernels.gpu.draws import put, repeat
from rmls.kernels.gpu.lists import pair_rows, search_labels
from rmls.kernels.gpu.memory import told_of_memory
from rmls.kernels.gpu.newton import fit_logistic
from rmls.kernels.gpu.one_vs_rest import train_all
from rmls.kernels.gpu.passes import TorchPasses
from rmls.kernels.gpu.plain_step import activate
from rmls.kernels.some_labels import count_pairs, solve_copies

SQUARED_HINGE = DUAL_LOSSES.index("squared_hinge")
# Numbers of the terms of rows that exist at once.
TERMS_AT_ONCE = 1 << 28
# Fewer multiplications than this are made before a device has the numbers.
SMALL_WORK = 20_000_000


class TorchBackend(CpuBackend):
    """PyTorch on a device: ``"cuda"``, or ``"cpu"`` to test without one."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = device
        self.small_work = SMALL_WORK if device == "cuda" else 0

    def _put(self, array: Any) -> Any:
        return put(array, self.device)

    def start_passes(
        self,
        rows: LabelledRows,
        params: Params,
        accumulators: Params,
        objective: Objective,
        *,
        batch_size: int,
        n_threads: int,
        max_feature_norm: float | None,
    ) -> Any:
        """Return the training of these parameters, on the device until they are pulled."""
        if objective.sampler.kind == IN_BATCH:
            LOG.info("sampler='in_batch' trains vectors on the CPU: the GPU does not have it")
            return super().start_passes(
                rows,
                params,
                accumulators,
                objective,
                batch_size=batch_size,
                n_threads=n_threads,
                max_feature_norm=max_feature_norm,
            )
        with told_of_memory("use fewer components, or device='cpu'"):
            return TorchPasses(
                rows, params, accumulators, objective, batch_size, max_feature_norm, self.device
            )

    def hidden(self, rows: Csr, params: Params, activation: str) -> Floats:
        """Return ``activation(x W + b)`` of every row."""
        if len(rows.indices) * len(params.b) < self.small_work:
            return super().hidden(rows, params, activation)
        indptr, indices, data = (self._put(array) for array in rows)
        W, out = self._put(params.W), np.empty((len(indptr) - 1, len(params.b)), np.float32)
        # Rows of some features at a time: the terms of a row exist side by side.
        size = max(1, TERMS_AT_ONCE * len(out) // max(len(indices) * len(params.b), 1))
        for start in range(0, len(out), size):
            rows_here = torch.arange(start, min(start + size, len(out)), device=self.device)
            owner, number = repeat(indptr[rows_here + 1] - indptr[rows_here])
            entries = indptr[rows_here][owner] + number
            h = self._put(params.b).repeat(len(rows_here), 1)
            h.index_add_(0, owner, data[entries][:, None] * W[indices[entries].long()])
            kinds = ("tanh", "linear", "relu")
            out[start : start + size] = activate(h, kinds.index(activation)).cpu().numpy()
        return out

    def best_labels(
        self, hidden: Floats, vectors: Floats, bias: Floats, k: int
    ) -> tuple[Labels, Floats]:
        """Return the best labels of every row, from one tile of labels after another."""
        if hidden.size * len(vectors) < self.small_work:
            return super().best_labels(hidden, vectors, bias, k)
        with told_of_memory("use fewer labels at a time, or device='cpu'"):
            return search_labels(hidden, vectors, bias, k, self.device)

    def best_leading(
        self, hidden: Floats, vectors: Floats, bias: Floats, leading: Leading, k: int
    ) -> tuple[Labels, Floats]:
        """Return the best labels of every row: here the product with all of them is cheap."""
        if hidden.size * len(vectors) < self.small_work:
            return super().best_leading(hidden, vectors, bias, leading, k)
        return self.best_labels(hidden, vectors, bias, k)

    def pair_rows(
        self, Y: Csr, listed: Labels, n_labels: int, zeros: Any = np.zeros, part: Any = None
    ) -> Pairs:
        """Return for every label the rows that have it and the rows that list it."""
        if part is not None or listed.size < self.small_work // 10:
            return super().pair_rows(Y, listed, n_labels, zeros, part)
        with told_of_memory("use a smaller shortlist_size, or device='cpu'"):
            return pair_rows(Y, listed, n_labels, zeros, self.device)

    def fit_logistic(
        self,
        design: Floats,
        total: Floats,
        positive: Floats,
        ridge: float,
        steps: NewtonSteps,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return the coefficients of a logistic regression."""
        if design.size < self.small_work // 10:
            return super().fit_logistic(design, total, positive, ridge, steps, n_threads)
        rows, weights, right = (
            self._put(np.asarray(each, np.float32)) for each in (design, total, positive)
        )
        return fit_logistic(rows, weights, right, ridge, steps)

    def solve_classifiers(
        self,
        problem: Problem,
        pairs: Pairs,
        duals: Floats,
        n_features: int,
        n_threads: int,
        tick: Callable[[float], None] | None = None,
        labels: NDArray[np.int64] | None = None,
    ) -> Any:
        """Train the classifiers of some labels at once, by Newton's method."""
        n_pairs = count_pairs(pairs, labels)
        small = n_pairs * len(problem.x_data) <= self.small_work * len(problem.costs)
        if problem.loss != SQUARED_HINGE or small:
            given = (problem, pairs, duals, n_features, n_threads, tick, labels)
            return super().solve_classifiers(*given)

        def solve(problem: Problem, pairs: Pairs, duals: Floats) -> Any:
            return solve_listed(problem, pairs, duals, n_features, self.device, tick)

        with told_of_memory("use a smaller shortlist_size, or device='cpu'"):
            return solve_copies(solve, problem, pairs, duals, labels)

    def solve_all(
        self, problem: Problem, relevant: Pairs, n_features: int, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Train the classifiers of all labels on all rows."""
        with told_of_memory("use fewer labels, or device='cpu'"):
            return train_all(problem, relevant, n_features, self.device)
