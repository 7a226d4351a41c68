"""The classifiers of many labels, by blocks of labels.

Every node sees all rows once, in memory that its processes share or in mapped files. What travels
for a block are its pairs of a label and a row, with their dual variables, and its weights back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.cluster.engine import Engine
from rmls.cluster.keeping import Keeper
from rmls.cluster.rows import SharedRows
from rmls.core.disk.ahead import read_ahead
from rmls.core.sparse import is_mapped
from rmls.kernels.arrays import Pairs, Problem
from rmls.kernels.backend import get_backend
from rmls.kernels.some_labels import Variables

# Several for every worker: a node that comes late or goes does not hold up the others.
BLOCKS_A_WORKER = 4
# Pairs that take a tenth of a second: to send fewer takes a good part of what they take.
WORTH_PAIRS = 400_000
BLOCK_PAIRS = 1 << 22
# Rows in files are read ahead, those of one block at a time: they should stay in memory.
BLOCK_ENTRIES = 1 << 26
# Row, variable and offset of a pair, there and back.
PAIR_BYTES = 16
# Dense weights of a label, their marks, and the weights that are found.
FEATURE_BYTES = 32

Floats = NDArray[np.float32]
Solved = tuple[NDArray[np.int64], NDArray[Any], Floats, Floats]


class Block(NamedTuple):
    """The pairs of neighbouring labels.

    Attributes
    ----------
    numbers : ndarray of int64
        The numbers of the labels among all.
    pairs : Pairs
        Theirs alone.
    label_costs : ndarray of float32
    duals : Variables
    offsets : ndarray of float32
        One number a pair, or none at all.
    """

    numbers: NDArray[np.int64]
    pairs: Pairs
    label_costs: Floats
    duals: Variables
    offsets: Floats


@dataclass
class Blocks(Sequence[Block]):
    """Blocks of labels, each made when it is sent: all at once would be a copy of all pairs."""

    problem: Problem
    pairs: Pairs
    duals: Floats
    numbers: NDArray[np.int64]
    bounds: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.bounds)

    def __getitem__(self, number: Any) -> Any:
        first, last = self.bounds[number]
        ends = self.pairs.indptr[first : last + 1]
        place, offsets = slice(ends[0], ends[-1]), self.problem.offsets
        return Block(
            self.numbers[first:last],
            Pairs(ends - ends[0], self.pairs.rows[place], self.pairs.n_relevant[first:last]),
            self.problem.label_costs[first:last],
            # A copy: a block that is sent twice must start from the same variables.
            Variables.of(self.duals[place]),
            offsets[place] if len(offsets) else offsets,
        )


@dataclass
class LabelBlocks:
    """Solves classifiers on the nodes of a cluster.

    Attributes
    ----------
    engine : Engine
    keeper : Keeper
    rows : SharedRows
    name : str
        What the results of the blocks are kept as.
    n_shards : int
        Workers that the training was begun with.
    """

    engine: Engine
    keeper: Keeper
    rows: SharedRows
    name: str
    n_shards: int

    def solve(
        self,
        problem: Problem,
        pairs: Pairs,
        duals: Floats,
        numbers: NDArray[np.int64],
        tick: Callable[[float], None] | None = None,
    ) -> Solved:
        """Train the classifier of every label from ``duals``, which are moved in place.

        ``numbers`` are those of the labels among all.
        """
        n_blocks = min(BLOCKS_A_WORKER * self.n_shards, len(pairs.rows) // WORTH_PAIRS + 1)
        if is_mapped(problem.x_data):
            n_blocks = max(n_blocks, count_entries(problem, pairs) // BLOCK_ENTRIES)
        bounds = cut_blocks(pairs, n_blocks)
        solved: dict[int, list[Any]] = {}

        def take(number: int, result: list[Any]) -> None:
            first, last = bounds[number]
            *solved[number], marks, values = result
            Variables(marks, values).put(duals[pairs.indptr[first] : pairs.indptr[last]])
            if tick is not None:
                tick(len(solved) / len(bounds))

        missing = []
        for number in range(len(bounds)):
            kept = self.keeper.get(self._named(number))
            if kept is None:
                missing.append(number)
            else:
                take(number, kept)

        def done(place: int, result: list[Any]) -> None:
            self.keeper.put(self._named(missing[place]), result)
            take(missing[place], result)

        left = [bounds[each] for each in missing]
        self._run(Blocks(problem, pairs, duals, numbers, left), done)
        columns = zip(*(solved[number] for number in range(len(bounds))), strict=True)
        lengths, indices, values, bias = (np.concatenate(each) for each in columns)
        return lengths, indices, values, bias

    def _run(self, blocks: Blocks, done: Callable[[int, Any], None]) -> None:
        problem, engine = blocks.problem, self.engine
        empty = np.zeros(0, np.float32)
        numbers = self.rows.numbers(problem.x_indices)
        # Rows travel once for all stages; what is left of the problem is small.
        rest = engine.share(
            problem._replace(
                x_indptr=empty, x_indices=empty, x_data=empty, label_costs=empty, offsets=empty
            )
        )
        n_features = int(self.rows.X.shape[1])
        ends = blocks.pairs.indptr
        largest = max((int(ends[last] - ends[first]) for first, last in blocks.bounds), default=0)
        memory = PAIR_BYTES * largest + FEATURE_BYTES * n_features
        shared = (self.rows.entries, numbers, rest, engine.share(n_features))
        engine.gather(engine.map(solve_block, blocks, *shared, memory=memory), done)

    def _named(self, number: int) -> str:
        return f"{self.name}-{number:05d}"


def count_entries(problem: Problem, pairs: Pairs) -> int:
    """Return how many entries the rows of all pairs have, each as often as it is in one."""
    lengths = np.diff(problem.x_indptr)
    times = np.zeros(len(lengths), np.int64)
    for start in range(0, len(pairs.rows), BLOCK_PAIRS):
        times += np.bincount(pairs.rows[start : start + BLOCK_PAIRS], minlength=len(lengths))
    return int(times @ lengths)


def cut_blocks(pairs: Pairs, n_blocks: int) -> list[tuple[int, int]]:
    """Cut the labels into blocks of about equal work, so many or more: none too large to send.

    Examples
    --------
    >>> cut_blocks(Pairs(np.arange(9) * 100, np.zeros(800), np.ones(8)), 4)
    [(0, 2), (2, 4), (4, 6), (6, 8)]
    """
    n_labels = len(pairs.n_relevant)
    # A label costs its pairs and a little for itself.
    work = pairs.indptr + np.arange(n_labels + 1)
    n_blocks = max(n_blocks, int(work[-1]) // BLOCK_PAIRS)
    wanted = np.linspace(0, work[-1], n_blocks + 1)
    cuts = np.unique([0, *np.searchsorted(work, wanted), n_labels])
    return [(int(first), int(last)) for first, last in pairwise(cuts)]


def solve_block(
    block: Block,
    entries: tuple[NDArray[np.int64], Floats],
    numbers: NDArray[Any],
    rest: Problem,
    n_features: int,
) -> list[Any]:
    """Train the classifiers of a block of labels; returns their weights and dual variables."""
    labels, pairs = block.numbers, block.pairs
    # The random order of a label belongs to its number: it is solved by the number it has among
    # all, and those that are not in the block have no pairs here.
    lengths, n_relevant = np.zeros((2, labels[-1] + 1), np.int64)
    lengths[labels], n_relevant[labels] = np.diff(pairs.indptr), pairs.n_relevant
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    label_costs = np.zeros(len(lengths), np.float32)
    label_costs[labels] = block.label_costs
    problem = rest._replace(
        x_indptr=entries[0],
        x_indices=numbers,
        x_data=entries[1],
        label_costs=label_costs,
        offsets=block.offsets,
    )
    read_ahead((entries[1], numbers), entries[0], pairs.rows)
    duals = np.empty(len(pairs.rows), np.float32)
    block.duals.put(duals)
    numbered = Pairs(indptr, pairs.rows, n_relevant)
    solved = get_backend("cpu").solve_classifiers(
        problem, numbered, duals, n_features, 1, labels=labels
    )
    return [*solved, *Variables.of(duals)]
