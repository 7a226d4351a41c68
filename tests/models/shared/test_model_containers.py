"""Any container in, the same container out, the same model inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from matrices import FORMS
from model_samples import (
    ESTIMATORS,
    NAMES,
    as_names,
    assert_same_sets,
    fitted,
    make,
    make_blocks,
    spread,
)
from scipy import sparse
from tolerances import assert_close

X, Y = make_blocks()
NUMBERS = [10, 20, 30, 40, 50, 60]
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


class Container(NamedTuple):
    """How labels are given, and what `predict` must answer for a 0/1 array of sets."""

    give: Callable[[np.ndarray], Any]
    answer: Callable[[np.ndarray], Any]


def frame(Y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(Y, columns=NAMES)


def names(Y: np.ndarray) -> list[list[Any]]:
    return as_names(Y, NAMES)


def numbers(Y: np.ndarray) -> list[list[Any]]:
    return as_names(Y, NUMBERS)


SETS = {
    "int64": Container(lambda Y: Y, lambda Y: Y),
    "bool": Container(lambda Y: Y.astype(bool), lambda Y: Y.astype(bool)),
    "float32": Container(lambda Y: Y.astype(np.float32), lambda Y: Y.astype(np.float32)),
    "lists of 0 and 1": Container(lambda Y: Y.tolist(), lambda Y: Y),
    "csr_matrix": Container(sparse.csr_matrix, sparse.csr_matrix),
    "csr_array": Container(sparse.csr_array, sparse.csr_matrix),
    "csc_matrix": Container(sparse.csc_matrix, sparse.csr_matrix),
    "coo_array": Container(sparse.coo_array, sparse.csr_matrix),
    "frame": Container(frame, frame),
    "names": Container(names, names),
    "numbers as names": Container(numbers, numbers),
    "sets": Container(lambda Y: [set(row) for row in names(Y)], names),
    "tuples": Container(lambda Y: [tuple(row) for row in names(Y)], names),
    "series of lists": Container(lambda Y: pd.Series(names(Y)), names),
    "object array of lists": Container(lambda Y: pd.Series(names(Y)).to_numpy(), names),
}
CLASSES = {
    "strings": np.array(["ash", "birch", "cedar"]),
    "objects": np.array(["ash", "birch", "cedar"], dtype=object),
    "ints": np.array([3, 5, 9]),
    "floats": np.array([0.0, 1.0, 2.0]),
}


@spread(SETS, ["bool", "csr_matrix", "names"])
def test_predict_answers_in_the_container_of_fit(name: str, case: Container) -> None:
    reference = fitted(name)
    model = make(name).fit(X, case.give(Y))
    assert_close(model.decision_function(X), reference.decision_function(X))
    predicted = model.predict(X)
    if isinstance(predicted, list):
        # Lists are best first (`test_model_ranking`); as sets they are those of the array.
        predicted = [sorted(row) for row in predicted]
    assert_same_sets(predicted, case.answer(reference.predict(X)))
    assert model.score(X, case.give(Y)) == pytest.approx(reference.score(X, Y))


@spread(CLASSES, ["strings"])
def test_predict_answers_classes_for_a_1d_y(name: str, case: np.ndarray) -> None:
    classes, topic = case, np.arange(len(X)) % 3
    model = make(name).fit(X, classes[topic])
    reference = make(name).fit(X, topic)
    assert_same_sets(model.predict(X), classes[reference.predict(X)])
    assert_same_sets(model.classes_, classes)
    assert model.score(X, classes[topic]) == np.mean(model.predict(X) == classes[topic])
    assert model.decision_function(X).shape == (len(X), 3)


@every_estimator
def test_two_classes_have_one_score_that_is_positive_for_the_second(name: str) -> None:
    y = np.where(X[:, 0] > 0, "wet", "dry")
    model = make(name).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X),)
    clear = np.abs(scores) > 1e-6
    np.testing.assert_array_equal(model.predict(X)[clear] == "wet", scores[clear] > 0)


@every_estimator
def test_label_names_can_be_given_for_a_0_1_matrix(name: str) -> None:
    model = make(name).fit(X, Y, label_names=NAMES)
    assert model.classes_.tolist() == NAMES
    assert isinstance(model.predict(X), np.ndarray)
    with pytest.raises(ValueError, match="2 label names were given for 6 labels"):
        make(name).fit(X, Y, label_names=NAMES[:2])


FEATURES = {
    **FORMS,
    "float32": lambda X: X.astype(np.float32),
    "int": lambda X: X.astype(int),
    "bool": lambda X: X.astype(bool),
    "fortran": np.asfortranarray,
    "frame": lambda X: pd.DataFrame(X, columns=[f"word {i}" for i in range(X.shape[1])]),
    "duplicates": lambda X: split_entries(sparse.coo_matrix(X)),
}


def split_entries(X: sparse.coo_matrix) -> sparse.coo_matrix:
    """Every entry stored as two halves."""
    twice = [np.concatenate([part, part]) for part in (X.data / 2, X.row, X.col)]
    return sparse.coo_matrix((twice[0], (twice[1], twice[2])), shape=X.shape)


@spread(FEATURES, ["lists", "csc", "duplicates"])
def test_the_container_of_the_features_does_not_matter(name: str, case: Callable) -> None:
    model = make(name).fit(case(X), Y)
    assert_close(model.decision_function(case(X)), fitted(name).decision_function(X))


def test_stored_zeros_do_not_matter() -> None:
    padded = sparse.csr_matrix(X + 1)
    padded.data -= 1
    assert padded.nnz == X.size
    model = make("RMLS").fit(padded, Y)
    assert_close(model.decision_function(X), fitted("RMLS").decision_function(X))


@every_estimator
def test_float64_features_give_the_scores_of_their_float32_rounding(name: str) -> None:
    fine = X * np.random.default_rng(0).random(X.shape)
    scores = make(name).fit(fine, Y).decision_function(fine)
    rounded = fine.astype(np.float32)
    np.testing.assert_array_equal(make(name).fit(rounded, Y).decision_function(rounded), scores)
