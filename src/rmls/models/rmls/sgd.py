"""The pass loop of RMLS: visiting order, threads, progress, early stopping.

A single pass over given visits lives in the kernel; everything that is decided between passes
lives here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.kernels import cpu
from rmls.models.shared.progress import Progress

MAX_VISITS = 16
MEASURED_VISITS = 2048
COPY_BYTES = 16 << 20
PIECES = 4
PIECE_VISITS = 20_000


class TrainingInterrupted(RmlsWarning):
    """Training was stopped by the user; the parameters are those of the last pass."""


Rates = Callable[[int], tuple[float, float]]


@dataclass
class Rows:
    """Training rows as the kernel wants them, with the weight of each."""

    arrays: cpu.Rows
    index: NDArray[np.int64]
    weights: NDArray[np.float64]
    max_features: int
    max_labels: int

    @classmethod
    def of(
        cls,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        index: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> Rows:
        """Collect rows ``index`` of ``X`` and ``Y`` without copying the matrices."""
        arrays = cpu.Rows(
            X.indptr.astype(np.int64),
            _writable(X.indices, np.int32),
            _writable(X.data, np.float32),
            Y.indptr.astype(np.int64),
            _writable(Y.indices, np.int32),
        )
        longest = [int(np.diff(matrix.indptr).max(initial=0)) for matrix in (X, Y)]
        return cls(arrays, index, weights, *longest)


def _writable(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return the array in the one form the kernels are compiled for."""
    result: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype)
    return result if result.flags.writeable else result.copy()


@dataclass
class Sgd:
    """Parameters in training: what a pass needs besides the rows.

    Attributes
    ----------
    params, accumulators : cpu.Params
        Moved in place; arrays of a loaded model are copied into memory first.
    seed : int
        Every random choice is a function of (seed, pass, visit).
    objective : cpu.Objective
    batch_size, n_threads : int
    max_feature_norm : float or None
        Bound on the squared Frobenius norm of ``W``; applied several times a pass and at its end.
    """

    params: cpu.Params
    accumulators: cpu.Params
    seed: int
    objective: cpu.Objective | None = None
    batch_size: int = 1
    n_threads: int = 1
    max_feature_norm: float | None = None
    merges: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of features, labels and components."""
        return len(self.params.W), len(self.params.L), len(self.params.b)

    def fits(self, shape: tuple[int, int, int], width: int) -> bool:
        """Tell whether the parameters have this shape and the accumulators this width."""
        return self.shape == shape and self.accumulators.W.shape[1] == width

    def run_pass(
        self,
        rows: Rows,
        number: int,
        rates: tuple[float, float],
        tick: Callable[[float], None] | None = None,
    ) -> float:
        """Visit every row once, in random order; returns the mean loss of a row (of some 2,000).

        Parameters
        ----------
        rows : Rows
        number : int
            Number of the pass, from 0; it keys the order and the draws.
        rates : (float, float)
            Learning rate at the start and at the end.
        tick : callable, optional
            Called with the share of the pass that is done.
        """
        visits = plan_visits(rows, self.seed, number, rates, self.batch_size)
        self._own_arrays()
        scratch = self._make_scratch(rows)
        copies = self._make_copies()

        def run(worker: Sgd, memory: Any, bounds: tuple[int, int]) -> tuple[float, float]:
            return worker._run_kernel(rows, visits, memory, bounds)

        losses = []
        with ThreadPoolExecutor(self.n_threads) as pool:
            for piece in self._pieces(len(visits.rows)):
                losses += list(pool.map(run, copies.workers, scratch, pairwise(piece)))
                copies.merge()
                self._project()
                if tick is not None:
                    tick(piece[-1] / len(visits.rows))
        loss, weight = np.sum(losses, axis=0)
        if not np.isfinite(loss) or not np.isfinite(self.params.b).all():
            raise InputError(
                "training ran away to numbers that are not finite; lower learning_rate or "
                "sample_weight, or let normalize='auto' scale the features."
            )
        return float(loss / weight)

    def _run_kernel(
        self, rows: Rows, visits: cpu.Visits, memory: cpu.Scratch, bounds: tuple[int, int]
    ) -> tuple[float, float]:
        """Process the visits within ``bounds``; returns their summed loss and weight."""
        measured: tuple[float, float] = cpu.run_visits(
            rows.arrays, self.params, self.accumulators, self.objective, visits, memory, *bounds
        )
        return measured

    def _make_copies(self) -> Copies:
        """Return what every thread trains: a copy of a small model, the one large model itself."""
        size = sum(array.nbytes for array in (*self.params, *self.accumulators))
        if self.n_threads == 1 or not self.merges or size > COPY_BYTES:
            return Copies([self] * self.n_threads)
        groups = []
        for group in (self.params, self.accumulators):
            stacked = (np.repeat(array[None], self.n_threads, axis=0) for array in group)
            groups.append(cpu.Params(*stacked))
        workers = [
            replace(self, params=params, accumulators=accumulators, n_threads=1)
            for params, accumulators in zip(*(_unstack(group) for group in groups), strict=True)
        ]
        return Copies(workers, self, *groups)

    def _own_arrays(self) -> None:
        if not self.params.W.flags.writeable:
            self.params = cpu.Params(*(np.array(array) for array in self.params))
            self.accumulators = cpu.Params(*(np.array(array) for array in self.accumulators))

    def _make_scratch(self, rows: Rows) -> list[cpu.Scratch]:
        longest = self._longest(rows)
        return [
            cpu.make_scratch(self.shape, self.batch_size, rows.max_features, longest)
            for _ in range(self.n_threads)
        ]

    def _longest(self, rows: Rows) -> int:
        """Return the most labels that one visit touches."""
        objective = self.objective
        assert objective is not None, "the objective is set before the first pass"
        _, n_labels, _ = self.shape
        negatives = max(
            rows.max_labels * objective.negatives_per_positive + 1, objective.min_negatives
        )
        if objective.sampler.kind == cpu.IN_BATCH:
            return self.batch_size * rows.max_labels
        longest = n_labels if objective.all_negatives else rows.max_labels + int(negatives)
        return min(longest, n_labels)

    def _pieces(self, n_visits: int) -> Iterator[list[int]]:
        """Cut a pass into pieces, and every piece into one part per thread, at batch ends."""
        n_batches = -(-n_visits // self.batch_size)
        n_pieces = max(PIECES, n_visits // PIECE_VISITS)
        ends = np.linspace(0, n_batches, min(n_pieces, n_batches) + 1)
        for first, last in pairwise(ends):
            cuts = np.round(np.linspace(round(first), round(last), self.n_threads + 1)).astype(int)
            yield [min(int(cut) * self.batch_size, n_visits) for cut in cuts]

    def _project(self) -> None:
        if self.max_feature_norm is not None:
            square = float(np.vdot(self.params.W, self.params.W))
            if square > self.max_feature_norm:
                factor = np.sqrt(self.max_feature_norm / square)
                np.multiply(self.params.W, np.float32(factor), out=self.params.W)
        bound = self.objective.max_label_norm if self.objective is not None else np.zeros(0)
        if self.n_threads > 1 and len(bound) > 0:
            squares = np.einsum("ij,ij->i", self.params.L, self.params.L)
            factors = np.sqrt(np.minimum(bound / np.maximum(squares, bound), 1.0))
            np.multiply(self.params.L, factors[:, None].astype(np.float32), out=self.params.L)


@dataclass
class Copies:
    """The models that the threads of a pass train, and the one they are merged into.

    Threads that write to the same few rows keep taking them from each other's cache, so a model
    that is small is copied for every thread and merged after every piece of a pass; rows of a large
    one rarely meet, and its threads share it without locks.
    """

    workers: list[Sgd]
    target: Sgd | None = None
    params: cpu.Params | None = None
    accumulators: cpu.Params | None = None

    def merge(self) -> None:
        """Bring the copies together; does nothing where the threads share one model."""
        if self.target is None or self.params is None or self.accumulators is None:
            return
        groups = (self.target.params, self.target.accumulators, self.params, self.accumulators)
        for theta, acc, thetas, accs in zip(*groups, strict=True):
            one = _as_matrix(theta), _as_matrix(acc)
            cpu.merge_copies(*one, _as_stack(thetas), _as_stack(accs))


def _unstack(group: cpu.Params) -> list[cpu.Params]:
    return [cpu.Params(*arrays) for arrays in zip(*group, strict=True)]


def _as_matrix(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.ndim == 2 else array[:, None]


def _as_stack(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.ndim == 3 else array[:, :, None]


@dataclass
class Validation:
    """Early stopping: measure held-out rows after every pass, keep the best parameters.

    Attributes
    ----------
    measure : callable
        Returns the metric of the current parameters.
    greater_is_better : bool
    patience : int
        Passes without a rise after which training ends.
    tol : float
        Rise that counts as one.
    """

    measure: Callable[[], float]
    greater_is_better: bool
    patience: int
    tol: float
    values: list[float] = field(default_factory=list)
    _best: float = -np.inf
    _best_params: cpu.Params | None = None
    _stalled: int = 0

    def end_pass(self, params: cpu.Params) -> bool:
        """Measure once; returns whether to go on."""
        self.values.append(self.measure())
        return self._compare(self.values[-1], params)

    def resume(self, params: cpu.Params) -> None:
        """Take the parameters of an earlier run as the ones to beat."""
        self._compare(self.measure(), params)

    def _compare(self, measured: float, params: cpu.Params) -> bool:
        value = measured if self.greater_is_better else -measured
        if value > self._best + self.tol:
            self._best, self._stalled = value, 0
            self._best_params = cpu.Params(*(array.copy() for array in params))
        else:
            self._stalled += 1
        return self._stalled < self.patience

    def restore_best(self, params: cpu.Params) -> None:
        """Copy the best parameters seen back into ``params``."""
        if self._best_params is not None:
            for array, best in zip(params, self._best_params, strict=True):
                array[...] = best


def run_passes(
    sgd: Sgd,
    rows: Rows,
    passes: range,
    rates: Rates,
    validation: Validation | None = None,
    verbose: int = 0,
) -> list[float]:
    """Make the passes and return the mean loss of each; a stalled metric or Ctrl-C ends them."""
    losses: list[float] = []
    interrupted = False
    with Progress(passes, verbose) as progress:
        try:
            if validation is not None and passes.start > 0:
                validation.resume(sgd.params)
            for number in passes:
                losses.append(sgd.run_pass(rows, number, rates(number), progress.tick))
                go_on = validation is None or validation.end_pass(sgd.params)
                progress.end_pass(number, losses[-1], validation.values[-1] if validation else None)
                if not go_on:
                    break
        except KeyboardInterrupt:
            interrupted = True
    if validation is not None:
        if len(validation.values) < len(losses):
            validation.end_pass(sgd.params)
        validation.restore_best(sgd.params)
    if interrupted:
        warnings.warn(
            f"interrupted after {passes.start + len(losses)} of {passes.stop} passes; "
            "the model is kept.",
            TrainingInterrupted,
            stacklevel=2,
        )
    return losses


def count_visits(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how often a pass visits rows of these weights."""
    return np.clip(np.ceil(weights), 1, MAX_VISITS).astype(np.int64)


def plan_visits(
    rows: Rows, seed: int, number: int, rates: tuple[float, float], batch_size: int
) -> cpu.Visits:
    """Lay out one pass: a row of weight w is visited ceil(w) times (at most 16) with equal weight.

    An integer weight is thus the same as repeating the row.
    """
    times = count_visits(rows.weights)
    repeated = np.repeat(np.arange(len(times)), times)
    rng = np.random.Generator(np.random.Philox(key=[seed, number]))
    order = rng.permutation(len(repeated))
    keys = rng.integers(0, 2**64, size=len(repeated), dtype=np.uint64)
    visited = repeated[order]
    weights = (rows.weights / times)[visited].astype(np.float32)
    first_rate, last_rate = (float(rate) for rate in rates)
    stride = max(1, len(visited) // MEASURED_VISITS)
    return cpu.Visits(rows.index[visited], weights, keys, first_rate, last_rate, batch_size, stride)


def hold_out(n_rows: int, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split row positions at random into a held-out share (at least one if not 0) and the rest."""
    count = max(1, round(share * n_rows)) if share else 0
    if count and count >= n_rows:
        raise InputError(
            f"holding out {share} of {n_rows} distinct rows leaves nothing to train on; "
            "give more rows, or hold out less (validation_fraction)."
        )
    order = np.random.Generator(np.random.Philox(key=[seed, 2**33])).permutation(n_rows)
    return np.sort(order[:count]), np.sort(order[count:])
