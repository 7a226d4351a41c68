"""Labels that training has not seen are missed, and labels are found by their names."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_samples import ESTIMATORS, NAMES, as_names, make, make_blocks
from sklearn.model_selection import KFold, cross_val_score

import rmls
from rmls.core.errors import InputError, RmlsWarning
from rmls.metrics import example_f1

X, Y = make_blocks()
CLASSES = np.array(["ash", "birch", "cedar"])[np.arange(len(X)) % 3]
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def score_with_one_warning(model: Any, X: Any, y: Any) -> float:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        value = model.score(X, y)
    told = [str(each.message) for each in seen if issubclass(each.category, RmlsWarning)]
    assert len(told) == 1
    assert "unknown to the model" in told[0]
    return float(value)


@every_estimator
def test_a_label_name_that_was_not_seen_is_missed(name: str) -> None:
    model = make(name).fit(X, as_names(Y, NAMES))
    truth = as_names(Y, NAMES)
    truth[0] = [*truth[0], "zinc"]
    wider = np.pad(Y, ((0, 0), (0, 1)))
    wider[0, -1] = 1
    wanted = example_f1(wider, np.pad(model.predict_sets(X).toarray(), ((0, 0), (0, 1))))
    assert score_with_one_warning(model, X, truth) == pytest.approx(wanted)


@every_estimator
def test_a_class_that_was_not_seen_is_missed(name: str) -> None:
    model = make(name).fit(X, CLASSES)
    truth = np.where(np.arange(len(X)) == 1, "yew", CLASSES)
    wanted = np.mean(model.predict(X) == truth)
    assert score_with_one_warning(model, X, truth) == pytest.approx(wanted)
    assert score_with_one_warning(model, X, np.full(len(X), "yew")) == 0


def test_nothing_but_unseen_labels_scores_zero(tmp_path: Path) -> None:
    model = make("RMLS").fit(X, as_names(Y, NAMES))
    model.save(tmp_path / "model")
    for each in (model, rmls.load(tmp_path / "model")):
        assert score_with_one_warning(each, X[:2], [["zinc"], ["tin", "zinc"]]) == 0


@pytest.mark.filterwarnings("ignore:.*unknown to the model")
@pytest.mark.parametrize("name", ["RMLS", "Calibrated", "GFM", "Resampled", "KNN"])
def test_cross_validation_has_a_score_for_every_fold(name: str) -> None:
    rare = as_names(Y, NAMES)
    for row in range(0, 60, 6):
        rare[row].append(f"rare {row}")
    for y in (rare, [frozenset(row) for row in rare], pd.Series(rare)):
        scores = cross_val_score(make(name), X, y, cv=KFold(3), error_score="raise")
        assert np.isfinite(scores).all()
    # scikit-learn itself refuses lists of lists where cv is a number; sets are let through.
    scores = cross_val_score(make(name), X, [set(row) for row in rare], cv=3, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore:.*unknown to the model")
def test_cross_validation_of_rare_classes_has_a_score() -> None:
    y = np.array(["common"] * 57 + ["rare", "scarce", "lone"])
    scores = cross_val_score(make("RMLS"), X, y, cv=KFold(3), error_score="raise")
    assert np.isfinite(scores).all()


def test_columns_of_frames_are_found_by_name() -> None:
    frame = pd.DataFrame(Y, columns=NAMES)
    model = make("RMLS").fit(X, frame)
    wanted = model.score(X, frame)
    assert model.score(X, frame[NAMES[::-1]]) == wanted
    assert model.score(X, as_names(Y, NAMES)) == wanted
    assert model.score(X, Y) == wanted
    wider = frame[NAMES[::-1]].assign(zinc=1)
    assert score_with_one_warning(model, X, wider) < wanted
    with pytest.raises(InputError, match="no label that the model knows"):
        model.score(X, frame.add_prefix("other "))


def test_lists_are_matched_with_the_names_of_columns() -> None:
    model = make("RMLS").fit(X, Y, label_names=NAMES)
    wanted = model.score(X, Y)
    assert model.score(X, as_names(Y, NAMES)) == wanted
    assert model.score(X, pd.DataFrame(Y, columns=NAMES)[NAMES[::-1]]) == wanted
    with pytest.raises(InputError, match="no label that the model knows"):
        make("RMLS").fit(X, Y).score(X, as_names(Y, NAMES))


def test_a_0_1_matrix_is_compared_by_column_with_lists() -> None:
    model = make("RMLS").fit(X, as_names(Y, NAMES))
    assert model.score(X, Y) == model.score(X, as_names(Y, NAMES))
    with pytest.raises(InputError, match="Y has 5 labels but the model was fitted with 6"):
        model.score(X, Y[:, :5])


def test_further_rows_are_read_by_name() -> None:
    frame = pd.DataFrame(Y, columns=NAMES)
    one = make("RMLS").partial_fit(X, frame).partial_fit(X, frame)
    other = make("RMLS").partial_fit(X, frame).partial_fit(X, frame[NAMES[::-1]])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    with pytest.raises(InputError, match="'zinc', which is not known"):
        one.partial_fit(X, frame.assign(zinc=0))
