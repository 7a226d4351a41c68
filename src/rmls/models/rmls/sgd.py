"""The pass loop of RMLS: parameters in training, progress, early stopping.

A single pass over given visits belongs to the backend; everything that is decided between passes
belongs here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace
from rmls.core.options import read_seed
from rmls.core.resources import count_threads, require_memory
from rmls.kernels.arrays import LabelledRows, Objective, Params
from rmls.kernels.backend import Passes, Vectors, get_backend, join_vectors
from rmls.models.rmls.early_stopping import Validation
from rmls.models.rmls.objective import make_objective
from rmls.models.rmls.sampling import (
    Totals,
    bound_batch,
    count_passes,
    count_rows,
    count_visits,
    learning_rates,
    mean_rate,
    plan_visits,
)
from rmls.models.shared.progress import Progress, warn_interrupted
from rmls.models.shared.training_set import TrainingSet

Tick = Callable[[float], None]

# A tenth of a second at most on one thread (docs/reference/reproducibility.md).
SMALL_PASS = 1 << 19
# A pass is merged four times; fewer visits in between are not worth a thread.
VISITS_A_THREAD = 256


@dataclass
class Sgd:
    """Parameters with what stochastic gradient descent remembers of them.

    Attributes
    ----------
    params, accumulators : Params
        Moved in place; arrays of a loaded model are copied into memory first.
    seed : int
        Every random choice is a function of (seed, pass, visit).
    """

    params: Params
    accumulators: Params
    seed: int

    @classmethod
    def of(cls, options: Any, shape: tuple[int, int, int]) -> Sgd:
        """Return the start of the training of a model of ``shape``, with the options of an RMLS."""
        seed, elementwise = read_seed(options.random_state), options.accumulators == "element"
        start = options.initial_accumulator
        return cls(*initial_params(shape, options.init, seed, start, elementwise), seed)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of features, labels and components."""
        return len(self.params.W), len(self.params.L), len(self.params.b)

    def fits(self, options: Any, shape: tuple[int, int, int]) -> bool:
        """Tell whether a model of ``shape`` and these options can go on from here."""
        width = options.n_components if options.accumulators == "element" else 1
        return self.shape == shape and self.accumulators.W.shape[1] == width

    def own_arrays(self) -> None:
        """Copy arrays that cannot be written to, such as those of a loaded model."""
        if not self.params.W.flags.writeable:
            self.params = Params(*(np.array(array) for array in self.params))
            self.accumulators = Params(*(np.array(array) for array in self.accumulators))


@dataclass(frozen=True)
class Settled:
    """What follows from the options of an RMLS and the totals of its rows.

    Attributes
    ----------
    objective : Objective
    totals : Totals
    rate : float or ndarray of float32, shape (n_labels,)
        Mean rate at which irrelevant labels enter the loss.
    """

    objective: Objective
    totals: Totals
    rate: float | NDArray[np.float32]

    @classmethod
    def of(cls, options: Any, space: LabelSpace, totals: Totals) -> Settled:
        """Settle the objective."""
        objective = make_objective(options, space, totals, get_backend(options.device))
        return cls(objective, totals, mean_rate(objective, totals, options.batch_size))

    def start_bias(self, bias: NDArray[np.float32]) -> None:
        """Set label biases so that a loss corrected by log q starts from the scores 0."""
        # The corrected score is s - log r: 0 for every label where s is log r.
        bias[:] = np.log(np.maximum(self.rate, 1e-9))


@dataclass
class Training:
    """Rows and parameters that a backend trains.

    Attributes
    ----------
    passes : Passes
    data : TrainingSet
        Normalised.
    state : Sgd
    batch_size : int
    redraw : bool
        Whether every pass makes draws of its own.
    """

    passes: Passes
    data: TrainingSet
    state: Sgd
    batch_size: int
    redraw: bool = True

    @classmethod
    def of(cls, options: Any, state: Sgd, settled: Settled, data: TrainingSet) -> Training:
        """Start the training of ``state`` on normalised rows, with the options of an RMLS."""
        state.own_arrays()
        batch_size = bound_batch(options.batch_size, data)
        passes = get_backend(options.device).start_passes(
            label_rows(data),
            state.params,
            state.accumulators,
            settled.objective,
            batch_size=batch_size,
            n_threads=training_threads(options.n_jobs, data, int(options.n_components)),
            max_feature_norm=options.max_feature_norm,
        )
        return cls(passes, data, state, batch_size, options.redraw)

    def run_pass(self, number: int, rates: tuple[float, float], tick: Tick | None = None) -> float:
        """Visit every row once, in random order; returns the mean loss of a row (of some 2,000).

        Parameters
        ----------
        number : int
            Number of the pass, from 0; it keys the order and the draws.
        rates : (float, float)
            Learning rate at the start and at the end.
        tick : callable, optional
            Called with the share of the pass that is done.
        """
        visits = plan_visits(
            self.data, self.state.seed, number, rates, self.batch_size, redraw=self.redraw
        )
        loss, weight = self.passes.run(visits, tick)
        _require_finite(loss)
        # Weights below the range of float32 count for nothing.
        return float(loss / weight) if weight > 0 else 0.0

    def pull(self) -> Params:
        """Return the parameters, brought up to date."""
        self.passes.pull()
        _require_finite(self.state.params.b)
        return self.state.params


def training_threads(n_jobs: int | None, data: TrainingSet, n_components: int) -> int:
    """Return the threads of a training: one where a pass is small, so that `n_jobs` is no matter.

    Visits times components measure a pass. Larger ones have enough visits for every thread.
    """
    n_visits = int(count_visits(data.weights).sum())
    if n_visits * n_components <= SMALL_PASS:
        return 1
    return min(count_threads(n_jobs), max(1, n_visits // VISITS_A_THREAD))


def _require_finite(values: Any) -> None:
    if not np.isfinite(values).all():
        raise InputError(
            "training ran away to numbers that are not finite; lower learning_rate or "
            "sample_weight, or let normalize='auto' scale the features."
        )


def label_rows(data: TrainingSet) -> LabelledRows:
    """Return the matrices of a set as the kernels want them, without a copy where possible."""
    X, Y = data.X, data.Y
    return LabelledRows(
        X.indptr.astype(np.int64),
        _writable(X.indices, np.int32),
        _writable(X.data, np.float32),
        Y.indptr.astype(np.int64),
        _writable(Y.indices, np.int32),
    )


def _writable(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return the array in the one form the kernels are compiled for."""
    result: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype)
    return result if result.flags.writeable else result.copy()


def run_passes(
    training: Training,
    passes: range,
    options: Any,
    validation: Validation | None = None,
    *,
    name: str = "training",
    tell: Callable[[str], None] = warn_interrupted,
) -> list[float]:
    """Make the passes and return the mean loss of each; a stalled metric or Ctrl-C ends them.

    Parameters
    ----------
    training : Training
    passes : range
    options : object
        With ``learning_rate`` and ``schedule``.
    validation : Validation, optional
    name : str, default="training"
        What the user sees it called.
    tell : callable
        Gets the end of a sentence about Ctrl-C.
    """
    losses: list[float] = []
    interrupted = False
    try:
        with Progress(passes, name) as progress:
            # A training that goes on must beat what it started from, not only its own first pass.
            if validation is not None and passes.start > 0:
                validation.resume(training.pull())
            for number in passes:
                rates = learning_rates(options.learning_rate, options.schedule, number, passes.stop)
                losses.append(training.run_pass(number, rates, progress.tick))
                go_on = validation is None or validation.end_pass(training.pull())
                progress.end_pass(number, losses[-1], validation.values[-1] if validation else None)
                if not go_on:
                    break
    except KeyboardInterrupt:
        interrupted = True
    params = training.pull()
    if validation is not None:
        # Interrupted between a pass and its measurement: the pass is measured now.
        if len(validation.values) < len(losses):
            validation.end_pass(params)
        validation.restore_best(params)
    if interrupted:
        made = passes.start + len(losses)
        kept = "the model is kept" if made else "nothing is learned yet"
        tell(f"after {made} of {passes.stop} passes; {kept}")
    return losses


def train_vectors(
    options: Any,
    space: LabelSpace,
    data: TrainingSet,
    name: str = "vectors",
    tell: Callable[[str], None] = warn_interrupted,
    start: Callable[..., Training] = Training.of,
) -> tuple[Vectors, int]:
    """Train the vectors of one RMLS, and nothing besides them; also returns the passes made.

    ``start`` settles where the passes are made.
    """
    options._check_options()
    settled = Settled.of(options, space, Totals.of(data))
    state = Sgd.of(options, (data.n_features, data.n_labels, int(options.n_components)))
    if options.log_q and options.fit_intercept:
        settled.start_bias(state.params.c)
    passes = range(count_passes(options.max_iter, count_rows(data.weights)))
    training = start(options, state, settled, data)
    losses = run_passes(training, passes, options, name=name, tell=tell)
    return Vectors(state.params, options.activation, options.device), len(losses)


def train_members(
    members: list[Any],
    space: LabelSpace,
    data: TrainingSet,
    tell: Callable[[str], None] = warn_interrupted,
    start: Callable[..., Training] = Training.of,
) -> Vectors:
    """Train the vectors of several RMLS on the same rows; their scores are averaged.

    Ctrl-C, which ``tell`` hears of, leaves the members that have made a pass.
    """
    parts: list[Vectors] = []
    told: list[str] = []
    for number, member in enumerate(members):
        name = "vectors" if len(members) == 1 else f"vectors {number + 1}/{len(members)}"
        vectors, n_passes = train_vectors(member, space, data, name, told.append, start)
        parts += [vectors] if n_passes else []
        if told:
            break
    if not parts:
        raise KeyboardInterrupt
    for text in told:
        tell(text)
    return join_vectors(parts)


def initial_params(
    shape: tuple[int, int, int], init: str, seed: int, accumulator: float, elementwise: bool
) -> tuple[Params, Params]:
    """Return fresh parameters and accumulators for (n_features, n_labels, n_components).

    ``"glorot"`` draws both matrices uniformly within Glorot's bounds; ``"projection"`` starts from
    a random projection of unit rows (``W`` uniform in ±0.3) and label vectors of zero.
    """
    d, m, k = shape
    require_memory(
        4 * (d + m) * (k + (k if elementwise else 1)),
        f"a model of {d} features, {m} labels and {k} components",
        "use fewer components",
    )
    # Passes use the keys from 0 on; this stream lies beyond all of them.
    rng = np.random.Generator(np.random.Philox(key=[seed, 2**32]))
    # Label vectors of zero: every score starts at 0, and the random projection moves only when
    # labels have learned a direction. Glorot and Bengio: sqrt(6 / (rows + columns)).
    bounds = (0.3, 0.0) if init == "projection" else (np.sqrt(6 / (d + k)), np.sqrt(6 / (m + k)))
    W, L = (_uniform(rng, (rows, k), bound) for rows, bound in zip((d, m), bounds, strict=True))
    params = Params(W, np.zeros(k, np.float32), L, np.zeros(m, np.float32))
    # AdaGrad by row keeps one number for k: half the memory traffic.
    shapes = param_shapes(shape, k if elementwise else 1).values()
    return params, Params(*(np.full(size, accumulator, np.float32) for size in shapes))


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
