"""A pass over rows that are spread over nodes.

The rule is that of the threads of one machine (`rmls.kernels.cpu.sgd.passes`): every node moves a
copy of the parameters by the visits of its own rows, and several times a pass the copies are
merged, each row by how far AdaGrad would have gone with all gradients. A node sends back the rows
that it has touched; a row that nobody else has touched takes its move whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.cluster.engine import Engine
from rmls.cluster.keeping import Keeper
from rmls.cluster.rows import SharedRows
from rmls.kernels.arrays import LabelledRows, Objective, Params, Visits
from rmls.kernels.cpu.sgd.passes import (
    PIECE_VISITS,
    VectorPasses,
    as_matrix,
    merge_copies,
)
from rmls.kernels.cpu.sgd.visits import run_visits

# Merges of a pass, at least. Nodes that do not hear of each other correct the same error twice,
# most of all in the first pass (docs/reference/scale.md).
FIRST_PIECES, PIECES = 16, 8
# Rows of a parameter that are merged at a time: bounds the copies that exist at once.
MERGED_ROWS = 1 << 15
# What a node has in memory at a time: a copy of the parameters, and what it sends back.
COPIES_A_NODE = 2

_ROOM = threading.local()

Tick = Callable[[float], None]


class Part(NamedTuple):
    """The visits of one piece of a pass to the rows of one shard."""

    visits: Visits
    batch_size: int


class Touched(NamedTuple):
    """Rows of a parameter that have moved: which, where to, and their accumulators."""

    rows: NDArray[np.int64]
    theta: NDArray[np.float32]
    acc: NDArray[np.float32]


class Moved(NamedTuple):
    """What the visits of a part have changed, and the loss that was measured."""

    touched: list[Touched]
    loss: float
    weight: float


@dataclass
class SpreadPasses:
    """Passes of RMLS on the nodes of a cluster; parameters are moved in place.

    Attributes
    ----------
    engine : Engine
    keeper : Keeper
        Keeps the parameters after every pass.
    name : str
        What they are kept as.
    rows : SharedRows
        A node looks at those of its shard.
    bounds : ndarray of int64
        Where the shards of the rows end.
    """

    engine: Engine
    keeper: Keeper
    name: str
    rows: SharedRows
    bounds: NDArray[np.int64]
    params: Params
    accumulators: Params
    objective: Objective
    batch_size: int
    max_feature_norm: float | None
    n_done: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._objective = self.engine.share(self.objective)
        self._measured: list[tuple[float, float]] = []
        self._kept: list[NDArray[Any]] | None = None
        groups = (self.params, self.accumulators)
        self._memory = COPIES_A_NODE * sum(each.nbytes for group in groups for each in group)
        # Only its bounds on norms are used: no row is visited here.
        self._target = VectorPasses(
            LabelledRows(*[np.zeros(1, np.int64)] * 5),
            *groups,
            self.objective,
            self.batch_size,
            max(2, len(self.bounds)),
            self.max_feature_norm,
        )

    def run(self, visits: Visits, tick: Tick | None = None) -> tuple[float, float]:
        """Make the visits; returns the summed loss and weight of those that were measured."""
        number, self.n_done = self.n_done, self.n_done + 1
        kept = self._take_up(number)
        if kept is not None:
            return kept
        losses: list[tuple[float, float]] = []

        def combine(moved: list[Moved]) -> tuple[Params, Params]:
            losses.extend((each.loss, each.weight) for each in moved)
            self._merge([each.touched for each in moved])
            self._target._project()
            return self.params, self.accumulators

        state = self.engine.share((self.params, self.accumulators))
        shared = (self.rows.entries, self.rows.columns, self.rows.labels, self._objective)
        for parts, done in self._cut(visits):
            batch = self.engine.map(visit_shard, parts, *shared, state, memory=self._memory)
            state = self.engine.all_reduce(batch, combine)
            if tick is not None:
                tick(done)
        loss, weight = (float(total) for total in np.sum(losses, axis=0))
        self._keep(loss, weight)
        return loss, weight

    def pull(self) -> None:
        """Bring ``params`` and ``accumulators`` up to date: after a merge they are."""

    def _cut(self, visits: Visits) -> Iterator[tuple[list[Part], float]]:
        """Yield the parts of every piece of a pass, with the share that is done after it."""
        n_visits, n_shards = len(visits.rows), len(self.bounds)
        shards = np.searchsorted(self.bounds, visits.rows, side="right")
        own = [np.flatnonzero(shards == shard) for shard in range(n_shards)]
        least = FIRST_PIECES if self.n_done == 1 else PIECES
        n_pieces = min(max(least, n_visits // (PIECE_VISITS * n_shards)), n_visits)
        for first, last in pairwise(np.linspace(0, 1, n_pieces + 1).tolist()):
            parts = []
            for places in own:
                # The same share of every shard, in whole batches: nobody waits for another.
                start, stop = (self._cut_at(len(places), end) for end in (first, last))
                if start < stop:
                    parts.append(self._part(visits, places[start:stop], (first, last)))
            if parts:
                yield parts, last

    def _part(self, visits: Visits, places: NDArray[np.int64], ends: tuple[float, float]) -> Part:
        """Return some visits, at the learning rates between two shares of a pass."""
        first, last = (
            visits.first_rate - (visits.first_rate - visits.last_rate) * end for end in ends
        )
        rows, weights, keys = (each[places] for each in visits[:3])
        some = visits._replace(
            rows=rows, weights=weights, keys=keys, first_rate=first, last_rate=last
        )
        return Part(some, self.batch_size)

    def _cut_at(self, n_visits: int, share: float) -> int:
        n_batches = -(-n_visits // self.batch_size)
        return min(round(n_batches * share) * self.batch_size, n_visits)

    def _merge(self, moved: list[list[Touched]]) -> None:
        for number, (theta, acc) in enumerate(zip(self.params, self.accumulators, strict=True)):
            merge_touched(as_matrix(theta), as_matrix(acc), [each[number] for each in moved])

    def _take_up(self, number: int) -> tuple[float, float] | None:
        """Return what a pass measured that was made before; the last one sets what was learned."""
        if number == 0:
            self._kept = self.keeper.get(self.name)
        if self._kept is None:
            return None
        measured, *arrays = self._kept
        if number == len(measured) - 1:
            for array, found in zip((*self.params, *self.accumulators), arrays, strict=True):
                array[...] = found
            self._kept = None
        self._measured.append((float(measured[number][0]), float(measured[number][1])))
        return self._measured[-1]

    def _keep(self, loss: float, weight: float) -> None:
        self._measured.append((loss, weight))
        groups = (*self.params, *self.accumulators)
        self.keeper.put(self.name, [np.array(self._measured), *groups])


def shard_bounds(n_rows: int, n_shards: int) -> NDArray[np.int64]:
    """Return where shards of about as many rows end.

    Examples
    --------
    >>> shard_bounds(10, 3).tolist()
    [3, 7, 10]
    """
    cuts = np.round(np.linspace(0, n_rows, min(n_shards, n_rows) + 1)[1:])
    return np.asarray(cuts, dtype=np.int64)


def visit_shard(
    part: Part,
    entries: tuple[NDArray[np.int64], NDArray[np.float32]],
    columns: NDArray[np.int32],
    labels: tuple[NDArray[np.int64], NDArray[np.int32]],
    objective: Objective,
    state: tuple[Params, Params],
) -> Moved:
    """Make the visits of a part on copies of the parameters; returns the rows that moved."""
    rows = LabelledRows(entries[0], columns, entries[1], *labels)
    params, accumulators = (
        Params(*(_copy(array, place) for place, array in enumerate(group, 4 * number)))
        for number, group in enumerate(state)
    )
    passes = VectorPasses(rows, params, accumulators, objective, part.batch_size)
    (memory,) = passes._make_scratch()
    loss, weight = run_visits(
        rows, params, accumulators, objective, part.visits, memory, 0, len(part.visits.rows)
    )
    before, after = state[1], accumulators
    touched = [
        _touched(as_matrix(theta), as_matrix(acc), as_matrix(old))
        for theta, acc, old in zip(params, after, before, strict=True)
    ]
    return Moved(touched, float(loss), float(weight))


def _copy(array: NDArray[np.float32], place: int) -> NDArray[np.float32]:
    """Return a copy in memory that this thread uses again: fresh pages cost more than the copy."""
    room: NDArray[np.float32] | None = _ROOM.__dict__.get(str(place))
    if room is None or room.shape != array.shape:
        room = np.empty_like(array)
        _ROOM.__dict__[str(place)] = room
    np.copyto(room, array)
    return room


def _touched(
    theta: NDArray[np.float32], acc: NDArray[np.float32], old: NDArray[np.float32]
) -> Touched:
    # AdaGrad's accumulator grows by every gradient that is not 0.
    rows = np.flatnonzero((acc != old).any(axis=1))
    return Touched(rows, theta[rows], acc[rows])


def merge_touched(
    theta: NDArray[np.float32], acc: NDArray[np.float32], moved: list[Touched]
) -> None:
    """Move ``theta`` and ``acc`` by what several nodes have learned, in place."""
    rows = np.unique(np.concatenate([each.rows for each in moved]))
    for first in range(0, len(rows), MERGED_ROWS):
        some = rows[first : first + MERGED_ROWS]
        now, grown = theta[some], acc[some]
        thetas = np.repeat(now[None], len(moved), axis=0)
        accs = np.repeat(grown[None], len(moved), axis=0)
        for copy, each in enumerate(moved):
            start, stop = np.searchsorted(each.rows, [some[0], some[-1] + 1])
            places = np.searchsorted(some, each.rows[start:stop])
            thetas[copy, places] = each.theta[start:stop]
            accs[copy, places] = each.acc[start:stop]
        merge_copies(now, grown, thetas, accs)
        theta[some], acc[some] = now, grown
