"""The step of a batch that looks at all labels, as products of matrices and Triton kernels.

Scores of the batch with a chunk of labels become slopes in place; products with the labels and
with the vectors of the batch are the gradients. `plain_step.make_dense_step` is the same in plain
PyTorch.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from rmls.kernels.arrays import Objective
from rmls.kernels.gpu.fused_move import _move_number, _take_step
from rmls.kernels.gpu.fused_step import FusedSteps, Jobs, Prepared, Room
from rmls.kernels.gpu.fused_visit import _slope_of_loss, _value_of_loss
from rmls.kernels.gpu.plain_step import SCORES, Model, Steps, activation_slope, fast_products
from rmls.kernels.gpu.plan import Layout

BLOCK = 1024
STAT_LABELS, STAT_ROWS = 64, 16


@triton.jit(do_not_specialize=["first", "start", "n_labels", "n_blocks"])
def slopes_kernel(
    scores, first, start, n_labels, weights_ptr, share_ptr, e_indptr, e_labels, label_weight,
    losses, n_blocks, LOSS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Turn scores into slopes; the losses of a visit are added up block by block."""
    local, block = tl.program_id(0), tl.program_id(1)
    visit = first + local
    column = block * BLOCK + tl.arange(0, BLOCK)
    there = column < n_labels
    label = start + column
    place = scores + local.to(tl.int64) * n_labels + column
    score = tl.load(place, mask=there, other=0.0)
    weight = tl.load(weights_ptr + visit)
    relevant = column < 0
    for at in range(tl.load(e_indptr + visit), tl.load(e_indptr + visit + 1)):
        relevant = relevant | (label == tl.load(e_labels + at))
    own = weight * tl.load(label_weight + label, mask=there, other=0.0)
    scale = tl.where(relevant, own, weight * tl.load(share_ptr + visit))
    scale = tl.where(there, scale, 0.0)
    target = tl.where(relevant, 1.0, -1.0)
    tl.store(place, scale * _slope_of_loss(score, target, LOSS), mask=there)
    loss = tl.sum(scale * _value_of_loss(score, target, LOSS), axis=0)
    tl.store(losses + local * n_blocks + block, loss)


@triton.jit(do_not_specialize=["n_here", "n_labels"])
def stats_kernel(
    slopes, n_here, n_labels, squares, stats,
    BLOCKS: tl.constexpr, LABELS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write of every label: squares of its gradients, sum, sum of squares and number of slopes."""
    column = tl.program_id(0) * LABELS + tl.arange(0, LABELS)
    there = column < n_labels
    added = tl.zeros([ROWS, LABELS], tl.float32)
    numbers, number_squares, count = added, added, added
    for at in range(0, n_here, ROWS):
        row = at + tl.arange(0, ROWS)
        known = row < n_here
        both = known[:, None] & there[None, :]
        place = slopes + row.to(tl.int64)[:, None] * n_labels + column[None, :]
        slope = tl.load(place, mask=both, other=0.0)
        parts = squares + row[:, None] * BLOCKS + tl.arange(0, BLOCKS)[None, :]
        square = tl.sum(tl.load(parts, mask=known[:, None], other=0.0), axis=1)
        added += slope * slope * square[:, None]
        numbers += slope
        number_squares += slope * slope
        count += (slope != 0).to(tl.float32)
    tl.store(stats + column, tl.sum(added, axis=0), mask=there)
    tl.store(stats + n_labels + column, tl.sum(numbers, axis=0), mask=there)
    tl.store(stats + 2 * n_labels + column, tl.sum(number_squares, axis=0), mask=there)
    tl.store(stats + 3 * n_labels + column, tl.sum(count, axis=0), mask=there)


@triton.jit(do_not_specialize=["batch", "n_here", "start", "n_labels"])
def dense_move_kernel(
    batch, n_here, start, n_labels, stats, moves, elements_ptr, L, c, sum_L, sum_c, bound, rates,
    decay, longest,
    K: tl.constexpr, BK: tl.constexpr, ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr,
    BOUNDED: tl.constexpr, INTERCEPT: tl.constexpr,
):  # fmt: skip
    """Move every label of a chunk."""
    number = tl.program_id(0)
    row = (start + number).to(tl.int64)
    ks = tl.arange(0, BK)
    real = ks < K
    old = tl.load(L + row * K + ks, mask=real, other=0.0)
    total = tl.load(moves + number.to(tl.int64) * K + ks, mask=real, other=0.0)
    elements = total
    if ELEMENTWISE:
        elements = tl.load(elements_ptr + number.to(tl.int64) * K + ks, mask=real, other=0.0)
        before = tl.load(sum_L + row * K + ks, mask=real, other=1.0)
    else:
        before = tl.load(sum_L + row)
    added = tl.load(stats + number)
    count = tl.load(stats + 3 * n_labels + number)
    rate = tl.load(rates + batch)
    due = count
    if decay > 0:
        due = n_here.to(tl.float32)
    if due > 0:
        _take_step(
            L, sum_L, row, old, before, total, elements, added, count, due, bound,
            rate, decay, longest, K, BK, ELEMENTWISE, ALONE, BOUNDED,
        )  # fmt: skip
    if INTERCEPT:
        numbers = tl.load(stats + n_labels + number)
        number_squares = tl.load(stats + 2 * n_labels + number)
        _move_number(c, sum_c, row, numbers, number_squares, count, rate, longest, ALONE)


class FusedDense(FusedSteps):
    """Working memory of a batch with a chunk of labels, and the launches of its kernels."""

    def __init__(self, model: Model, objective: Objective, steps: Steps, batch_size: int) -> None:
        super().__init__(model, objective, steps, batch_size)
        (m, k), device = model.params.L.shape, self.h.device
        self.chunk = min(m, max(1, SCORES // batch_size))
        self.scores = torch.empty(batch_size * self.chunk, device=device)
        self.moves = torch.empty((self.chunk, k), device=device)
        self.stats = torch.empty(4 * self.chunk, device=device)
        self.losses = torch.zeros(batch_size * triton.cdiv(self.chunk, BLOCK), device=device)

    def prepare(self, layout: Layout) -> Prepared:
        """Return what the kernels read: labels are not moved one by one."""
        prepared = super().prepare(layout)
        ends = torch.zeros_like(prepared.labels.batches)
        nothing = Jobs(ends, ends[:-1], ends[:1], ends[:1])
        return prepared._replace(labels=nothing)

    def launch(self, given: Prepared, n_visits: int, batch: int, room: Room) -> None:
        """Launch the kernels of one batch."""
        first = batch * self.batch_size
        n_here = min(self.batch_size, n_visits - first)
        self._represent(given, first, n_here)
        h, back = self.h[:n_here], self.back[:n_here]
        back.zero_()
        losses = room.losses[first : first + n_here].zero_()
        with fast_products(h):
            for start in range(0, len(self.model.params.L), self.chunk):
                self._move_chunk(given, batch, (first, start), h, back, losses)
        back *= activation_slope(h, self.objective.activation)
        self.squares[1].zero_()
        torch.mean(back * back, dim=1, out=self.squares[1, :n_here, 0])
        self._move_features(given, batch, first, n_here, room)

    def _move_chunk(
        self, given: Prepared, batch: int, at: tuple[int, int], h: Any, back: Any, losses: Any
    ) -> None:
        """Move some labels; adds to the gradients in the vectors and to the losses."""
        (_, _, L, c), sums, objective = self.model.params, self.model.sums, self.objective
        first, start = at
        part, n_here, k = slice(start, start + self.chunk), len(h), h.shape[1]
        size = len(L[part])
        slopes = self.scores[: n_here * size].view(n_here, size)
        torch.addmm(c[part], h, L[part].T, out=slopes)
        n_blocks = triton.cdiv(size, BLOCK)
        slopes_kernel[(n_here, n_blocks)](
            slopes, first, start, size, given.weights, given.share, given.e_indptr,
            given.e_labels, self.model.label_weight, self.losses, n_blocks,
            LOSS=objective.loss, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
        losses += self.losses[: n_here * n_blocks].view(n_here, n_blocks).sum(dim=1)
        back.addmm_(slopes, L[part])
        moves = torch.mm(slopes.T, h, out=self.moves[:size])
        elements = self.none
        if objective.elementwise:
            elements = (slopes * slopes).T @ (h * h)
        stats_kernel[(triton.cdiv(size, STAT_LABELS),)](
            slopes, n_here, size, self.squares[0], self.stats,
            BLOCKS=self.blocks, LABELS=STAT_LABELS, ROWS=STAT_ROWS, num_warps=4,
        )  # fmt: skip
        bound = self.model.max_label_norm
        dense_move_kernel[(size,)](
            batch, n_here, start, size, self.stats, moves, elements, L, c, sums.L, sums.c,
            self.none if bound is None else bound, given.rates,
            2 * float(objective.l2), self.steps.longest,
            K=k, BK=self.width, ELEMENTWISE=objective.elementwise, ALONE=self.steps.alone,
            BOUNDED=bound is not None, INTERCEPT=objective.intercept,
            num_warps=max(1, self.width // 512),
        )  # fmt: skip
