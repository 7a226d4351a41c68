"""Features are known by their names where rows have some, and never confused."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_samples import ESTIMATORS, MODEL, NAMES, make, make_blocks
from sklearn.model_selection import cross_val_score

import rmls
from rmls import Calibrated, Dataset, Resampled
from rmls.core.errors import InputError, RmlsWarning
from rmls.core.feature_names import find_order

X, Y = make_blocks()
WORDS = [f"word {column}" for column in range(X.shape[1])]
FRAME = pd.DataFrame(X, columns=WORDS)
SWAPPED = FRAME[WORDS[::-1]]
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


@every_estimator
def test_columns_are_brought_into_the_order_of_training(name: str) -> None:
    model = make(name).fit(FRAME, Y)
    assert model.feature_names_in_.tolist() == WORDS
    assert model.feature_names_in_.dtype == object
    methods = ["decision_function", "predict"]
    methods += ["predict_proba"] if hasattr(model, "predict_proba") else []
    for method in methods:
        wanted = getattr(model, method)(FRAME)
        np.testing.assert_array_equal(getattr(model, method)(SWAPPED), wanted)
    np.testing.assert_array_equal(model.rank(SWAPPED, 2).labels, model.rank(FRAME, 2).labels)
    assert model.score(SWAPPED, Y) == model.score(FRAME, Y)


@every_estimator
def test_other_features_are_refused_by_name(name: str) -> None:
    model = make(name).fit(FRAME, Y)
    with pytest.raises(InputError, match="X lacks 'word 0' and has 'x', which the model does not"):
        model.predict(FRAME.rename(columns={"word 0": "x"}))
    with pytest.raises(InputError, match="X lacks 'word 3', 'word 4', 'word 5' and 6 more"):
        model.predict(FRAME[WORDS[:3]])
    with pytest.raises(InputError, match="X has 'more', which the model does not know") as caught:
        model.predict(FRAME.assign(more=1.0))
    assert "\n" not in str(caught.value)


def test_names_on_one_side_are_told_in_the_words_of_scikit_learn() -> None:
    named, plain = make(MODEL).fit(FRAME, Y), make(MODEL).fit(X, Y)
    told = "X does not have valid feature names, but RMLS was fitted with feature names"
    with pytest.warns(RmlsWarning, match=told):
        found = named.predict(X)
    np.testing.assert_array_equal(found, named.predict(FRAME))
    told = "X has feature names, but RMLS was fitted without feature names"
    with pytest.warns(RmlsWarning, match=told):
        plain.predict(FRAME)
    assert not hasattr(plain, "feature_names_in_")


def test_numbers_are_no_names() -> None:
    numbered = pd.DataFrame(X)
    model = make(MODEL).fit(numbered, Y)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(numbered[numbered.columns[::-1]]), model.predict(
        np.asarray(X)[:, ::-1]))  # fmt: skip


def test_rows_without_names_take_the_names_away() -> None:
    model = make(MODEL).fit(FRAME, Y).fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    model.predict(X)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([0, *WORDS[1:]], "column 0 of X is called 0, which is no text"),
        (["half \ud800", *WORDS[1:]], "half of a surrogate pair"),
        (["nul\0", *WORDS[1:]], "the character NUL"),
        (["word 1", *WORDS[1:]], "the features 'word 1' and 'word 1' .* have the same name"),
    ],
    ids=["mixed", "surrogate", "NUL", "twice"],
)
def test_names_that_cannot_be_kept_are_refused_before_training(columns: list, told: str) -> None:
    with pytest.raises(InputError, match=told):
        make(MODEL).fit(pd.DataFrame(X, columns=pd.Index(columns, dtype=object)), Y)


def test_features_of_one_name_in_a_data_set_stay_in_their_place_or_are_refused() -> None:
    twice = data_set(["twice", "twice", *WORDS[2:]])
    model = make(MODEL).fit(twice)
    model.predict(twice)
    with pytest.raises(InputError, match="some have the same name"):
        model.predict(data_set(twice.feature_names[::-1]))


@pytest.mark.parametrize("name", ["RMLS", "MultiWindowKNN"])
def test_further_rows_are_brought_into_order(name: str) -> None:
    one = make(name).partial_fit(FRAME, Y).partial_fit(FRAME, Y)
    other = make(name).partial_fit(FRAME, Y).partial_fit(SWAPPED, Y)
    np.testing.assert_array_equal(one.decision_function(FRAME), other.decision_function(FRAME))
    with pytest.raises(InputError, match="lacks 'word 0'"):
        one.partial_fit(FRAME.rename(columns={"word 0": "x"}), Y)


def test_a_warm_start_goes_on_with_its_features() -> None:
    first = {"warm_start": True, "max_iter": 2}
    one = make(MODEL, **first).fit(FRAME, Y).set_params(max_iter=4).fit(FRAME, Y)
    other = make(MODEL, **first).fit(FRAME, Y).set_params(max_iter=4).fit(SWAPPED, Y)
    assert other.feature_names_in_.tolist() == WORDS
    np.testing.assert_array_equal(one.decision_function(FRAME), other.decision_function(FRAME))
    with pytest.raises(InputError, match="lacks 'word 0'"):
        one.set_params(max_iter=6).fit(FRAME.rename(columns={"word 0": "x"}), Y)


@pytest.mark.parametrize("wrapped", [False, True], ids=["one deep", "two deep"])
def test_estimators_inside_know_the_names_and_are_saved_without(
    wrapped: bool, tmp_path: Path
) -> None:
    inner = make("PLST")
    model: Any = Calibrated(Resampled(inner, calibration=None) if wrapped else inner)
    model.fit(FRAME, Y).save(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "model.json").read_bytes())
    assert json.dumps(manifest).count(WORDS[-1]) == 1
    for each in (model, rmls.load(tmp_path / "model")):
        parts = [each, each.estimator_] + ([each.estimator_.estimator_] if wrapped else [])
        assert all(part.feature_names_in_.tolist() == WORDS for part in parts)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wanted = each.estimator_.decision_function(FRAME)
            np.testing.assert_array_equal(each.estimator_.decision_function(SWAPPED), wanted)
            each.predict_proba(SWAPPED)


def data_set(columns: list[str] | None = WORDS) -> Dataset:
    return Dataset(X, Y, label_names=NAMES, feature_names=columns)


@every_estimator
def test_a_data_set_is_all_that_fit_needs(name: str) -> None:
    model = make(name).fit(data_set())
    assert model.classes_.tolist() == NAMES
    assert model.feature_names_in_.tolist() == WORDS
    wanted = make(name).fit(FRAME, Y, label_names=NAMES).decision_function(FRAME)
    twice = data_set()
    for rows in (
        twice,
        twice.take(slice(None)),
        replace(data_set(), X=X[:, ::-1], feature_names=WORDS[::-1]),
        SWAPPED,
    ):
        np.testing.assert_array_equal(model.decision_function(rows), wanted)


def test_a_data_set_without_names_has_none() -> None:
    model = make(MODEL).fit(data_set(None), Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(data_set(None)).shape == Y.shape
    with pytest.warns(RmlsWarning, match="X has feature names, but RMLS was fitted without"):
        model.predict(data_set())
    with pytest.raises(InputError, match="requires y"):
        make(MODEL).fit(X)


def test_the_parts_of_a_data_set_share_its_names() -> None:
    data = data_set()
    part = data.take(slice(2, 5))
    assert part.feature_names is data.feature_names
    assert part.label_names is data.label_names
    assert pickle.loads(pickle.dumps(part)).feature_names == WORDS
    np.testing.assert_array_equal(part.X.toarray(), X[2:5])


def test_cross_validation_of_frames_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(make(MODEL), FRAME, Y, cv=3, error_score="raise")


def test_a_million_names_in_their_place_need_no_order() -> None:
    names = [f"feature {number}" for number in range(1_000_000)]
    assert find_order(names, list(names)) is None
