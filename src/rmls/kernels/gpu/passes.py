"""Passes of RMLS on a device: rows, parameters and accumulators stay there between batches.

A pass is drawn and laid out piece by piece (`draws`, `plan`) and made batch by batch, by the plain
step or the fused one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from rmls.kernels.arrays import LabelledRows, Objective, Params, Visits
from rmls.kernels.gpu.draws import choose_labels, mark_labels
from rmls.kernels.gpu.memory import told_of_memory
from rmls.kernels.gpu.plain_step import Model, Steps, make_step
from rmls.kernels.gpu.plan import lay_out

# Entries that are laid out at once: some 60 bytes each.
PIECE_ENTRIES = 1 << 27
# Longest step of a row, in learning rates.
LONGEST = 0.5
STEPS_A_PASS, FEWEST_STEPS, HITS_A_LABEL = 100, 64, 8
MIN_BATCH, MAX_BATCH = 64, 512
# For Triton's interpreter.
FUSE_ANYWHERE = False


class DeviceRows(NamedTuple):
    """The arrays of a CSR matrix on a device."""

    indptr: Any
    indices: Any
    data: Any


class Tables(NamedTuple):
    """What a sampler looks into, on a device."""

    label_shift: Any
    alias: Any
    tries: Any


class TorchPasses:
    """Training of vectors on a device; `pull` brings the parameters back."""

    def __init__(
        self,
        rows: LabelledRows,
        params: Params,
        accumulators: Params,
        objective: Objective,
        batch_size: int,
        max_feature_norm: float | None,
        device: str,
    ) -> None:
        self.device, self.objective = device, objective
        self.targets = (params, accumulators)
        # A batch of one on the CPU; here many visits go together, each as if it were alone.
        self.steps = Steps(batch_size == 1, LONGEST)
        self.batch_size = self._choose_batch(rows, len(params.L)) if batch_size == 1 else batch_size
        self.max_feature_norm = max_feature_norm
        self.labelled = mark_labels(
            self._put(rows.y_indptr), self._put(rows.y_indices), len(params.L)
        )
        X = DeviceRows(*(self._put(array) for array in rows[:3]))
        bound = objective.max_label_norm
        self.model = Model(
            Params(*(self._put(array) for array in params)),
            Params(*(self._put(array) for array in accumulators)),
            X,
            self._put(objective.label_weight),
            self._put(bound) if len(bound) else None,
        )
        sampler = objective.sampler
        alias = sampler.alias.astype(np.int64)
        self.fused = self._fuse(objective)
        self.tables = Tables(
            self._put(sampler.label_shift), self._put(alias), self._put(sampler.tries)
        )

    def _choose_batch(self, rows: LabelledRows, n_labels: int) -> int:
        n_rows = len(rows.y_indptr) - 1
        n_relevant = len(rows.y_indices) / max(n_rows, 1)
        return choose_batch(n_rows, n_labels, n_relevant + self._n_drawn(n_relevant, n_labels))

    def _n_drawn(self, n_relevant: float, n_labels: int) -> float:
        """Return how many irrelevant labels a row with so many relevant ones draws."""
        objective = self.objective
        wanted = max(objective.negatives_per_positive * n_relevant, objective.min_negatives)
        return n_labels if objective.all_negatives else min(wanted, n_labels)

    def _n_tries(self, n_relevant: float, n_labels: int) -> float:
        """Return how many draws that takes; those of a union are not bounded by the labels."""
        objective, drawn = self.objective, self._n_drawn(n_relevant, n_labels)
        if not objective.sampler.union:
            return drawn
        return max(drawn, objective.negatives_per_positive * n_relevant, objective.min_negatives)

    def _fuse(self, objective: Objective) -> Any:
        """Return the steps as kernels, on a device that runs them and for losses they know."""
        if not (self.device.startswith("cuda") or FUSE_ANYWHERE):
            return None
        from rmls.kernels.gpu.fused_step import FUSED_LOSSES, MAX_COMPONENTS, FusedSteps

        width = self.model.params.W.shape[1]
        if objective.loss >= FUSED_LOSSES or width > MAX_COMPONENTS:
            return None
        return FusedSteps(self.model, objective, self.steps, self.batch_size)

    def _put(self, array: np.ndarray) -> Any:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, copy=True)

    def run(
        self, visits: Visits, tick: Callable[[float], None] | None = None
    ) -> tuple[float, float]:
        """Make the visits of a pass; returns summed loss and weight of the measured ones."""
        with told_of_memory("use fewer components or negatives, or device='cpu'"):
            return self._run(visits, tick)

    def _run(self, visits: Visits, tick: Callable[[float], None] | None) -> tuple[float, float]:
        rows = self._put(visits.rows.astype(np.int64))
        weights, keys = self._put(visits.weights), self._put(visits.keys.view(np.int64))
        rates = self._put(batch_rates(visits, self.batch_size))
        losses = []
        cuts = self._cut(visits)
        for start, stop in pairwise(cuts):
            part = slice(start, stop)
            batches = slice(start // self.batch_size, -(-stop // self.batch_size))
            drawn = choose_labels(
                self.labelled, rows[part], keys[part], self.objective, self.tables
            )
            given = (rows[part], weights[part], keys[part], rates[batches])
            shape = (len(self.model.params.W), len(self.model.params.L))
            layout = lay_out(given, self.model.X, drawn, self.batch_size, shape)
            losses.append(self._run_layout(layout))
            self._project()
            if tick is not None:
                tick(stop / len(visits.rows))
        measured = torch.cat(losses)[:: visits.loss_stride].to(torch.float64).sum()
        return float(measured), float(weights[:: visits.loss_stride].to(torch.float64).sum())

    def _run_layout(self, layout: Any) -> Any:
        if self.fused is not None:
            return self.fused.run(layout)
        return torch.cat(
            [
                make_step(self.model, layout, self.objective, self.steps, batch)
                for batch in range(len(layout.rates))
            ]
        )

    def _cut(self, visits: Visits) -> list[int]:
        """Return where the pieces of a pass begin and end, at ends of batches."""
        n_visits = len(visits.rows)
        n_relevant = len(self.labelled.indices) / max(len(self.labelled.indptr) - 1, 1)
        drawn = self._n_tries(n_relevant, self.labelled.n_labels)
        x_entries = len(self.model.X.indices) / max(len(self.model.X.indptr) - 1, 1)
        entries = n_visits * (n_relevant + drawn + x_entries)
        n_pieces = max(1 if self.max_feature_norm is None else 4, -(-int(entries) // PIECE_ENTRIES))
        n_batches = -(-n_visits // self.batch_size)
        ends = np.linspace(0, n_batches, min(n_pieces, n_batches) + 1).round().astype(int)
        return [min(int(end) * self.batch_size, n_visits) for end in ends]

    def _project(self) -> None:
        """Bring ``W`` within its bound."""
        if self.max_feature_norm is not None:
            W = self.model.params.W
            W *= (self.max_feature_norm / (W * W).sum()).clamp(max=1.0).sqrt()

    def pull(self) -> None:
        """Write the parameters and accumulators to the arrays that the training started from."""
        for target, own in zip(self.targets, (self.model.params, self.model.sums), strict=True):
            for array, values in zip(target, own, strict=True):
                array[...] = values.cpu().numpy()


def batch_rates(visits: Visits, batch_size: int) -> np.ndarray:
    """Return the learning rate of every batch: that of its last visit."""
    n_visits = len(visits.rows)
    slowdown = (visits.first_rate - visits.last_rate) / n_visits
    last = np.minimum(np.arange(batch_size, n_visits + batch_size, batch_size), n_visits) - 1
    return (visits.first_rate - slowdown * last).astype(np.float32)


def choose_batch(n_rows: int, n_labels: int, entries: float) -> int:
    """Return how many visits go together where the model asks for one at a time.

    ``entries`` is the number of labels that a visit looks at. A pass needs some hundred steps, and
    a label that most visits of a batch push away does not hear the one that has it.
    """
    wanted = min(n_rows / STEPS_A_PASS, HITS_A_LABEL * n_labels / max(entries, 1.0), MAX_BATCH)
    # A few rows are visited in more steps than their number asks for.
    size = max(2, min(MIN_BATCH, n_rows // FEWEST_STEPS))
    while 2 * size <= wanted:
        size *= 2
    return size
