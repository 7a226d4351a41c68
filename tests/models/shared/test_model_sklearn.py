"""Every estimator is a scikit-learn estimator, without a list of exceptions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from model_samples import ESTIMATORS, make, make_blocks, plain_params
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

X, Y = make_blocks()
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def test_the_suite_sees_every_public_estimator() -> None:
    import rmls.models

    assert sorted([*ESTIMATORS, *rmls.models.READS_TEXT]) == sorted(rmls.models.__all__)
    assert "RMLS" in ESTIMATORS


@parametrize_with_checks([make(name, n_components=20) for name in ESTIMATORS])
def test_passes_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@every_estimator
def test_a_clone_learns_the_same_model(name: str) -> None:
    model = make(name).fit(X, Y)
    copy = clone(model)
    assert not hasattr(copy, "classes_")
    assert plain_params(copy) == plain_params(model)
    np.testing.assert_array_equal(copy.fit(X, Y).decision_function(X), model.decision_function(X))


@every_estimator
def test_a_pickled_model_gives_the_same_scores(name: str) -> None:
    model = make(name).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@every_estimator
def test_parameters_set_by_name_are_those_of_the_constructor(name: str) -> None:
    built, changed = make(name), ESTIMATORS[name]()
    changed.set_params(**built.get_params())
    assert changed.get_params() == built.get_params()
    own = built.get_params(deep=False)
    assert all(getattr(changed, key) == value for key, value in own.items())
    with pytest.raises(ValueError, match="no_such_option"):
        changed.set_params(no_such_option=1)


@every_estimator
def test_works_behind_a_transformer_in_a_pipeline(name: str) -> None:
    by_hand = TfidfTransformer().fit(X)
    pipeline = make_pipeline(TfidfTransformer(), make(name)).fit(X, Y)
    model = make(name).fit(by_hand.transform(X), Y)
    np.testing.assert_array_equal(pipeline.predict(X), model.predict(by_hand.transform(X)))


@every_estimator
def test_grid_search_chooses_by_the_default_score(name: str) -> None:
    model = make(name)
    grid = {"n_components": [1, 8]} if "n_components" in model.get_params() else {}
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)
    assert set(search.best_params_) == set(grid)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.best_estimator_.score(X, Y) == search.score(X, Y)
    if grid and name != "RMLSRanker":
        # One number cannot tell three topics apart, sparse weights aside; eight can.
        assert search.best_params_ == {"n_components": 8}


@every_estimator
def test_predicting_changes_nothing_in_the_model(name: str) -> None:
    import joblib

    model = make(name).fit(X, Y)
    before = joblib.hash(model)
    model.predict(X)
    model.rank(X, 2)
    model.decision_function(X)
    model.score(X, Y)
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    assert joblib.hash(model) == before


@every_estimator
def test_fitting_leaves_the_input_as_it_was(name: str) -> None:
    X_given, Y_given, weights = X.copy(), Y.copy(), np.ones(len(X))
    make(name).fit(X_given, Y_given, sample_weight=weights).predict(X_given)
    np.testing.assert_array_equal(X_given, X)
    np.testing.assert_array_equal(Y_given, Y)
    assert (weights == 1).all()
