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

from rmls.bench.data import Parts, checksum, load_source, split_rows, take_parts
from rmls.bench.records import Data, Measured, Reliability
from rmls.bench.study import NO_RULE, Fit
from rmls.core.errors import InputError

KS = (1, 3, 5)
EDGES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MAX_PAIRS = 500_000_000
BLOCK_PAIRS = 4_000_000


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
        training = timed(lambda: make_model(fit).fit(parts.X_train, parts.Y_train))
        return data, _use(training, fit.method.decisions, parts)


def make_model(fit: Fit, **overrides: Any) -> Any:
    """Return the estimator of a fit, with its seed and threads."""
    from rmls import models

    estimator = getattr(models, fit.method.method)
    model = estimator.paper() if fit.method.preset == "paper" else estimator()
    common = {"random_state": fit.seed, "n_jobs": fit.study.threads}
    known = model.get_params()
    chosen = {**{name: v for name, v in common.items() if name in known}, **fit.params}
    return model.set_params(**{**chosen, **overrides})


def warm_up(fit: Fit) -> None:
    """Load the compiled kernels of a method, so that training does not wait for them."""
    small = {"n_components": 2, "max_iter": 1}
    known = make_model(fit).get_params()
    model = make_model(fit, **{name: v for name, v in small.items() if name in known})
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
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return Timed(value, time.perf_counter() - wall, time.process_time() - cpu)


def _use(training: Timed, decisions: tuple[str, ...], parts: Parts) -> list[Measured]:
    """Predict with every decision rule, then take the figures that cost memory of their own."""
    model = training.value
    rules = [None if decision == NO_RULE else decision for decision in decisions]
    predictions = [timed(partial(model.predict_sets, parts.X_test, rule)) for rule in rules]
    ranking = model.rank(parts.X_test, max(KS))
    peak = peak_memory()
    reliability = measure_reliability(model, parts.X_test, parts.Y_test)
    size = archive_size(model)
    return [
        Measured(
            metrics=_evaluate(parts, prediction.value, ranking),
            reliability=reliability,
            empty_rows=float(np.mean(np.diff(prediction.value.indptr) == 0)),
            train_seconds=training.seconds,
            train_cpu_seconds=training.cpu_seconds,
            predict_seconds=prediction.seconds,
            predict_cpu_seconds=prediction.cpu_seconds,
            peak_memory=peak,
            model_bytes=size,
        )
        for prediction in predictions
    ]


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


def measure_reliability(
    model: Any, X: sparse.csr_matrix, Y: sparse.csr_matrix
) -> Reliability | None:
    """Return observed against predicted probability over all rows and labels, in blocks of rows.

    None where the method gives no probabilities, or where there are too many pairs to look at.
    """
    n_samples, n_labels = Y.shape
    if not hasattr(model, "predict_proba") or n_samples * n_labels > MAX_PAIRS:
        return None
    n_bins = len(EDGES) - 1
    pairs, predicted, observed = np.zeros(n_bins), np.zeros(n_bins), np.zeros(n_bins)
    size = max(1, BLOCK_PAIRS // n_labels)
    for start in range(0, n_samples, size):
        block = slice(start, start + size)
        probabilities = np.asarray(model.predict_proba(X[block]), dtype=np.float64).ravel()
        bins = np.searchsorted(EDGES, probabilities, side="right") - 1
        bins = np.clip(bins, 0, n_bins - 1)
        pairs += np.bincount(bins, minlength=n_bins)
        predicted += np.bincount(bins, probabilities, minlength=n_bins)
        relevant = bins.reshape(-1, n_labels)[Y[block].nonzero()]
        observed += np.bincount(relevant, minlength=n_bins)
    return Reliability(
        edges=list(EDGES),
        pairs=[int(count) for count in pairs],
        predicted=_ratios(predicted, pairs),
        observed=_ratios(observed, pairs),
    )


def _ratios(sums: Any, counts: Any) -> list[float | None]:
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]


def peak_memory() -> int:
    """Return the most resident memory this process has had, in bytes; 0 where unknown."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def archive_size(model: Any) -> int:
    """Return the bytes of the saved model."""
    with tempfile.TemporaryDirectory(prefix="rmls-bench-") as folder:
        model.save(Path(folder) / "model")
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files)
