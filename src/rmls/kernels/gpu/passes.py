"""Passes of RMLS on a device: parameters and accumulators stay there between batches.

A pass is brought (`rows`), drawn and laid out piece by piece (`draws`, `plan`) and made batch by
batch, by the plain step, the fused one, or the dense one where all labels are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from rmls.kernels.arrays import LabelledRows, Objective, Params, Visits
from rmls.kernels.gpu import cluster
from rmls.kernels.gpu.device import LOG
from rmls.kernels.gpu.draws import choose_labels
from rmls.kernels.gpu.memory import free_bytes, require_bytes, told_of_memory
from rmls.kernels.gpu.plain_step import Model, Steps, is_dense, make_dense_step, make_step
from rmls.kernels.gpu.plan import lay_out
from rmls.kernels.gpu.rows import ResidentRows, StreamedRows, count_bytes

# Entries that are laid out at once, and bytes of each, with those of a piece on its way.
PIECE_ENTRIES, ENTRY_BYTES = 1 << 27, 150
# Longest step of a row, in learning rates.
LONGEST = 0.5
STEPS_A_PASS, FEWEST_STEPS, HITS_A_LABEL = 100, 64, 8
MIN_BATCH, MAX_BATCH = 64, 512
# For Triton's interpreter.
FUSE_ANYWHERE = False


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
        n_rows, self.n_labels = len(rows.y_indptr) - 1, len(params.L)
        self.mean_labels = len(rows.y_indices) / max(n_rows, 1)
        self.mean_features = len(rows.x_indices) / max(n_rows, 1)
        looked = self.mean_labels + self._n_drawn()
        self.batch_size = choose_batch(n_rows, self.n_labels, looked)
        if batch_size > 1:
            self.batch_size = batch_size
        self.max_feature_norm = max_feature_norm
        self.dense = is_dense(objective, self.steps)
        self.model = self._put_model(params, accumulators)
        self.rows = self._put_rows(rows)
        self.fused = self._fuse(objective)
        sampler = objective.sampler
        self.tables = Tables(
            self._put(sampler.label_shift),
            self._put(sampler.alias.astype(np.int64)),
            self._put(sampler.tries),
        )
        self.rank, self.n_processes = cluster.place()
        if self.n_processes > 1:
            cluster.start_together(self.model[:2])

    def _put_model(self, params: Params, accumulators: Params) -> Model:
        d, m, k = len(params.W), len(params.L), len(params.b)
        own = 4 * (d + m) * (1 + 1 / k + accumulators.W.shape[1] / k)
        what = f"{d:,} features and {m:,} labels with {k:,} components"
        require_bytes(k * own, what, self.device, own, "components")
        bound = self.objective.max_label_norm
        return Model(
            Params(*(self._put(array) for array in params)),
            Params(*(self._put(array) for array in accumulators)),
            self._put(self.objective.label_weight),
            self._put(bound) if len(bound) else None,
        )

    def _put_rows(self, rows: LabelledRows) -> ResidentRows | StreamedRows:
        """Put the rows on the device, or leave them with the host where there is little room."""
        free = free_bytes(self.device)
        # The other half is for what is laid out.
        if 2 * count_bytes(rows) <= free:
            return ResidentRows(rows, self.n_labels, self.device)
        LOG.info("rows stay in the memory of the host: %.3g GB are free on the GPU", free / 1e9)
        return StreamedRows(rows, self.n_labels, self.device)

    def _n_drawn(self) -> float:
        """Return how many irrelevant labels a row draws, about."""
        objective = self.objective
        wanted = max(objective.negatives_per_positive * self.mean_labels, objective.min_negatives)
        return self.n_labels if objective.all_negatives else min(wanted, self.n_labels)

    def _n_tries(self) -> float:
        """Return how many draws that takes; those of a union are not bounded by the labels."""
        objective, drawn = self.objective, 0.0 if self.dense else self._n_drawn()
        if not objective.sampler.union:
            return drawn
        wanted = objective.negatives_per_positive * self.mean_labels
        return max(drawn, wanted, objective.min_negatives)

    def _fuse(self, objective: Objective) -> Any:
        """Return the steps as kernels, on a device that runs them and for losses they know."""
        if not (self.device.startswith("cuda") or FUSE_ANYWHERE):
            return None
        from rmls.kernels.gpu.fused_step import FUSED_LOSSES, MAX_COMPONENTS, FusedSteps

        width = self.model.params.W.shape[1]
        if objective.loss >= FUSED_LOSSES or width > MAX_COMPONENTS:
            return None
        if self.dense:
            from rmls.kernels.gpu.fused_dense import FusedDense

            return FusedDense(self.model, objective, self.steps, self.batch_size)
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
        mine = slice(self.rank, None, self.n_processes)
        visits = visits._replace(
            rows=visits.rows[mine], weights=visits.weights[mine], keys=visits.keys[mine]
        )
        weights, keys = self._put(visits.weights), self._put(visits.keys.view(np.int64))
        rates = self._put(batch_rates(visits, self.batch_size))
        losses, cuts = [], self._cut(len(visits.rows))
        shape = (len(self.model.params.W), self.n_labels)
        for (start, stop), piece in zip(
            pairwise(cuts), self.rows.pieces(visits.rows, cuts), strict=True
        ):
            part = slice(start, stop)
            batches = slice(start // self.batch_size, -(-stop // self.batch_size))
            drawn = choose_labels(
                piece.labelled, piece.rows, keys[part], self.objective, self.tables, self.dense
            )
            given = (weights[part], keys[part], rates[batches])
            layout = lay_out(given, piece, drawn, self.batch_size, shape)
            with self._merged():
                losses.append(self._run_layout(layout))
                self._project()
            if tick is not None:
                tick(stop / len(visits.rows))
        measured = torch.cat(losses)[:: visits.loss_stride].to(torch.float64).sum()
        weight = weights[:: visits.loss_stride].to(torch.float64).sum()
        loss, total = cluster.add_up(float(measured), float(weight))
        return loss, total

    @contextmanager
    def _merged(self) -> Iterator[None]:
        """Merge what this process moves meanwhile with what the others do."""
        if self.n_processes == 1:
            yield
            return
        old = [[array.clone() for array in part] for part in self.model[:2]]
        yield
        cluster.merge(*self.model[:2], *old)

    def _run_layout(self, layout: Any) -> Any:
        if self.fused is not None:
            return self.fused.run(layout)
        step = make_dense_step if self.dense else make_step
        return torch.cat(
            [
                step(self.model, layout, self.objective, self.steps, batch)
                for batch in range(len(layout.rates))
            ]
        )

    def _cut(self, n_visits: int) -> list[int]:
        """Return where the pieces of a pass begin and end, at ends of batches."""
        entries = n_visits * (self.mean_labels + self._n_tries() + self.mean_features)
        # Parameters are on the device already: what is free now is for the pieces.
        most = min(PIECE_ENTRIES, max(1.0, free_bytes(self.device) / ENTRY_BYTES))
        least = 1 if self.max_feature_norm is None else 4
        if self.n_processes > 1:
            least = cluster.MERGES
        n_pieces = max(least, -(-int(entries) // int(most)))
        n_batches = -(-n_visits // self.batch_size)
        if self.n_processes > 1:
            # As many in every process: some have a visit more than others.
            n_batches = max(1, n_visits // self.batch_size)
        ends = np.linspace(0, n_batches, min(n_pieces, n_batches) + 1).round().astype(int)
        ends[-1] = -(-n_visits // self.batch_size)
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
