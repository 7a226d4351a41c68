"""Which device a name stands for: opened with a sentence where it is not there.

This file alone is imported without PyTorch.
"""

from __future__ import annotations

import logging
import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rmls.core.errors import InputError
from rmls.kernels.arrays import LabelledRows, Leading, Objective, Pairs, Params, Problem
from rmls.kernels.cpu.backend import CpuBackend, Floats, Labels
from rmls.kernels.some_labels import count_pairs

LOG = logging.getLogger("rmls")
# Below, the CPU has finished before a device has its data: numbers that are moved or multiplied.
LARGE_WORK = 50_000_000
CPU = CpuBackend()


def open_cuda() -> Any:
    """Return the backend of the GPU."""
    if find_spec("torch") is None:
        raise InputError(
            "device='cuda' needs PyTorch; pip install 'rmls[gpu]', or use device='cpu'."
        )
    if not import_module("torch").cuda.is_available():
        raise InputError(
            "device='cuda' needs an NVIDIA GPU that PyTorch can use, and there is none; use "
            "device='cpu'."
        )
    # Set by torchrun: processes of one machine take a device each.
    number = os.environ.get("LOCAL_RANK")
    if number is not None:
        import_module("rmls.kernels.gpu.cluster").take_device(int(number))
    return import_module("rmls.kernels.gpu.backend").TorchBackend("cuda")


class AutoBackend(CpuBackend):
    """The CPU, and the GPU where there is one and the work is large."""

    def __init__(self) -> None:
        self._gpu: Any = None
        self._looked = False

    def _choose(self, work: float, name: str) -> Any:
        """Return the GPU for large work and say so; else None."""
        if work < LARGE_WORK:
            return None
        if not self._looked:
            self._looked = True
            try:
                self._gpu = open_cuda()
            except InputError:
                LOG.info("no GPU to use: everything runs on the CPU")
        if self._gpu is not None:
            LOG.info("%s on the GPU", name)
        return self._gpu

    def start_passes(
        self,
        rows: LabelledRows,
        params: Params,
        accumulators: Params,
        objective: Objective,
        **limits: Any,
    ) -> Any:
        """Return the training of these parameters, where it is faster."""
        work = len(rows.y_indices) * objective.negatives_per_positive + len(rows.x_indices)
        gpu = self._choose(work * len(params.b), "training of vectors")
        return (gpu or CPU).start_passes(rows, params, accumulators, objective, **limits)

    def best_labels(
        self, hidden: Floats, vectors: Floats, bias: Floats, k: int
    ) -> tuple[Labels, Floats]:
        """Return the best labels of every row."""
        gpu = self._choose(hidden.size * len(vectors) / 100, "search of labels")
        found: tuple[Labels, Floats] = (gpu or CPU).best_labels(hidden, vectors, bias, k)
        return found

    def best_leading(
        self, hidden: Floats, vectors: Floats, bias: Floats, leading: Leading, k: int
    ) -> tuple[Labels, Floats]:
        """Return the best labels of every row, of those that lead by a part of the vectors."""
        gpu = self._choose(hidden.size * len(vectors) / 100, "search of labels")
        found: tuple[Labels, Floats] = (gpu or CPU).best_leading(hidden, vectors, bias, leading, k)
        return found

    def solve_classifiers(
        self,
        problem: Problem,
        pairs: Pairs,
        duals: Floats,
        n_features: int,
        n_threads: int,
        tick: Any = None,
        labels: Any = None,
    ) -> Any:
        """Train the classifiers of some labels."""
        work = count_pairs(pairs, labels) * (len(problem.x_data) / max(len(problem.costs), 1))
        gpu = self._choose(work, "training of classifiers")
        given = (problem, pairs, duals, n_features, n_threads, tick, labels)
        return (gpu or CPU).solve_classifiers(*given)

    def solve_all(
        self, problem: Problem, relevant: Pairs, n_features: int, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Train the classifiers of all labels on all rows."""
        gpu = self._choose(len(relevant.n_relevant) * len(problem.x_data) / 10, "one-vs-rest")
        found: tuple[Floats, Floats] = (gpu or CPU).solve_all(
            problem, relevant, n_features, n_threads
        )
        return found
