"""No call uses more threads than `n_jobs`, and none changes the state of the process."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from model_samples import ESTIMATORS, fitted, make, make_blocks, train_on_threads
from resample_samples import RESAMPLERS
from scipy import sparse
from sklearn.base import clone
from thread_watch import blas_threads, watched_threads
from tolerances import assert_close

from rmls import RMLS, make_longtail, metrics
from rmls.imbalance import StratifiedFolds, assign_folds, describe
from rmls.metrics import precision_at_k
from rmls.models.rmls.sgd import training_threads
from rmls.models.shared.training_set import TrainingSet

X, Y = make_blocks()
METHODS = ("predict", "decision_function", "predict_proba", "predict_sets", "rank", "rank_sets")
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def settings(model: Any, n_jobs: int) -> Any:
    """Return the estimator with this number of threads, also of the one inside."""
    known = model.get_params()
    return clone(model).set_params(**{key: n_jobs for key in known if key.endswith("n_jobs")})


def use(model: Any) -> None:
    for method in METHODS:
        if hasattr(model, method):
            getattr(model, method)(X)
    model.score(X, Y)


@pytest.mark.parametrize(
    ("name", "n_jobs"), [*((name, 2) for name in ESTIMATORS), ("RMLSRanker", 1), ("RMLSRanker", 3)]
)
def test_fits_and_predictions_keep_to_their_threads(
    name: str, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_threads(monkeypatch)
    model = settings(make(name), n_jobs)
    with watched_threads() as seen:
        model.fit(X, Y)
        use(model)
    assert max(seen) <= n_jobs, seen


@pytest.mark.parametrize("name", [n for n, c in ESTIMATORS.items() if hasattr(c, "partial_fit")])
def test_further_rows_are_learned_on_their_threads(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_threads(monkeypatch)
    model = settings(make(name), 2)
    with watched_threads() as seen:
        model.partial_fit(X, Y).partial_fit(X, Y)
    assert max(seen) <= 2, seen


def test_labels_that_come_later_learn_on_their_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    train_on_threads(monkeypatch)
    model = settings(make("RMLSRanker"), 2).fit(X, Y)
    first = np.pad(Y, ((0, 0), (0, 1)))
    first[:3, -1] = 1
    with watched_threads() as seen:
        model.add_labels(["new"], X=X, y=first)
        parts = np.pad(first, ((0, 0), (0, 2)))
        parts[:3, -1] = 1
        model.split_label("new", ["one", "two"], X=X, y=parts)
        model.explain(X[0])
    assert max(seen) <= 2, seen


@every_estimator
def test_every_public_method_that_takes_rows_is_watched(name: str) -> None:
    takes_rows = {
        method
        for method, function in inspect.getmembers(ESTIMATORS[name], callable)
        if not method.startswith("_") and "X" in inspect.signature(function).parameters
    }
    later = {"partial_fit", "add_labels", "split_label"}
    assert takes_rows <= {*METHODS, *later, "fit", "score", "set_score_request"}


@pytest.mark.parametrize("name", RESAMPLERS)
def test_resamplers_use_one_thread(name: str) -> None:
    resampler = RESAMPLERS[name]()
    with watched_threads() as seen:
        resampler.fit_resample(X, Y)
    assert max(seen) == 1, seen


@pytest.mark.parametrize("name", metrics.METRICS)
def test_metrics_use_one_thread(name: str) -> None:
    metric = metrics.get_metric(name)
    metric = metric.at(2) if metric.takes_k else metric
    known = {"propensity": np.full(Y.shape[1], 0.5), "sample_weight": np.ones(len(Y))}
    options = {key: value for key, value in known.items() if key in metric.options}
    arguments = [Y, Y, 2] if metric.takes_k else [Y, Y]
    with watched_threads() as seen:
        metric.function(*arguments, **options)
    assert max(seen) == 1, seen


def test_reports_and_folds_use_one_thread() -> None:
    folds = StratifiedFolds(3)
    with watched_threads() as seen:
        metrics.evaluate(Y, Y, 1.0 * Y, train_counts=Y.sum(axis=0), n_train=len(Y))
        metrics.brier_score(Y, 0.5 * Y)
        metrics.expected_calibration_error(Y, 0.5 * Y)
        metrics.reliability_curve(Y, 0.5 * Y)
        assign_folds(Y, [0.5, 0.5])
        list(folds.split(X, Y))
        describe(Y)
    assert max(seen) == 1, seen


@pytest.mark.parametrize("name", ["RMLS", "RMLSRanker", "PLST", "KNN"])
def test_predictions_from_many_threads_leave_the_process_as_it_was(name: str) -> None:
    before = blas_threads()
    models = [fitted(name)]
    for n_jobs in (1, 2, 3):
        other = settings(fitted(name), n_jobs)
        models.append(other.fit(X, Y))
    barrier = threading.Barrier(6)

    def ask(number: int) -> None:
        barrier.wait()
        for turn in range(5):
            models[(number + turn) % len(models)].predict(X)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6)))
    assert blas_threads() == before


@every_estimator
def test_a_small_model_is_the_same_for_every_number_of_threads(name: str) -> None:
    one, *others = (settings(make(name), n_jobs).fit(X, Y) for n_jobs in (1, 2, 5))
    for other in others:
        assert_close(other.decision_function(X), one.decision_function(X))
        assert (other.predict_sets(X) != one.predict_sets(X)).nnz == 0


@pytest.mark.parametrize("name", ["RMLS", "RMLSRanker", "WSABIE"])
def test_a_few_hundred_rows_are_a_small_model(name: str) -> None:
    data = make_longtail(400, 150, 60, labels_per_row=3.0)
    known = ESTIMATORS[name]().get_params()
    settings = {"calibration": None} if "calibration" in known else {}
    one, two = (ESTIMATORS[name](n_jobs=n, **settings).fit(data.X, data.Y) for n in (None, 2))
    assert_close(two.decision_function(data.X), one.decision_function(data.X))


@pytest.mark.parametrize(
    ("n_rows", "n_components", "threads"),
    [(4096, 128, 1), (4097, 128, 8), (1 << 19, 1, 1), (800, 1024, 3), (10, 1 << 20, 1)],
)
def test_the_size_of_a_pass_decides_on_its_threads(
    n_rows: int, n_components: int, threads: int
) -> None:
    empty = sparse.csr_matrix((n_rows, 1))
    data = TrainingSet(empty, empty, np.arange(n_rows), np.ones(n_rows))
    assert training_threads(8, data, n_components) == threads
    assert training_threads(None, data, n_components) == 1


def test_a_fit_that_fails_leaves_the_process_as_it_was() -> None:
    before = blas_threads()
    with pytest.raises(ValueError, match="rows"):
        make("RMLSRanker").fit(X, Y[:-1])
    assert blas_threads() == before


def test_an_estimator_inside_keeps_its_threads() -> None:
    model = ESTIMATORS["Calibrated"](make("PLST", n_jobs=2))
    with watched_threads() as seen:
        model.fit(X, Y)
    assert max(seen) == 2


def test_eight_threads_rank_as_well_as_one() -> None:
    """Copies that drift apart, or whose moves add up to too much, rank half as well."""
    data = make_longtail(9000, 1500, 600, labels_per_row=4, random_state=0)
    found = []
    for n_jobs in (1, 8):
        model = RMLS(
            96,
            sampler="mixture",
            negatives_per_positive=10,
            learning_rate=0.2,
            max_iter=4,
            calibration=None,
            n_jobs=n_jobs,
        ).fit(data.X[:7000], data.Y[:7000])
        found.append(precision_at_k(data.Y[7000:], model.rank(data.X[7000:], 5), 5))
    assert found[0] > 0.5
    assert found[1] > found[0] - 0.03
