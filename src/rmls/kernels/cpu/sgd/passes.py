"""A pass over the rows on several threads.

Two threads that write to the same few rows keep taking them from each other's cache. A model that
is small is therefore copied for every thread and merged several times a pass; rows of a large one
rarely meet, and its threads share it without locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.resources import open_pool
from rmls.kernels.arrays import IN_BATCH, LabelledRows, Objective, Params, Visits
from rmls.kernels.cpu.sgd.merging import count_columns, crowd_share
from rmls.kernels.cpu.sgd.visits import Scratch, make_scratch, run_visits
from rmls.kernels.cpu.sgd.warp import Warp, run_warp
from rmls.kernels.jit import njit

COPY_BYTES = 16 << 20
# Of all copies together, whatever the number of threads.
ALL_COPIES_BYTES = 1 << 30
PIECES = 4
# Rows of copies that are merged in the time of three that are moved by visits.
MERGED_ROWS = 3.0
NO_VISITS = np.zeros(0, np.float32)
PIECE_VISITS = 20_000

Tick = Callable[[float], None]


@dataclass
class VectorPasses:
    """Passes of RMLS over rows, on threads of this machine; parameters are moved in place.

    Attributes
    ----------
    rows : LabelledRows
    params, accumulators : Params
    objective : Objective
    batch_size, n_threads : int
    max_feature_norm : float or None
        Bound on the squared Frobenius norm of ``W``; applied after every piece of a pass.
    """

    rows: LabelledRows
    params: Params
    accumulators: Params
    objective: Any
    batch_size: int = 1
    n_threads: int = 1
    max_feature_norm: float | None = None
    merges: ClassVar[bool] = True

    def run(self, visits: Visits, tick: Tick | None = None) -> tuple[float, float]:
        """Make the visits; returns the summed loss and weight of those that were measured.

        ``tick`` is called with the share of the pass that is done.
        """
        copies = self._make_copies()
        n_threads, losses = len(copies.workers), []
        scratch = self._make_scratch(n_threads)
        # Apart, n copies drift: with merges n times as close together each drifts as little.
        n_merges = 0 if copies.target is None else n_threads**2
        with open_pool(n_threads) as pool:
            for piece in self._pieces(len(visits.rows), n_threads, n_merges):
                losses += list(
                    pool.map(
                        lambda worker, memory, bounds: worker._visit(visits, memory, bounds),
                        copies.workers,
                        scratch,
                        pairwise(piece),
                    )
                )
                if copies.target is not None:
                    copies.merge(self._count_features(visits.rows[piece[0] : piece[-1]]))
                if self._project():
                    copies.start_again()
                if tick is not None:
                    tick(piece[-1] / len(visits.rows))
        loss, weight = np.sum(losses, axis=0)
        return float(loss), float(weight)

    def pull(self) -> None:
        """Bring ``params`` and ``accumulators`` up to date: here they always are."""

    def _visit(
        self, visits: Visits, memory: Scratch, bounds: tuple[int, int]
    ) -> tuple[float, float]:
        """Make the visits within ``bounds`` on one thread."""
        measured: tuple[float, float] = run_visits(
            self.rows, self.params, self.accumulators, self.objective, visits, memory, *bounds
        )
        return measured

    def _shape(self) -> tuple[int, int, int]:
        return len(self.params.W), len(self.params.L), len(self.params.b)

    def _make_copies(self) -> Copies:
        """Return what every thread trains: a copy of a small model, the one large model itself."""
        size = sum(array.nbytes for array in (*self.params, *self.accumulators))
        if not self.merges or size > COPY_BYTES:
            return Copies([self] * self.n_threads)
        n_threads = min(self._merged_threads(), max(1, ALL_COPIES_BYTES // size))
        if n_threads == 1:
            return Copies([self])
        groups = []
        for group in (self.params, self.accumulators):
            stacked = (np.repeat(array[None], n_threads, axis=0) for array in group)
            groups.append(Params(*stacked))
        workers = [
            replace(self, params=params, accumulators=accumulators, n_threads=1)
            for params, accumulators in zip(*(_unstack(group) for group in groups), strict=True)
        ]
        return Copies(workers, self, *groups)

    def _merged_threads(self) -> int:
        """Return the threads that pay where each trains a copy.

        To visit takes ``v / n`` on n threads, and to merge n copies of m rows n² times ``n³ m``:
        together the least where ``n⁴ = v / 3 m``.
        """
        objective: Objective = self.objective
        labels = len(self.rows.y_indices) * (1 + float(objective.negatives_per_positive))
        visited = len(self.rows.x_indices) + labels
        merged = MERGED_ROWS * (len(self.params.W) + len(self.params.L))
        return int(np.clip((visited / merged) ** 0.25, 1, self.n_threads))

    def _make_scratch(self, n_threads: int = 1) -> list[Scratch]:
        longest_row, longest_labels = (
            int(np.diff(indptr).max(initial=0))
            for indptr in (self.rows.x_indptr, self.rows.y_indptr)
        )
        touched = self._touched_labels(longest_labels)
        return [
            make_scratch(self._shape(), self.batch_size, longest_row, touched)
            for _ in range(n_threads)
        ]

    def _touched_labels(self, n_relevant: int) -> int:
        """Return how many labels one visit touches at most, of a row with so many relevant ones."""
        objective: Objective = self.objective
        n_labels = len(self.params.L)
        negatives = max(n_relevant * objective.negatives_per_positive + 1, objective.min_negatives)
        if objective.sampler.kind == IN_BATCH:
            return self.batch_size * n_relevant
        touched = n_labels if objective.all_negatives else n_relevant + int(negatives)
        return min(touched, n_labels)

    def _pieces(self, n_visits: int, n_threads: int, n_merges: int) -> Iterator[list[int]]:
        """Cut a pass into pieces, and every piece into one part per thread, at batch ends."""
        n_batches = -(-n_visits // self.batch_size)
        n_pieces = max(PIECES, n_merges, n_visits // PIECE_VISITS)
        ends = np.linspace(0, n_batches, min(n_pieces, n_batches) + 1)
        for first, last in pairwise(ends):
            cuts = np.round(np.linspace(round(first), round(last), n_threads + 1)).astype(int)
            yield [min(int(cut) * self.batch_size, n_visits) for cut in cuts]

    def _count_features(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how often some visits met every feature, and last how many they are."""
        counts = np.zeros(len(self.params.W) + 1, np.float32)
        count_columns(self.rows.x_indptr, self.rows.x_indices, rows, counts[:-1])
        counts[-1] = len(rows)
        return counts

    def _project(self) -> bool:
        """Bring ``W`` and, after a merge, the label vectors within bounds; tell if they moved."""
        moved = False
        if self.max_feature_norm is not None:
            square = float(np.vdot(self.params.W, self.params.W))
            if square > self.max_feature_norm:
                factor = np.sqrt(self.max_feature_norm / square)
                np.multiply(self.params.W, np.float32(factor), out=self.params.W)
                moved = True
        bound = self.objective.max_label_norm
        if self.n_threads > 1 and len(bound) > 0:
            squares = np.einsum("ij,ij->i", self.params.L, self.params.L)
            factors = np.sqrt(np.minimum(bound / np.maximum(squares, bound), 1.0))
            np.multiply(self.params.L, factors[:, None].astype(np.float32), out=self.params.L)
            moved = True
        return moved


@dataclass
class WarpPasses(VectorPasses):
    """Passes by the WARP loss; the threads share the parameters."""

    merges: ClassVar[bool] = False

    def _visit(
        self, visits: Visits, memory: Scratch, bounds: tuple[int, int]
    ) -> tuple[float, float]:
        measured: tuple[float, float] = run_warp(
            self.rows, self.params, self.objective, visits, memory, *bounds
        )
        return measured

    def _touched_labels(self, n_relevant: int) -> int:
        """A relevant label pushes one other away, or all of them."""
        warp: Warp = self.objective
        n_labels = len(self.params.L)
        return n_labels if warp.all_negatives else min(2 * n_relevant, n_labels)

    def _project(self) -> bool:
        """Every step keeps the bounds."""
        return False


@dataclass
class Copies:
    """The models that the threads of a pass train, and the one they are merged into."""

    workers: list[VectorPasses]
    target: VectorPasses | None = None
    params: Params | None = None
    accumulators: Params | None = None

    def merge(self, visits: NDArray[np.float32]) -> None:
        """Bring the copies together; does nothing where the threads share one model.

        ``visits`` are those of every feature since the last merge, and last all.
        """
        if self.target is None or self.params is None or self.accumulators is None:
            return
        groups = (self.target.params, self.target.accumulators, self.params, self.accumulators)
        # Nobody counts the visits of labels: they are few, but for some relevant ones.
        bias = np.full(len(self.target.params.b), visits[-1])
        known = Params(visits[:-1], bias, NO_VISITS, NO_VISITS)
        for theta, acc, thetas, accs, own in zip(*groups, known, strict=True):
            one = as_matrix(theta), as_matrix(acc)
            merge_copies(*one, _as_stack(thetas), _as_stack(accs), own)

    def start_again(self) -> None:
        """Give every copy the parameters of the model, which have moved since the merge."""
        if self.target is not None and self.params is not None:
            for theta, thetas in zip(self.target.params, self.params, strict=True):
                thetas[:] = theta


def _unstack(group: Params) -> list[Params]:
    return [Params(*arrays) for arrays in zip(*group, strict=True)]


def as_matrix(array: NDArray[Any]) -> NDArray[Any]:
    """Return a parameter as rows; every number of a vector is one."""
    return array if array.ndim == 2 else array[:, None]


def _as_stack(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.ndim == 3 else array[:, :, None]


@njit(cache=True)
def _share(start, sums, total):
    """Return the factor for the summed moves of the copies of one AdaGrad parameter.

    With an accumulator that grows from ``start`` by g, AdaGrad moves some ``sqrt(start + g) -
    sqrt(start)`` along a steady gradient. One run that had seen the gradients of all copies would
    have moved by that distance for the total growth; the copies moved by the sum of theirs.
    """
    # n steps along g sum to Σ_t g / sqrt(start + t g^2), about 2 / g times the distance above; the
    # factor falls out of the ratio.
    apart = 0.0
    for index in range(len(sums)):
        apart += np.sqrt(start + sums[index]) - np.sqrt(start)
    if apart <= 0:
        return np.float32(1.0)
    return np.float32((np.sqrt(start + total) - np.sqrt(start)) / apart)


@njit(cache=True)
def _merge_number(acc, accs, row, column, growth):
    """Add up the accumulators of one parameter; returns the factor for its summed moves."""
    start = np.float64(acc[row, column])
    total = 0.0
    for copy in range(len(accs)):
        growth[copy] = accs[copy, row, column] - start
        total += growth[copy]
    acc[row, column] = start + total
    for copy in range(len(accs)):
        accs[copy, row, column] = acc[row, column]
    return _share(start, growth, total)


@njit(cache=True, fastmath=True)
def merge_copies(theta, acc, thetas, accs, visits):
    """Move ``theta`` and ``acc`` by what the copies learned, and set the copies to the result.

    ``theta`` has shape (n, k) and ``acc`` (n, k) or (n, 1); the copies have one more axis in front.
    ``visits``, of all copies together to every row, may be empty. A row that one copy alone has
    touched takes its move whole; copies that visited it often are averaged (`crowd_share`).
    """
    n_copies, n_rows, k = thetas.shape
    growth = np.zeros(n_copies)
    moves = np.zeros(k, np.float32)
    factors = np.ones(k, np.float32)
    for row in range(n_rows):
        # Row-wise accumulators give one factor for the whole row.
        for column in range(acc.shape[1]):
            factors[column] = _merge_number(acc, accs, row, column, growth)
        if acc.shape[1] == 1:
            factors[:] = factors[0]
        if len(visits) > 0:
            # Whoever visited a row has added to its accumulator.
            touched = 0
            for copy in range(n_copies):
                touched += growth[copy] > 0
            factors *= np.float32(crowd_share(visits[row] / max(touched, 1), max(touched, 1)))
        moves[:] = np.float32(0.0)
        for copy in range(n_copies):
            for q in range(k):
                moves[q] += thetas[copy, row, q] - theta[row, q]
        for q in range(k):
            theta[row, q] += factors[q] * moves[q]
        for copy in range(n_copies):
            for q in range(k):
                thetas[copy, row, q] = theta[row, q]
