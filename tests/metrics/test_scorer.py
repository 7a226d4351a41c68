"""Any metric searches parameters: `scorer` asks the estimator for what the metric needs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from model_samples import NAMES, as_names, make, make_blocks, make_noise
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from rmls import RMLSRanker, make_longtail
from rmls.core.errors import InputError, RmlsWarning
from rmls.imbalance import StratifiedFolds
from rmls.metrics import (
    METRICS,
    brier_score,
    expected_calibration_error,
    get_metric,
    propensities,
    scorer,
)

X, Y = make_noise()
EVERY = [name.replace("@k", "@3") for name in METRICS]
every_metric = pytest.mark.parametrize("name", EVERY)


@pytest.fixture(scope="module")
def model() -> Any:
    return make("RMLS").fit(X[:50], Y[:50])


def by_hand(model: Any, name: str, X: np.ndarray, Y: np.ndarray) -> float:
    metric = get_metric(name)
    options: dict[str, Any] = {}
    if "propensity" in metric.options:
        options["propensity"] = propensities(model.label_counts_, model.n_samples_)
    prediction = model.predict(X) if metric.needs == "sets" else model.decision_function(X)
    value = metric(Y, prediction, **options)
    return value if metric.greater_is_better else -value


@every_metric
def test_every_metric_has_a_scorer(name: str, model: Any) -> None:
    value = scorer(name)(model, X[50:], Y[50:])
    assert type(value) is float
    assert value == pytest.approx(by_hand(model, name, X[50:], Y[50:]))


@every_metric
def test_a_scorer_is_picklable_and_shows_its_metric(name: str, model: Any) -> None:
    found = scorer(get_metric(name))
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found == scorer(name.upper())
    assert copy(model, X, Y) == found(model, X, Y)
    assert repr(found).startswith(f"scorer({name!r}")
    assert ("negated" in repr(found)) != get_metric(name).greater_is_better


@every_metric
def test_more_is_better(name: str) -> None:
    X, Y = make_blocks()
    good = make("RMLS", max_iter=20).fit(X, Y)
    bad = make("RMLS", max_iter=20).fit(X, 1 - Y)
    assert scorer(name)(good, X, Y) > scorer(name)(bad, X, Y)


@pytest.mark.parametrize("name", ["brier", "ece"])
def test_probabilities_are_scored_too(name: str, model: Any) -> None:
    chances = model.predict_proba(X)
    if name == "brier":
        wanted = brier_score(Y, chances)
    else:
        wanted = expected_calibration_error(Y, model.predict_sets(X).multiply(chances))
    assert scorer(name)(model, X, Y) == pytest.approx(-wanted)
    assert repr(scorer(name)) == f"scorer({name!r}, negated)"
    named = make("RMLS").fit(X, as_names(Y[:, :6], NAMES))
    with pytest.warns(RmlsWarning, match="unknown to the model"):
        scorer(name)(named, X[:1], [["zinc"]])


def test_labels_that_were_not_seen_are_missed(model: Any) -> None:
    named = make("RMLS").fit(X, as_names(Y[:, :6], NAMES))
    rows = [["zinc"], ["advice", "zinc"]]
    for name in EVERY:
        with pytest.warns(RmlsWarning, match="unknown to the model") as seen:
            value = scorer(name)(named, X[:2], rows)
        assert len(seen) == 1
        assert np.isfinite(value)
    with pytest.warns(RmlsWarning):
        assert scorer("recall@6")(named, X[:2], rows) == 0.25


@pytest.mark.filterwarnings("ignore:.*unknown to the model")
def test_cross_validation_takes_it_with_any_labels() -> None:
    lists = [[*row, f"rare {at}"] for at, row in enumerate(as_names(Y[:, :6], NAMES))]
    for y in (Y, lists, np.array(["a", "b"])[Y[:, 0]]):
        for name in ("psp@3", "hamming_loss", "micro_f1"):
            values = cross_val_score(
                make("RMLS"), X, y, scoring=scorer(name), cv=KFold(3), error_score="raise"
            )
            assert np.isfinite(values).all()
    several = {name: scorer(name) for name in ("psp@3", "macro_f1@3")}
    found = cross_validate(make("RMLS"), X, lists, scoring=several, cv=StratifiedFolds(3))
    assert np.isfinite(found["test_psp@3"]).all()


def test_rows_go_through_pipelines_and_searches(model: Any) -> None:
    scale = np.abs(X).max(axis=0)
    pipeline = make_pipeline(MaxAbsScaler(), make("RMLS")).fit(X, Y)
    plain = make("RMLS").fit(X / scale, Y)
    wanted = scorer("psp@3")(plain, X / scale, Y)
    assert scorer("psp@3")(pipeline, X, Y) == pytest.approx(wanted)
    search = GridSearchCV(pipeline, {"rmls__n_components": [4, 8]}, scoring=scorer("psp@3"), cv=2)
    search.fit(X, Y)
    assert search.score(X, Y) == scorer("psp@3")(search, X, Y)


def test_a_search_of_tail_sees_rare_labels_by_their_metric_only() -> None:
    data = make_longtail(300, 60, 40, random_state=0)
    grid, folds = {"tail": [0.0, 4.0]}, KFold(2)
    model = RMLSRanker(8, max_iter=3, calibration_folds=0)
    by_default = GridSearchCV(model, grid, cv=folds).fit(data.X, data.Y)
    by_rare = GridSearchCV(model, grid, scoring=scorer("psp@3"), cv=folds).fit(data.X, data.Y)
    # Sets are chosen by probabilities, which `tail` leaves alone.
    first, second = by_default.cv_results_["mean_test_score"]
    assert first == pytest.approx(second)
    first, second = by_rare.cv_results_["mean_test_score"]
    assert abs(first - second) > 0.001
    best = by_rare.best_estimator_
    assert by_rare.score(data.X, data.Y) == scorer("psp@3")(best, data.X, data.Y)


@pytest.mark.parametrize("outer", [OneVsRestClassifier, MultiOutputClassifier])
def test_estimators_of_scikit_learn_can_be_scored(outer: Any) -> None:
    theirs = outer(LogisticRegression()).fit(X, Y)
    for name in ("f1", "p@3", "brier"):
        assert np.isfinite(scorer(name)(theirs, X, Y))
    with pytest.raises(InputError, match=r"psp@3 needs the label counts .*wrap it"):
        scorer("psp@3")(theirs, X, Y)


@pytest.mark.parametrize(
    ("name", "told"),
    [("psp@k", "needs a number for k, such as psp@5"), ("f7", "did you mean"), (3, "by a string")],
)
def test_what_is_no_metric_is_refused_before_any_fit(name: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        scorer(name)
