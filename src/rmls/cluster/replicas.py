"""The parameters as a node has them: a copy that stays between merges and is told what changed.

A part says which version of the parameters it moves, and is sent the last whole state with all that
has moved since. A process that has an earlier version takes only what is new; one that has none
starts from the whole state. So what is kept saves time, and nothing depends on it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.cluster.merging import State, Touched
from rmls.core.disk.ahead import read_ahead
from rmls.kernels.arrays import LabelledRows, Objective, Visits
from rmls.kernels.cpu.sgd.merging import count_columns
from rmls.kernels.cpu.sgd.passes import VectorPasses
from rmls.kernels.cpu.sgd.visits import Scratch, run_visits

_NO_MARKS = np.zeros(0, np.int32)


class Part(NamedTuple):
    """The visits of one piece of a pass to the rows of one shard.

    Attributes
    ----------
    visits : Visits
    batch_size : int
    training : str
        Tells trainings apart.
    version : int
        Merges that the parameters have been through; the whole state that is sent and the changes
        after it lead up to it.
    """

    visits: Visits
    batch_size: int
    training: str
    version: int


class Moved(NamedTuple):
    """What the visits of a part have changed, and the loss that was measured."""

    touched: list[Touched]
    loss: float
    weight: float


@dataclass
class Work:
    """Parameters that the visits of a part move, with the version they started from."""

    state: State
    scratch: Scratch
    version: int
    dirty: list[NDArray[np.int64]] = field(default_factory=list)


@dataclass
class Replica:
    """The parameters of one training in this process, and copies to work on."""

    training: str
    version: int
    clean: State
    idle: list[Work] = field(default_factory=list)


_LOCK = threading.Lock()
_HELD: list[Replica] = []


def forget(training: str) -> None:
    """Let go of the parameters of a training that is over."""
    with _LOCK:
        _HELD[:] = [each for each in _HELD if each.training != training]


def visit_shard(
    part: Part,
    entries: tuple[NDArray[np.int64], NDArray[np.float32]],
    columns: NDArray[np.int32],
    labels: tuple[NDArray[np.int64], NDArray[np.int32]],
    objective: Objective,
    whole: State,
    *deltas: list[Touched],
) -> Moved:
    """Make the visits of a part on copies of the parameters; returns the rows that moved."""
    rows = LabelledRows(entries[0], columns, entries[1], *labels)
    with _LOCK:
        replica = _bring_up(part, whole, deltas)
        work = replica.idle.pop() if replica.idle else None
    work = _prepare(work, replica.clean, part, deltas, rows, objective)
    visits, state = part.visits, work.state
    read_ahead((entries[1], columns), entries[0], visits.rows)
    given = (rows, *state, objective, visits, work.scratch)
    loss, weight = run_visits(*given, 0, len(visits.rows))
    counts = np.empty(len(state.params.W), np.int32)
    count_columns(entries[0], columns, visits.rows, counts)
    everywhere = np.full(len(state.params.b), len(visits.rows), np.int32)
    # A label moves with rows that do not have it, too: all of them are looked at.
    marks = [counts, _NO_MARKS, _NO_MARKS, _NO_MARKS]
    seen = [counts, everywhere, _NO_MARKS, _NO_MARKS]
    touched = state.moved_from(replica.clean, marks, seen)
    work.version, work.dirty = part.version, [each.rows for each in touched]
    with _LOCK:
        replica.idle.append(work)
    return Moved(touched, float(loss), float(weight))


def _bring_up(part: Part, whole: State, deltas: tuple[list[Touched], ...]) -> Replica:
    """Return the parameters of this process in the version of a part."""
    first = part.version - len(deltas)
    replica = _HELD[0] if _HELD else None
    if replica is None or replica.training != part.training or replica.version > part.version:
        replica = None
    elif replica.version < first:
        replica.clean, replica.version = whole.copy(), first
    if replica is None:
        # One at a time: a node has announced memory for one training.
        _HELD.clear()
        replica = Replica(part.training, first, whole.copy())
        _HELD.append(replica)
    for delta in deltas[replica.version - first :]:
        replica.clean.put(delta)
    replica.version = part.version
    return replica


def _prepare(
    work: Work | None,
    clean: State,
    part: Part,
    deltas: tuple[list[Touched], ...],
    rows: LabelledRows,
    objective: Any,
) -> Work:
    """Return a copy of the parameters to work on; one that was used takes what has changed."""
    first = part.version - len(deltas)
    if work is None:
        passes = VectorPasses(rows, *clean, objective, part.batch_size)
        (scratch,) = passes._make_scratch()
        return Work(clean.copy(), scratch, part.version)
    if work.version == part.version:
        work.state.take_back(work.dirty, clean)
    elif work.version >= first:
        # What the last part here has moved was merged, and is among the changes since.
        for delta in deltas[work.version - first :]:
            work.state.put(delta)
    else:
        for theirs, ours in zip(clean.pairs(), work.state.pairs(), strict=True):
            np.copyto(ours[0], theirs[0])
            np.copyto(ours[1], theirs[1])
    return work
