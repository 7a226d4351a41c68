"""`RMLSRanker` inside a wrapper: its short lists serve, and nothing scores all labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rmls
from rmls import MLROS, Calibrated, Resampled, RMLSRanker
from rmls.datasets import make_longtail
from rmls.decide import shown_names
from rmls.models.ranker.scoring import ListScorer

data = make_longtail(300, 60, 40, random_state=0)
X, Y = data.X, data.Y
SMALL = {"n_components": 8, "max_iter": 3, "shortlist_size": 12}
WRAPPERS = {
    "Calibrated": Calibrated(RMLSRanker(**SMALL)),
    "Resampled": Resampled(RMLSRanker(**SMALL), MLROS()),
    "plain": Resampled(RMLSRanker(**SMALL), calibration=None, decision="cardinality"),
    "tuned": Calibrated(RMLSRanker(**SMALL), calibration_folds=0, decision="threshold"),
    "both": Calibrated(Resampled(RMLSRanker(**SMALL), MLROS())),
}
every_wrapper = pytest.mark.parametrize("name", WRAPPERS)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {}


def fit(name: str, models: dict[str, Any]) -> Any:
    """Fit without ever asking for the scores of all labels."""
    if name not in models:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ListScorer, "score_all", refuse)
            models[name] = WRAPPERS[name].fit(X, Y)
    return models[name]


def refuse(*_: Any) -> Any:
    raise AssertionError("all labels are scored")


@every_wrapper
def test_fitting_ranking_and_deciding_go_by_the_lists(
    name: str, models: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fit(name, models)
    monkeypatch.setattr(ListScorer, "score_all", refuse)
    np.testing.assert_array_equal(model.rank(X, 5).labels, model.estimator_.rank(X, 5).labels)
    rules = ["cardinality", "top_3", "round"]
    if model.calibration is not None:
        rules += [rule for rule in shown_names() if rule != "threshold"]
    for rule in rules:
        assert model.predict_sets(X, rule).shape == Y.shape
    assert model.score(X, Y) > 0.3


@every_wrapper
def test_probabilities_leave_out_the_boost_of_rare_labels(
    name: str, models: dict[str, Any]
) -> None:
    model = fit(name, models)
    listed = model._list_probabilities(X.astype(np.float32).tocsr())
    dense = model.predict_proba(X)
    chances = listed.probabilities
    np.testing.assert_allclose(dense[listed.rows, listed.labels], chances, atol=1e-5)
    expected = chances.sum() / len(dense) + listed.rest.mean()
    assert expected == pytest.approx(Y.nnz / len(dense), rel=0.15)


@pytest.mark.parametrize("name", ["Resampled", "both"])
def test_a_loaded_model_decides_as_the_saved_one(
    name: str, models: dict[str, Any], tmp_path: Path
) -> None:
    model = fit(name, models)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert (loaded.predict_sets(X) != model.predict_sets(X)).nnz == 0
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_more_labels_than_are_listed_can_be_ranked(models: dict[str, Any]) -> None:
    assert (fit("Resampled", models).rank(X, 30).lengths == 30).all()
