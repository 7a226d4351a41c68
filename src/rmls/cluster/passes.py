"""A pass over rows that are spread over nodes.

The rule is that of the threads of one machine (`rmls.kernels.cpu.sgd.passes`): every node moves a
copy of the parameters by the visits of its own rows, and several times a pass the copies are
merged, each row by how far AdaGrad would have gone with all gradients. A node sends back the rows
that it has touched; a row that nobody else has touched takes its move whole.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.cluster.engine import Engine, Shared
from rmls.cluster.keeping import Keeper
from rmls.cluster.merging import Merger, State, Touched
from rmls.cluster.replicas import Moved, Part, forget, visit_shard
from rmls.cluster.rows import SharedRows
from rmls.kernels.arrays import LabelledRows, Objective, Params, Visits
from rmls.kernels.backend import Passes
from rmls.kernels.cpu.sgd.passes import VectorPasses

# Merges of a pass for every shard, at least. Nodes that do not hear of each other correct the same
# error twice: the more of them, the worse, and most of all in the first pass.
FIRST_PIECES, PIECES = 2, 1
# A row of the parameters is moved so often between two merges, on average, or less.
MAX_TOUCHES = 1_000
# Moves of an average row in a pass that pay for n shards, over n^2: these send all rows n times.
# By measurement a move costs some 0.05 us and a row that travels there and back 4 us by Ray: from
# here on merges take a fifth of what visits take, a tenth of a training.
PAYS = 400
# A whole state is shared again when the changes since are so many times as large, and so many
# bytes: shared memory holds all of them.
WHOLE_AGAIN, WHOLE_BYTES = 2.0, 1 << 27
# What a node has in memory at a time: two copies of the parameters, and what it sends back.
COPIES_A_NODE = 3

Tick = Callable[[float], None]


@dataclass
class PassRecord:
    """What is kept of passes: their losses, and the parameters after the last of them.

    Attributes
    ----------
    keeper : Keeper
    name : str
        What they are kept as.
    params, accumulators : Params
    """

    keeper: Keeper
    name: str
    params: Params
    accumulators: Params

    def __post_init__(self) -> None:
        self._measured: list[tuple[float, float]] = []
        self._kept: list[NDArray[Any]] | None = None
        self.n_begun = 0

    def begin(self) -> tuple[float, float] | None:
        """Return what a pass measured that was made before; the last one sets what was learned."""
        number, self.n_begun = self.n_begun, self.n_begun + 1
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

    def keep(self, loss: float, weight: float) -> tuple[float, float]:
        """Keep a pass that was made; returns what it has measured."""
        self._measured.append((loss, weight))
        groups = (*self.params, *self.accumulators)
        self.keeper.put(self.name, [np.array(self._measured), *groups])
        return loss, weight


@dataclass
class KeptPasses:
    """Passes that this process makes alone, as one machine does, and keeps."""

    passes: Passes
    record: PassRecord

    def run(self, visits: Visits, tick: Tick | None = None) -> tuple[float, float]:
        """Make the visits, unless they were made before."""
        kept = self.record.begin()
        if kept is not None:
            return kept
        measured = self.passes.run(visits, tick)
        self.pull()
        return self.record.keep(*measured)

    def pull(self) -> None:
        """Bring the parameters up to date."""
        self.passes.pull()


@dataclass
class SpreadPasses:
    """Passes of RMLS on the nodes of a cluster; parameters are moved in place.

    Attributes
    ----------
    engine : Engine
    record : PassRecord
        Keeps the parameters after every pass.
    rows : SharedRows
        A node looks at those of its shard.
    bounds : ndarray of int64
        Where the shards of the rows end.
    """

    engine: Engine
    record: PassRecord
    rows: SharedRows
    bounds: NDArray[np.int64]
    objective: Objective
    batch_size: int
    max_feature_norm: float | None

    def __post_init__(self) -> None:
        self._objective = self.engine.share(self.objective)
        self._state = State(self.record.params, self.record.accumulators)
        self._touches = count_touches(self.rows, self.objective)
        self._memory = COPIES_A_NODE * self._state.nbytes
        self._mergers = [Merger(*pair) for pair in self._state.pairs()]
        # The last whole state that was shared, and what has moved since.
        self._whole: Shared | None = None
        self._deltas: list[Shared] = []
        self._moved_bytes = 0
        self._version = 0
        self._training = uuid.uuid4().hex
        weakref.finalize(self, forget, self._training)
        # Only its bounds on norms are used: no row is visited here.
        self._target = VectorPasses(
            LabelledRows(*[np.zeros(1, np.int64)] * 5),
            *self._state,
            self.objective,
            self.batch_size,
            max(2, len(self.bounds)),
            self.max_feature_norm,
        )

    def run(self, visits: Visits, tick: Tick | None = None) -> tuple[float, float]:
        """Make the visits; returns the summed loss and weight of those that were measured."""
        kept = self.record.begin()
        if kept is not None:
            return kept
        losses: list[tuple[float, float]] = []

        def combine(moved: list[Moved]) -> list[Touched]:
            losses.extend((each.loss, each.weight) for each in moved)
            delta = self._merge([each.touched for each in moved])
            if self._target._project():
                # Any row may have moved: nodes are sent the whole again.
                self._whole, delta = None, []
            return delta

        shared = (self.rows.entries, self.rows.columns, self.rows.labels, self._objective)
        for parts, done in self._cut(visits):
            given = (*shared, *self._share_state())
            batch = self.engine.map(visit_shard, parts, *given, memory=self._memory)
            self._deltas.append(self.engine.all_reduce(batch, combine))
            self._version += 1
            if tick is not None:
                tick(done)
        loss, weight = (float(total) for total in np.sum(losses, axis=0))
        return self.record.keep(loss, weight)

    def _share_state(self) -> list[Shared]:
        """Return the last whole state that nodes were sent, and all that has moved since."""
        most = max(WHOLE_AGAIN * self._state.nbytes, WHOLE_BYTES)
        if self._whole is None or self._moved_bytes > most:
            self._whole, self._deltas, self._moved_bytes = self.engine.share(self._state), [], 0
        return [self._whole, *self._deltas]

    def _merge(self, moved: list[list[Touched]]) -> list[Touched]:
        """Move the parameters by what all parts have learned; returns the rows that moved."""
        by_parameter = zip(self._mergers, zip(*moved, strict=True), strict=True)
        delta = [merger.merge(list(copies)) for merger, copies in by_parameter]
        self._moved_bytes += sum(array.nbytes for each in delta for array in each)
        return delta

    def pull(self) -> None:
        """Bring ``params`` and ``accumulators`` up to date: after a merge they are."""

    def _cut(self, visits: Visits) -> Iterator[tuple[list[Part], float]]:
        """Yield the parts of every piece of a pass, with the share that is done after it."""
        n_visits, n_shards = len(visits.rows), len(self.bounds)
        shards = np.searchsorted(self.bounds, visits.rows, side="right")
        own = [np.flatnonzero(shards == shard) for shard in range(n_shards)]
        least = n_shards * (FIRST_PIECES if self.record.n_begun == 1 else PIECES)
        crowded = int(self._touches / (MAX_TOUCHES * n_shards))
        n_pieces = min(max(least, crowded), n_visits)
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
        return Part(some, self.batch_size, self._training, self._version)

    def _cut_at(self, n_visits: int, share: float) -> int:
        n_batches = -(-n_visits // self.batch_size)
        return min(round(n_batches * share) * self.batch_size, n_visits)


def count_touches(rows: SharedRows, objective: Objective) -> float:
    """Return how often a pass moves a row of the parameters, on average."""
    n_moves = rows.X.nnz + (1.0 + objective.negatives_per_positive) * rows.Y.nnz
    return float(n_moves) / max(rows.X.shape[1] + rows.Y.shape[1], 1)


def paying_shards(n_touches: float, n_workers: int) -> int:
    """Return on how many shards it pays to learn vectors: merges must not outweigh visits.

    Examples
    --------
    >>> [paying_shards(touches, 4) for touches in (400, 1_600, 3_600, 10_000)]
    [1, 2, 3, 4]
    """
    return min(max(int(np.sqrt(n_touches / PAYS)), 1), n_workers)


def shard_bounds(n_rows: int, n_shards: int) -> NDArray[np.int64]:
    """Return where shards of about as many rows end.

    Examples
    --------
    >>> shard_bounds(10, 3).tolist()
    [3, 7, 10]
    """
    cuts = np.round(np.linspace(0, n_rows, min(n_shards, n_rows) + 1)[1:])
    return np.asarray(cuts, dtype=np.int64)
