"""Train one model, use it, and take its figures."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rmls.bench.run.probabilities import measure_probabilities
from rmls.bench.run.records import Data, Measured
from rmls.bench.run.tuning import tune
from rmls.bench.study.data import Parts, checksum, load_source, split_rows, take_parts
from rmls.bench.study.grid import Fit
from rmls.bench.study.methods import NO_RULE
from rmls.core.errors import InputError

# The lengths that extreme classification reports.
KS = (1, 3, 5)


class Timed(NamedTuple):
    """A value and the seconds it took, of the clock and of all cores together."""

    value: Any
    seconds: float
    cpu_seconds: float


def measure(fit: Fit, expected_checksum: str | None = None) -> tuple[Data, list[Measured]]:
    """Run a fit and return the figures of each of its decision rules.

    Parameters
    ----------
    fit : Fit
    expected_checksum : str, optional
        Refuse data that have changed since the study was planned.

    Notes
    -----
    Training is timed with compiled kernels: the same method is first fitted to a few rows. The
    peak of memory is that of the process up to the prediction, libraries and data included.
    """
    # Loaded again in each process: a fork shares nothing with the one that planned the study.
    dataset = load_source(fit.dataset)
    found = checksum(dataset)
    if expected_checksum not in (None, found):
        raise InputError(f"{fit.dataset.name} has changed since the study was started.")
    study = fit.study
    rows = split_rows(dataset, study.folds, study.n_folds, fit.fold, fit.seed)
    parts = take_parts(dataset, rows, fit.dataset.features)
    data = Data(
        checksum=found,
        n_train=len(rows[0]),
        n_test=len(rows[1]),
        n_features=dataset.n_features,
        n_labels=dataset.n_labels,
    )
    with limited_threads(study.threads):
        warm_up(fit)
        tuned = tune(fit, parts, make_model) if fit.method.tune else None
        chosen = tuned["chosen"] if tuned else {}
        training = timed(lambda: make_model(fit, **chosen).fit(parts.X_train, parts.Y_train))
        measured = _measure_model(training, fit.method.decisions, parts)
        return data, [Measured(**one, tuning=tuned) for one in measured] if tuned else measured


def make_model(fit: Fit, **overrides: Any) -> Any:
    """Return the estimator of a fit, with its seed and threads."""
    known = fit.method.make({}).get_params()
    common = {"random_state": fit.seed, "n_jobs": fit.study.threads}
    chosen = {name: value for name, value in common.items() if name in known}
    return fit.method.make({**chosen, **fit.params, **overrides})


def warm_up(fit: Fit) -> None:
    """Load the compiled kernels of a method, so that training does not wait for them."""
    small = {"n_components": 2, "max_iter": 1}
    known = make_model(fit).get_params()
    model = make_model(fit, **{name: v for name, v in small.items() if name in known})
    # Kernels are compiled, or read from their cache, for types and not for sizes.
    random = np.random.default_rng(0)
    X = sparse.random(40, 12, density=0.5, random_state=random, format="csr", dtype=np.float32)
    Y = sparse.csr_matrix((random.random((40, 6)) < 0.4).astype(np.int32))
    model.fit(X, Y)
    model.predict_sets(X)
    model.rank(X, 2)


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Hold the linear algebra libraries to a number of threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        yield


def timed(work: Callable[[], Any]) -> Timed:
    """Return what ``work`` returns, and how long it took."""
    # Processor time counts all threads, and hardly changes on a busy machine.
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return Timed(value, time.perf_counter() - wall, time.process_time() - cpu)


def _measure_model(training: Timed, decisions: tuple[str, ...], parts: Parts) -> list[Measured]:
    """Predict with every decision rule, then take the figures that cost memory of their own."""
    model = training.value
    rules = [None if decision == NO_RULE else decision for decision in decisions]
    predictions = [timed(partial(model.rank_sets, parts.X_test, rule)) for rule in rules]
    sets = [prediction.value.to_sets() for prediction in predictions]
    by_score = model.rank(parts.X_test, max(KS))
    rankings = [
        prediction.value if _ranks_by_itself(rule) else by_score
        for prediction, rule in zip(predictions, rules, strict=True)
    ]
    # Here and not later: the peak never falls, and what follows (n × m probabilities, the archive)
    # is not what a user of the model pays for.
    peak = peak_memory()
    reliability, calibrations = measure_probabilities(model, parts, sets)
    size = archive_size(model)
    return [
        Measured(
            metrics=_evaluate(parts, sets[position], rankings[position]),
            reliability=reliability,
            calibration=calibrations[position],
            empty_rows=float(np.mean(np.diff(sets[position].indptr) == 0)),
            train_seconds=training.seconds,
            train_cpu_seconds=training.cpu_seconds,
            predict_seconds=prediction.seconds,
            predict_cpu_seconds=prediction.cpu_seconds,
            peak_memory=peak,
            model_bytes=size,
        )
        for position, prediction in enumerate(predictions)
    ]


def _ranks_by_itself(decision: str | None) -> bool:
    """Tell whether a rule chooses the best labels in its own way, as the tail dial does."""
    from rmls.decide import make_rule

    rule = None if decision is None else make_rule(decision)
    return rule is not None and rule.needs_probabilities and rule.top == max(KS)


def _evaluate(parts: Parts, sets: sparse.csr_matrix, ranking: Any) -> dict[str, dict[str, float]]:
    from rmls.core.sparse import label_counts
    from rmls.metrics import evaluate

    report = evaluate(
        parts.Y_test,
        sets,
        ranking,
        ks=KS,
        train_counts=label_counts(parts.Y_train),
        n_train=int(parts.Y_train.shape[0]),
    )
    return {"all": report.totals, **report.groups}


def peak_memory() -> int:
    """Return the maximum of the resident memory of this process, in bytes; 0 where unknown."""
    try:
        import resource
    except ImportError:
        return 0
    # Bytes on macOS, kibibytes elsewhere.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def archive_size(model: Any) -> int:
    """Return the bytes of the saved model."""
    with tempfile.TemporaryDirectory(prefix="rmls-bench-") as folder:
        model.save(Path(folder) / "model")
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files)
