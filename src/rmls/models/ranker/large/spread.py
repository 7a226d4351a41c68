"""Training of a ranker on a cluster: the stages are those of one machine, their work is spread.

Vectors learn on shards of the rows and are merged several times a pass, lists are made by rows,
classifiers by blocks of labels. What is left, the combination and the calibration, needs some
thousand rows and is made here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.cluster import Keeper, current_keeper, open_cluster
from rmls.cluster.engine import check_address
from rmls.cluster.labels import LabelBlocks
from rmls.cluster.passes import (
    KeptPasses,
    PassRecord,
    SpreadPasses,
    count_touches,
    paying_shards,
    shard_bounds,
)
from rmls.cluster.rows import SharedRows
from rmls.core.disk.mapping import find_parts
from rmls.core.errors import InputError
from rmls.core.resources import cut_blocks
from rmls.core.sparse import over_arrays
from rmls.core.version import VERSION
from rmls.kernels.arrays import Pairs, Problem
from rmls.kernels.backend import Vectors
from rmls.kernels.some_labels import solve_copies
from rmls.models.ranker.archive import feature_numbers
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.scoring import Proposer, Shortlists, Stages
from rmls.models.ranker.sources import Folds, Rows
from rmls.models.ranker.trainer import ClassifierTrainer, Listed, StageTrainer, Trained
from rmls.models.rmls.sampling import bound_batch
from rmls.models.rmls.sgd import Settled, Sgd, Training
from rmls.models.shared.progress import stage
from rmls.models.shared.training_set import TrainingSet

# Blocks of rows for every worker, where there are enough.
BLOCKS_A_WORKER = 4
# Rows whose lists take a tenth of a second: to send fewer takes a good part of what they take.
WORTH_ROWS = 3_072
# A listed label and its score, found and put in place.
LISTED_BYTES = 16
# Why not all workers learn vectors.
FEW_SHARDS = "on so few rows merges cost more than further shards save"
# Bytes of the data that tell one training from another.
LOOKED_AT = 1 << 24


@dataclass
class SpreadTrainer(StageTrainer):
    """Train both stages on the nodes of a cluster.

    Attributes
    ----------
    cluster : str
        The address.
    """

    cluster: str = ""
    n_shards: int = field(default=1, init=False)
    number: int = field(default=0, init=False)

    def fit(self, data: TrainingSet, folds: Folds) -> tuple[Stages, HeldOut]:
        """Train both stages while the nodes are there."""
        keeper = current_keeper()
        see, store = [], find_parts(data.X.data)
        if data.scratch is not None:
            see.append(str(data.scratch.folder))
        if store is not None:
            see.append(str(store[0][0].path))
        with open_cluster(self.cluster, see) as self.engine:
            self.keeper: Keeper = keeper
            self.n_shards = keeper.settle(self._describe(data), self.engine.n_workers)
            self.shared = SharedRows(self.engine, data.X, data.Y, data.dense)
            return super().fit(data, folds)

    def _describe(self, data: TrainingSet) -> dict[str, Any]:
        """Return what a training must have in common with one that it goes on with."""
        members = [str(member.get_params()) for member in self.members]
        settings = (self.size, self.longest, self.index, self.precision, self.options, self.seed)
        looked = (data.X.indptr, data.X.data, data.X.indices, data.Y.indices, data.weights)
        content = 0
        for array in looked:
            some = array[: LOOKED_AT // array.itemsize]
            content = zlib.crc32(np.ascontiguousarray(some).tobytes(), content)
        shape = [data.n_rows, data.n_features, data.n_labels, int(data.X.nnz), len(data.held_out)]
        # Names of labels are rows of the matrix of features: the same data, the same names.
        return {
            "version": VERSION,
            "options": str((members, settings)),
            "data": [*shape, content],
        }

    def _train(self, data: TrainingSet, *, keeps: bool = False) -> Trained:
        self.number += 1
        return super()._train(data, keeps=keeps)

    def _start(self, options: Any, state: Sgd, settled: Settled, data: TrainingSet) -> Training:
        """Start passes that the nodes make."""
        state.own_arrays()
        batch_size = bound_batch(options.batch_size, data)
        rows = self.shared.with_labels(data.Y)
        touches = count_touches(rows, settled.objective)
        n_shards = paying_shards(touches, self.n_shards)
        if n_shards < self.n_shards and self.number == 1:
            with stage("shards") as shown:
                shown.tick(1.0, f"vectors on {n_shards} of {self.n_shards} workers: {FEW_SHARDS}")
        name = f"vectors-{self.number}-{options.random_state}"
        record = PassRecord(self.keeper, name, state.params, state.accumulators)
        if n_shards == 1:
            # Nothing travels, and the vectors are those of one machine to the last bit.
            alone = super()._start(options, state, settled, data)
            return replace(alone, passes=KeptPasses(alone.passes, record))
        passes = SpreadPasses(
            self.engine,
            record,
            rows,
            shard_bounds(int(data.X.shape[0]), n_shards),
            settled.objective,
            batch_size,
            options.max_feature_norm,
        )
        return Training(passes, data, state, batch_size, options.redraw)

    def _propose_all(
        self,
        proposer: Proposer,
        data: TrainingSet,
        tick: Callable[[float], None],
    ) -> Listed:
        """Return the labels of all rows; scores travel of those that are held out."""
        n_rows, step = data.n_rows, proposer.index.block_rows
        # Products of matrices are the same for blocks that begin where those of one machine do.
        wanted = -(-n_rows // (BLOCKS_A_WORKER * self.n_shards * step)) * step
        wanted = max(wanted, -(-WORTH_ROWS // step) * step)
        blocks = cut_blocks(n_rows, wanted)
        labels = data.zeros((n_rows, proposer.size), np.int32)
        scores = np.empty((len(data.held_out), proposer.size), np.float32)
        held = [slice(*np.searchsorted(data.held_out, block)) for block in blocks]
        n_done: list[int] = []

        def take(number: int, part: Any) -> None:
            labels[slice(*blocks[number])], scores[held[number]] = part
            n_done.append(number)
            tick(len(n_done) / len(blocks))

        missing = []
        for number in range(len(blocks)):
            kept = self.keeper.get(self._list_name(number))
            missing += [number] if kept is None else []
            if kept is not None:
                take(number, kept)

        def done(place: int, part: Any) -> None:
            self.keeper.put(self._list_name(missing[place]), part)
            take(missing[place], part)

        rows = self.shared
        # Classifiers want the numbers of features in a type of their own, so that these travel; of
        # rows on disk nothing does.
        columns = rows.columns if data.scratch else rows.numbers(feature_numbers(data.X))
        shared = (rows.entries, columns, rows.beside, self.engine.share(proposer))
        parts = [
            (*blocks[number], data.n_features, data.held_out[held[number]] - blocks[number][0])
            for number in missing
        ]
        longest = max((stop - start for start, stop in blocks), default=0)
        memory = LISTED_BYTES * longest * proposer.size
        self.engine.gather(self.engine.map(propose_block, parts, *shared, memory=memory), done)
        return labels, Shortlists(labels[data.held_out], scores)

    def _list_name(self, number: int) -> str:
        return f"lists-{self.number}-{number:05d}"

    def _lay_out_pairs(
        self, data: TrainingSet, listed: NDArray[np.int32], vectors: Vectors
    ) -> ClassifierTrainer:
        made = SpreadClassifiers.of(data, listed, vectors, self.options, self.n_threads)
        assert isinstance(made, SpreadClassifiers)
        name = f"classifiers-{self.number}"
        made.blocks = LabelBlocks(self.engine, self.keeper, self.shared, name, self.n_shards)
        return made


class SpreadClassifiers(ClassifierTrainer):
    """Classifiers that the nodes of a cluster train, by blocks of labels."""

    blocks: LabelBlocks
    n_solved = 0

    def _solve(
        self,
        problem: Problem,
        pairs: Pairs,
        duals: NDArray[np.float32],
        tick: Callable[[float], None] | None,
        labels: NDArray[np.int64],
    ) -> Any:
        self.n_solved += 1
        blocks = replace(self.blocks, name=f"{self.blocks.name}-{self.n_solved}")
        solve = partial(blocks.solve, numbers=labels, tick=tick)
        return solve_copies(solve, problem, pairs, duals, labels)


def propose_block(
    part: tuple[int, int, int, NDArray[np.int64]],
    entries: tuple[NDArray[np.int64], NDArray[np.float32]],
    columns: NDArray[Any],
    dense: NDArray[np.float32] | None,
    proposer: Proposer,
) -> list[NDArray[Any]]:
    """Return the best labels of some rows, in two bytes where these hold them, and some scores."""
    start, stop, n_features, scored = part
    ends = entries[0][start : stop + 1]
    place = slice(ends[0], ends[-1])
    own = columns[place].astype(np.int32, copy=False)
    X = over_arrays(entries[1][place], own, ends - ends[0], n_features)
    rows = Rows(X, None if dense is None else dense[start:stop])
    labels, found = proposer.list_all(rows, scored, 1)
    narrow = np.uint16 if proposer.vectors.n_labels <= 1 << 16 else np.int32
    return [labels.astype(narrow), found.scores]


def check_cluster(model: Any) -> None:
    """Raise a sentence for options that a cluster does not go with."""
    check_address(model.cluster)
    if model.device == "cuda":
        raise InputError("a cluster trains on processors; device must be 'cpu' with cluster.")
