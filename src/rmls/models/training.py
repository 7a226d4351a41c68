"""The pass loop of RMLS: visiting order, threads, progress, early stopping.

A single pass over given visits lives in the kernel; everything that is decided between passes
lives here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.kernels import cpu
from rmls.models.progress import Progress

MAX_VISITS = 16
MEASURED_VISITS = 2048
PIECES = 8
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

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of features, labels and components."""
        return len(self.params.W), len(self.params.L), len(self.params.b)

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

        def run(memory: cpu.Scratch, bounds: tuple[int, int]) -> tuple[float, float]:
            return self._run_kernel(rows, visits, memory, bounds)

        losses = []
        with ThreadPoolExecutor(self.n_threads) as pool:
            for piece in self._pieces(len(visits.rows)):
                losses += list(pool.map(run, scratch, pairwise(piece)))
                self._project()
                if tick is not None:
                    tick(piece[-1] / len(visits.rows))
        loss, weight = np.sum(losses, axis=0)
        return float(loss / weight)

    def _run_kernel(
        self, rows: Rows, visits: cpu.Visits, memory: cpu.Scratch, bounds: tuple[int, int]
    ) -> tuple[float, float]:
        """Process the visits within ``bounds``; returns their summed loss and weight."""
        measured: tuple[float, float] = cpu.run_visits(
            rows.arrays, self.params, self.accumulators, self.objective, visits, memory, *bounds
        )
        return measured

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


def plan_visits(
    rows: Rows, seed: int, number: int, rates: tuple[float, float], batch_size: int
) -> cpu.Visits:
    """Lay out one pass: a row of weight w is visited ceil(w) times (at most 16) with equal weight.

    An integer weight is thus the same as repeating the row.
    """
    times = np.clip(np.ceil(rows.weights), 1, MAX_VISITS).astype(np.int64)
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


def learning_rates(rate: float, schedule: str, number: int, total: int) -> tuple[float, float]:
    """Return the learning rate at both ends of a pass.

    Examples
    --------
    >>> learning_rates(0.1, "linear", 0, 2), learning_rates(0.1, "constant", 0, 2)
    ((0.1, 0.05), (0.1, 0.1))
    """
    if schedule == "constant":
        return rate, rate
    return rate * (1 - number / total), rate * (1 - (number + 1) / total)


def start_params(
    shape: tuple[int, int, int], init: str, seed: int, accumulator: float, elementwise: bool
) -> tuple[cpu.Params, cpu.Params]:
    """Return fresh parameters and accumulators for (n_features, n_labels, n_components).

    ``"glorot"`` draws both matrices uniformly within Glorot's bounds; ``"projection"`` starts from
    a random projection of unit rows (``W`` uniform in ±0.3) and label vectors of zero.
    """
    d, m, k = shape
    rng = np.random.Generator(np.random.Philox(key=[seed, 2**32]))
    bounds = (0.3, 0.0) if init == "projection" else (np.sqrt(6 / (d + k)), np.sqrt(6 / (m + k)))
    W, L = (_uniform(rng, (rows, k), bound) for rows, bound in zip((d, m), bounds, strict=True))
    params = cpu.Params(W, np.zeros(k, np.float32), L, np.zeros(m, np.float32))
    shapes = param_shapes(shape, k if elementwise else 1).values()
    return params, cpu.Params(*(np.full(size, accumulator, np.float32) for size in shapes))


def param_shapes(shape: tuple[int, int, int], width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of parameters (``width`` = k) or accumulators by name."""
    d, m, k = shape
    return {"W": (d, width), "b": (k,), "L": (m, width), "c": (m,)}


def _uniform(rng: np.random.Generator, shape: tuple[int, int], bound: float) -> NDArray[np.float32]:
    if bound == 0:
        return np.zeros(shape, np.float32)
    values = rng.random(shape, dtype=np.float32)
    values *= np.float32(2 * bound)
    values -= np.float32(bound)
    return values
