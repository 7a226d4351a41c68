"""The step of a batch as Triton kernels: visits look at their labels, then every row moves.

The vectors of the visits are added up, a few components in a program; then the chosen labels are
scored, and their slopes written where visits and labels will look for them; then the gradients in
the vectors are added up, as the vectors were. At last every touched row of parameters collects its
gradient from the visits that touched it and moves, in one kernel for rows of few visits and
another for those of many: nothing is written twice, no gradient is ever stored for a row of
parameters, and every number is float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton

from rmls.kernels.arrays import Objective
from rmls.kernels.gpu.fused_move import heavy_kernel, light_kernel
from rmls.kernels.gpu.fused_visit import back_kernel, represent_kernel, score_kernel
from rmls.kernels.gpu.plain_step import Model, Steps
from rmls.kernels.gpu.plan import Groups, Layout

# Losses with a formula here: logistic, squared, squared hinge.
FUSED_LOSSES = 3
MAX_COMPONENTS = 2048
# Rows that a program gathers at once, and its warps: to add up, to score, of heavy rows.
SUM_TILE, SUM_WARPS, SUM_COLUMNS = 16, 4, 256
SCORE_TILE, SCORE_WARPS, SCORE_PROGRAMS = 1, 1, 132 * 32
HEAVY_TILE, HEAVY_WARPS = 16, 8
LIGHT_PROGRAMS, HEAVY_PROGRAMS = 132 * 100, 132 * 2
# Most visits of a light row.
LIGHT = 6
# Fewer batches than this are launched one by one.
RECORDED_BATCHES = 8
# Pieces of a pass differ by a batch: graphs that are kept.
MAX_RECORDED = 4
BIAS_COLUMNS = 32
BIAS_ROWS = 64


class Jobs(NamedTuple):
    """Rows of parameters that move in every batch, heavy ones first.

    A job is (row, first place, end of its places, first visit). Those of batch b are
    ``jobs[batches[b]:batches[b + 1]]``, of which the light ones begin at ``lights[b]``.
    """

    batches: Any
    lights: Any
    jobs: Any
    visits: Any


class Prepared(NamedTuple):
    """The arrays of a layout that the kernels read; those that are not there have no numbers."""

    weights: Any
    keys: Any
    rates: Any
    x_indptr: Any
    x_indices: Any
    x_data: Any
    e_indptr: Any
    e_visits: Any
    e_labels: Any
    n_relevant: Any
    share: Any
    shift: Any
    places: Any
    values: Any
    labels: Jobs
    features: Jobs

    def arrays(self) -> list[Any]:
        """Return all arrays, one after another."""
        return [*self[:14], *self.labels, *self.features]

    @classmethod
    def over(cls, arrays: list[Any]) -> Prepared:
        """Return the same from the arrays."""
        jobs = [Jobs(*arrays[14:18]), Jobs(*arrays[18:])]
        return cls(*[*arrays[:14], *jobs])


class Room(NamedTuple):
    """Slopes in the order of the labels; slopes and losses in that of the visits, and by visit."""

    slopes: Any
    own_slopes: Any
    own_losses: Any
    losses: Any

    @classmethod
    def of(cls, n_visits: int, n_entries: int, device: Any) -> Room:
        """Return room for so many visits and chosen labels."""
        sizes = (n_entries, n_entries, n_entries, n_visits)
        return cls(*(torch.empty(size, device=device) for size in sizes))


def make_jobs(groups: Groups) -> Jobs:
    """Return the groups of every batch as jobs, heavy ones first."""
    begins, ends, batches = groups.starts[:-1], groups.starts[1:], groups.batches
    n_batches, n_groups = len(batches) - 1, len(begins)
    device = begins.device
    batch = torch.repeat_interleave(
        torch.arange(n_batches, device=device), batches.diff(), output_size=n_groups
    )
    heavy = ends - begins > LIGHT
    # Heavy jobs before a job, among all; a light one also steps over those of its batch behind it.
    before = torch.zeros(n_groups + 1, dtype=torch.int32, device=device)
    torch.cumsum(heavy, 0, out=before[1:])
    at_start = before[batches.long()]
    lights = batches[:-1] + at_start.diff()
    number = torch.arange(n_groups, dtype=torch.int32, device=device)
    place = torch.where(
        heavy,
        batches[batch] + before[:-1] - at_start[batch],
        number + at_start[batch + 1] - before[:-1],
    )
    jobs = torch.empty((n_groups, 4), dtype=torch.int32, device=device)
    found = torch.stack([groups.rows, begins, ends, groups.visits[begins.long()]], dim=1)
    jobs[place.long()] = found
    return Jobs(batches, lights, jobs.view(-1), groups.visits)


class FusedSteps:
    """Working memory of a batch, the launches of its kernels, and a graph of a whole pass."""

    def __init__(self, model: Model, objective: Objective, steps: Steps, batch_size: int) -> None:
        self.model, self.objective, self.steps = model, objective, steps
        k, device = model.params.W.shape[1], model.params.W.device
        self.batch_size = batch_size
        self.h = torch.empty((batch_size, k), device=device)
        self.back = torch.empty_like(self.h)
        self.width = triton.next_power_of_2(max(k, 16))
        self.columns = min(SUM_COLUMNS, self.width)
        self.blocks = self.width // self.columns
        # Of h and of back, in parts; those behind the last component stay 0.
        self.squares = torch.zeros((2, batch_size, self.blocks), device=device)
        self.none = torch.zeros(1, device=device)
        # Light and heavy rows are others, so that both kernels may run at once.
        self.side = torch.cuda.Stream() if self.h.is_cuda else None
        self.recorded: list[Recorded] = []
        self.n_runs = 0

    def run(self, layout: Layout) -> Any:
        """Make all batches of a layout; returns the loss of every visit."""
        self.n_runs += 1
        prepared = self.prepare(layout)
        # The first pass compiles the kernels; launches are recorded in the second.
        if self.n_runs > 1 and self.h.is_cuda and len(layout.rates) >= RECORDED_BATCHES:
            return self._recorded(prepared).run(prepared)
        room = Room.of(layout.n_visits, len(layout.places), self.h.device)
        for batch in range(len(layout.rates)):
            self.launch(prepared, layout.n_visits, batch, room)
        return room.losses

    def _recorded(self, given: Prepared) -> Recorded:
        """Return a graph of these batches, the last one used."""
        found = [each for each in self.recorded if each.fits(given)]
        graph = found[0] if found else Recorded(self, given)
        others = [each for each in self.recorded if each is not graph]
        self.recorded = [graph, *others][:MAX_RECORDED]
        return graph

    def prepare(self, layout: Layout) -> Prepared:
        """Return what the kernels read."""
        drawn, x = layout.drawn, layout.x
        shift = x.data[:0] if drawn.shift is None else drawn.shift
        owners = layout.owners.to(torch.int32)
        return Prepared(
            *(layout.weights, layout.keys, layout.rates, x.indptr, x.indices, x.data),
            *(drawn.indptr, owners, drawn.labels, drawn.n_relevant, drawn.share, shift),
            *(layout.places, layout.values, make_jobs(layout.labels), make_jobs(layout.features)),
        )

    def launch(self, given: Prepared, n_visits: int, batch: int, room: Room) -> None:
        """Launch the kernels of one batch."""
        first = batch * self.batch_size
        n_here = min(self.batch_size, n_visits - first)
        self._represent(given, first, n_here)
        self._look_at_labels(given, first, n_here, room)
        self._move_features(given, batch, first, n_here, room)

    def _move_features(
        self, given: Prepared, batch: int, first: int, n_here: int, room: Room
    ) -> None:
        """Move all rows of parameters of a batch that are jobs."""
        if self.side is None:
            self._move_heavy(given, batch, first, n_here, room.slopes)
            self._move_light(given, batch, first, room.slopes)
            return
        here = torch.cuda.current_stream()
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            self._move_heavy(given, batch, first, n_here, room.slopes)
        self._move_light(given, batch, first, room.slopes)
        here.wait_stream(self.side)

    def _sizes(self) -> dict[str, Any]:
        """Return what the kernels that add up rows are compiled for."""
        sizes = {"K": self.h.shape[1], "COLUMNS": self.columns, "BLOCKS": self.blocks}
        sizes |= {"TILE": SUM_TILE, "ACTIVATION": self.objective.activation}
        return {**sizes, "num_warps": SUM_WARPS}

    def _represent(self, given: Prepared, first: int, n_here: int) -> None:
        W, b = self.model.params.W, self.model.params.b
        represent_kernel[(n_here, triton.cdiv(len(b), self.columns))](
            first, given.x_indptr, given.x_indices, given.x_data, W, b, self.h, self.squares[0],
            **self._sizes(),
        )  # fmt: skip

    def _look_at_labels(self, given: Prepared, first: int, n_here: int, room: Room) -> None:
        L, c, k = self.model.params.L, self.model.params.c, self.h.shape[1]
        score_kernel[(SCORE_PROGRAMS,)](
            first, n_here, SCORE_PROGRAMS,
            given.weights, given.keys, given.share, given.n_relevant,
            given.e_indptr, given.e_visits, given.e_labels, given.places, given.shift,
            self.model.label_weight, L, c, self.h, room.own_slopes, room.slopes, room.own_losses,
            float(self.objective.gradient_floor),
            K=k, BK=self.width, TILE=SCORE_TILE, LOSS=self.objective.loss,
            SHIFTED=len(given.shift) > 0, num_warps=max(SCORE_WARPS, self.width // 512),
        )  # fmt: skip
        back_kernel[(n_here, triton.cdiv(k, self.columns))](
            first, given.e_indptr, given.e_labels, room.own_slopes, L, self.h, self.back,
            self.squares[1], room.own_losses, room.losses, **self._sizes(),
        )  # fmt: skip

    def _move_light(self, given: Prepared, batch: int, first: int, slopes: Any) -> None:
        (W, _, L, c), sums, objective = self.model.params, self.model.sums, self.objective
        bound = self.model.max_label_norm
        light_kernel[(LIGHT_PROGRAMS,)](
            batch, first, *given.labels, slopes, *given.features, given.values,
            self.h, self.back, self.squares[0], self.squares[1],
            W, L, c, sums.W, sums.L, sums.c, self.none if bound is None else bound, given.rates,
            2 * float(objective.l2), self.steps.longest, LIGHT_PROGRAMS,
            K=self.h.shape[1], BK=self.width, BLOCKS=self.blocks,
            ELEMENTWISE=objective.elementwise, ALONE=self.steps.alone, BOUNDED=bound is not None,
            INTERCEPT=objective.intercept, num_warps=max(1, self.width // 512),
        )  # fmt: skip

    def _move_heavy(
        self, given: Prepared, batch: int, first: int, n_here: int, slopes: Any
    ) -> None:
        (W, b, L, c), sums, objective = self.model.params, self.model.sums, self.objective
        bound, k = self.model.max_label_norm, self.h.shape[1]
        heavy_kernel[(HEAVY_PROGRAMS,)](
            batch, first, n_here, *given.labels, slopes, *given.features, given.values,
            self.h, self.back, self.squares[0], self.squares[1],
            W, b, L, c, sums.W, sums.b, sums.L, sums.c,
            self.none if bound is None else bound, given.rates,
            2 * float(objective.l2), self.steps.longest, HEAVY_PROGRAMS,
            K=k, BK=self.width, BLOCKS=self.blocks, TILE=HEAVY_TILE,
            COLUMNS=BIAS_COLUMNS, ROWS=BIAS_ROWS,
            ELEMENTWISE=objective.elementwise, ALONE=self.steps.alone, BOUNDED=bound is not None,
            INTERCEPT=objective.intercept,
            N_BIAS=triton.cdiv(k, BIAS_COLUMNS) if objective.intercept else 0,
            num_warps=max(1, min(HEAVY_WARPS, HEAVY_TILE * self.width // 128)),
        )  # fmt: skip


class Recorded:
    """The launches of a pass as one CUDA graph, over arrays that every pass is copied into.

    A launch costs the host more than most batches cost the device.
    """

    def __init__(self, steps: FusedSteps, given: Prepared) -> None:
        self.n_visits, self.n_batches = len(given.weights), len(given.rates)
        self.given = Prepared.over([_with_room(each) for each in given.arrays()])
        device = steps.h.device
        self.room = Room.of(self.n_visits, len(self.given.places), device)
        self.graph = torch.cuda.CUDAGraph()
        # A thread may bring rows meanwhile.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            for batch in range(self.n_batches):
                steps.launch(self.given, self.n_visits, batch, self.room)

    def fits(self, given: Prepared) -> bool:
        """Tell whether a layout has the same batches and fits into the arrays."""
        pairs = zip(self.given.arrays(), given.arrays(), strict=True)
        same = (self.n_visits, self.n_batches) == (len(given.weights), len(given.rates))
        return same and all(len(own) >= len(other) for own, other in pairs)

    def run(self, given: Prepared) -> Any:
        """Make all batches of a layout; returns the loss of every visit."""
        for own, other in zip(self.given.arrays(), given.arrays(), strict=True):
            own[: len(other)].copy_(other)
        self.graph.replay()
        return self.room.losses.clone()


def _with_room(tensor: Any) -> Any:
    """Return an array like this one with room for a tenth more; none for none."""
    size = len(tensor) * 11 // 10 + 1024 if len(tensor) else 0
    return torch.zeros(size, dtype=tensor.dtype, device=tensor.device)
