"""What nodes tell each other of the parameters: the rows that have moved, and where to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.arrays import Params
from rmls.kernels.cpu.sgd.merging import Sums, add_copy, find_moved, move_rows, put_rows, take_back
from rmls.kernels.cpu.sgd.passes import as_matrix

Floats = NDArray[np.float32]
_NO_VISITS = np.zeros(0, np.int32)


class Touched(NamedTuple):
    """Rows of a parameter that have moved: which, where to, and their accumulators.

    ``visits`` counts how often each was visited, where that is known.
    """

    rows: NDArray[np.int64]
    theta: Floats
    acc: Floats
    visits: NDArray[np.int32] = _NO_VISITS


class State(NamedTuple):
    """Parameters with their accumulators."""

    params: Params
    accumulators: Params

    def copy(self) -> State:
        """Return other arrays of the same content."""
        return State(*(Params(*(np.array(array) for array in group)) for group in self))

    def pairs(self) -> list[tuple[Floats, Floats]]:
        """Return every parameter with its accumulator, as matrices."""
        return [(as_matrix(one), as_matrix(two)) for one, two in zip(*self, strict=True)]

    @property
    def nbytes(self) -> int:
        """What all of it takes in memory."""
        return sum(int(array.nbytes) for group in self for array in group)

    def put(self, delta: list[Touched]) -> None:
        """Set the rows that have moved."""
        for (theta, acc), moved in zip(self.pairs(), delta, strict=True):
            put_rows(theta, acc, moved.rows, moved.theta, moved.acc)

    def take_back(self, rows: list[NDArray[np.int64]], clean: State) -> None:
        """Set some rows to those of another state."""
        for (theta, acc), (was, acc_was), some in zip(
            self.pairs(), clean.pairs(), rows, strict=True
        ):
            take_back(theta, acc, some, was, acc_was)

    def moved_from(
        self, clean: State, marks: list[NDArray[np.int32]], visits: list[NDArray[np.int32]]
    ) -> list[Touched]:
        """Return the rows that differ from those of another state, among the marked ones."""
        found = []
        for number, ((theta, acc), (was, acc_was)) in enumerate(
            zip(self.pairs(), clean.pairs(), strict=True)
        ):
            out = np.empty(len(theta), np.int64)
            rows = out[: find_moved(theta, acc, was, acc_was, marks[number], out)].copy()
            known = visits[number]
            seen = known[rows] if len(known) else known
            found.append(Touched(rows, theta[rows], acc[rows], seen))
        return found


class Merger:
    """Moves a parameter by what several nodes have learned, in place."""

    def __init__(self, theta: Floats, acc: Floats) -> None:
        self.theta, self.acc = theta, acc
        self._slots = np.full(len(theta), -1, np.int32)
        self._room: dict[str, NDArray[Any]] = {}

    def merge(self, moved: list[Touched]) -> Touched:
        """Merge the copies in their order; returns the rows that have moved by it."""
        sums = self._make_sums(min(sum(len(each.rows) for each in moved), len(self.theta)))
        n_rows = 0
        for each in moved:
            n_rows = add_copy(self.theta, self.acc, *each, sums, n_rows)
        new_theta = np.empty((n_rows, self.theta.shape[1]), np.float32)
        new_acc = np.empty((n_rows, self.acc.shape[1]), np.float32)
        move_rows(self.theta, self.acc, sums, n_rows, new_theta, new_acc)
        return Touched(sums.rows[:n_rows].copy(), new_theta, new_acc)

    def _make_sums(self, size: int) -> Sums:
        k, width = self.theta.shape[1], self.acc.shape[1]
        return Sums(
            self._slots,
            self._take("rows", (size,), np.int64),
            self._take("moves", (size, k), np.float32),
            self._take("growth", (size, width), np.float64),
            self._take("apart", (size, width), np.float64),
            self._take("copies", (size,), np.float64),
            self._take("visits", (size,), np.float64),
        )

    def _take(self, name: str, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
        """Return memory that is used again: fresh pages cost more than what is written to them."""
        room = self._room.get(name)
        if room is None or len(room) < shape[0]:
            room = self._room[name] = np.empty(shape, dtype)
        return room


def merge_touched(theta: Floats, acc: Floats, moved: list[Touched]) -> Touched:
    """Move ``theta`` and ``acc`` by what several nodes have learned, in place."""
    return Merger(theta, acc).merge(moved)
