"""The step of a batch as two Triton kernels: visits look at their labels, then every row moves.

The first kernel has a program a visit: it adds up the vector of the row, scores the chosen labels,
writes their slopes to the places where the labels will look for them, and the gradient in the
row's vector. In the second a program takes one row of parameters after another, collects its
gradient from the visits that touched it and moves it: nothing is written twice, no gradient is
ever stored for a row of parameters, and every number is float32.
"""

from __future__ import annotations

from typing import Any

import torch
import triton

from rmls.kernels.arrays import Objective
from rmls.kernels.gpu.fused_move import move_kernel
from rmls.kernels.gpu.fused_visit import visit_kernel
from rmls.kernels.gpu.plain_step import Model, Steps
from rmls.kernels.gpu.plan import Layout

# Losses with a formula here: logistic, squared, squared hinge.
FUSED_LOSSES = 3
MAX_COMPONENTS = 2048
# Rows that a program gathers at once.
VISIT_TILE, MOVE_TILE = 8, 2
VISIT_WARPS, MOVE_WARPS = 2, 1
MOVING_PROGRAMS = 132 * 32
# Fewer batches than this are launched one by one.
RECORDED_BATCHES = 8
BIAS_COLUMNS = 32
BIAS_ROWS = 64


class FusedSteps:
    """Working memory of a batch, the launches of its two kernels, and a graph of a whole pass."""

    def __init__(self, model: Model, objective: Objective, steps: Steps, batch_size: int) -> None:
        self.model, self.objective, self.steps = model, objective, steps
        k, device = model.params.W.shape[1], model.params.W.device
        self.h = torch.empty((batch_size, k), device=device)
        self.back = torch.empty_like(self.h)
        self.squares = torch.empty((2, batch_size), device=device)
        self.width = triton.next_power_of_2(max(k, 16))
        # A thread holds four neighbouring components of every row of a tile.
        self.n_warps = max(1, min(8, self.width // 128))
        self.none = torch.zeros(1, device=device)
        self.recorded: Recorded | None = None
        self.n_runs = 0

    def run(self, layout: Layout) -> Any:
        """Make all batches of a layout; returns the loss of every visit."""
        self.n_runs += 1
        # The first pass compiles the kernels; launches are recorded in the second.
        if self.n_runs > 1 and self.h.is_cuda and len(layout.rates) >= RECORDED_BATCHES:
            if self.recorded is None or not self.recorded.fits(layout):
                self.recorded = Recorded(self, layout)
            return self.recorded.run(layout)
        slopes = torch.empty(len(layout.places), device=self.h.device)
        losses = torch.empty(layout.n_visits, device=self.h.device)
        for batch in range(len(layout.rates)):
            self.launch(layout, batch, slopes, losses)
        return losses

    def launch(self, layout: Layout, batch: int, slopes: Any, losses: Any) -> None:
        """Launch the kernels of one batch."""
        (W, b, L, c), sums = self.model.params, self.model.sums
        drawn, objective, k = layout.drawn, self.objective, W.shape[1]
        first = batch * layout.batch_size
        n_here = min(layout.batch_size, layout.n_visits - first)
        shift = self.none if drawn.shift is None else drawn.shift
        bound, X = self.model.max_label_norm, self.model.X
        visit_kernel[(n_here,)](
            layout.rows, layout.weights, layout.keys, drawn.share, drawn.n_relevant, first,
            layout.n_visits, X.indptr, X.indices, X.data,
            drawn.indptr, drawn.labels, layout.places, shift, self.model.label_weight,
            W, b, L, c, self.h, self.back, self.squares[0], self.squares[1], slopes, losses,
            float(objective.gradient_floor),
            K=k, BK=self.width, TILE=VISIT_TILE, LOSS=objective.loss,
            ACTIVATION=objective.activation, SHIFTED=drawn.shift is not None,
            num_warps=min(8, self.n_warps * VISIT_WARPS),
        )  # fmt: skip
        move_kernel[(MOVING_PROGRAMS,)](
            batch, first, n_here,
            layout.labels.batches, layout.labels.rows, layout.labels.starts, layout.labels.visits,
            slopes, layout.features.batches, layout.features.rows, layout.features.starts,
            layout.features.visits, layout.values,
            self.h, self.back, self.squares[0], self.squares[1],
            W, b, L, c, sums.W, sums.b, sums.L, sums.c,
            self.none if bound is None else bound, layout.rates,
            2 * float(objective.l2), self.steps.longest, MOVING_PROGRAMS,
            K=k, BK=self.width, TILE=MOVE_TILE, COLUMNS=BIAS_COLUMNS, ROWS=BIAS_ROWS,
            ELEMENTWISE=objective.elementwise, ALONE=self.steps.alone, BOUNDED=bound is not None,
            INTERCEPT=objective.intercept,
            N_BIAS=triton.cdiv(k, BIAS_COLUMNS) if objective.intercept else 0,
            num_warps=max(1, self.n_warps // MOVE_WARPS),
        )  # fmt: skip


class Recorded:
    """The launches of a pass as one CUDA graph, over arrays that every pass is copied into.

    A launch costs the host more than most batches cost the device.
    """

    def __init__(self, steps: FusedSteps, layout: Layout) -> None:
        self.shape = (layout.n_visits, layout.batch_size)
        self.layout = _rebuild(layout, [_with_room(each) for each in _tensors(layout)])
        device = steps.h.device
        self.slopes = torch.empty(len(self.layout.places), device=device)
        self.losses = torch.empty(layout.n_visits, device=device)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for batch in range(-(-layout.n_visits // layout.batch_size)):
                steps.launch(self.layout, batch, self.slopes, self.losses)

    def fits(self, layout: Layout) -> bool:
        """Tell whether a layout has the same batches and fits into the arrays."""
        pairs = zip(_tensors(self.layout), _tensors(layout), strict=True)
        same = self.shape == (layout.n_visits, layout.batch_size)
        return same and all(len(own) >= len(other) for own, other in pairs)

    def run(self, layout: Layout) -> Any:
        """Make all batches of a layout; returns the loss of every visit."""
        for own, other in zip(_tensors(self.layout), _tensors(layout), strict=True):
            own[: len(other)].copy_(other)
        self.graph.replay()
        return self.losses.clone()


def _tensors(layout: Layout) -> list[Any]:
    """Return the arrays that the kernels read."""
    drawn, parts = layout.drawn, (layout.labels[:4], layout.features[:4])
    shift = [] if drawn.shift is None else [drawn.shift]
    return [
        *(layout.rows, layout.weights, layout.keys, layout.rates, layout.places, layout.values),
        *(drawn.indptr, drawn.labels, drawn.n_relevant, drawn.share),
        *parts[0],
        *parts[1],
        *shift,
    ]


def _rebuild(layout: Layout, tensors: list[Any]) -> Layout:
    """Return a layout over other arrays, in the order of `_tensors`."""
    names = ("rows", "weights", "keys", "rates", "places", "values")
    drawn = layout.drawn._replace(
        indptr=tensors[6],
        labels=tensors[7],
        n_relevant=tensors[8],
        share=tensors[9],
        shift=tensors[18] if len(tensors) > 18 else None,
    )
    groups: dict[str, Any] = {
        "labels": layout.labels._replace(
            **dict(zip(("batches", "rows", "starts", "visits"), tensors[10:14], strict=True))
        ),
        "features": layout.features._replace(
            **dict(zip(("batches", "rows", "starts", "visits"), tensors[14:18], strict=True))
        ),
    }
    return layout._replace(drawn=drawn, **groups, **dict(zip(names, tensors[:6], strict=True)))


def _with_room(tensor: Any) -> Any:
    """Return an array like this one with room for a tenth more."""
    return torch.zeros(len(tensor) * 11 // 10 + 1024, dtype=tensor.dtype, device=tensor.device)
