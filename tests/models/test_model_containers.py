"""Any container in, the same container out, the same model inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from model_samples import ESTIMATORS, NAMES, as_names, make, make_blocks
from scipy import sparse

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


def assert_same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted)
    elif sparse.issparse(wanted):
        np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found == wanted


@pytest.mark.parametrize("container", SETS.values(), ids=SETS)
@every_estimator
def test_predict_answers_in_the_container_of_fit(name: str, container: Container) -> None:
    reference = make(name).fit(X, Y)
    model = make(name).fit(X, container.give(Y))
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))
    assert_same(model.predict(X), container.answer(reference.predict(X)))
    assert model.score(X, container.give(Y)) == reference.score(X, Y)


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
@every_estimator
def test_predict_answers_classes_for_a_1d_y(name: str, classes: np.ndarray) -> None:
    topic = np.arange(len(X)) % 3
    model = make(name).fit(X, classes[topic])
    reference = make(name).fit(X, topic)
    assert_same(model.predict(X), classes[reference.predict(X)])
    assert_same(model.classes_, classes)
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
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "int": lambda X: X.astype(int),
    "bool": lambda X: X.astype(bool),
    "fortran": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X, columns=[f"word {i}" for i in range(X.shape[1])]),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "int64 indices": lambda X: wide(sparse.csr_matrix(X)),
    "unsorted": lambda X: unsorted(sparse.csr_matrix(X)),
    "duplicates": lambda X: split_entries(sparse.coo_matrix(X)),
}


def wide(X: sparse.csr_matrix) -> sparse.csr_matrix:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same entries, those of every row in reverse."""
    order = np.lexsort((-X.indices, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
    return sparse.csr_matrix((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def split_entries(X: sparse.coo_matrix) -> sparse.coo_matrix:
    """Every entry stored as two halves."""
    twice = [np.concatenate([part, part]) for part in (X.data / 2, X.row, X.col)]
    return sparse.coo_matrix((twice[0], (twice[1], twice[2])), shape=X.shape)


@pytest.mark.parametrize("give", FEATURES.values(), ids=FEATURES)
@every_estimator
def test_the_container_of_the_features_does_not_matter(name: str, give: Callable) -> None:
    reference = make(name).fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(make(name).fit(give(X), Y).decision_function(give(X)), reference)


def test_stored_zeros_do_not_matter() -> None:
    padded = sparse.csr_matrix(X + 1)
    padded.data -= 1
    assert padded.nnz == X.size
    reference = make("RMLS").fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(make("RMLS").fit(padded, Y).decision_function(X), reference)


@every_estimator
def test_float64_features_give_the_scores_of_their_float32_rounding(name: str) -> None:
    fine = X * np.random.default_rng(0).random(X.shape)
    scores = make(name).fit(fine, Y).decision_function(fine)
    rounded = fine.astype(np.float32)
    np.testing.assert_array_equal(make(name).fit(rounded, Y).decision_function(rounded), scores)
