"""The door for labels: what is a 0/1 table, what are names, what are classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from rmls.core.errors import InputError
from rmls.core.labels import CONTAINERS, LabelSpace, read_labels

TABLE = [[0, 1, 1], [0, 0, 0], [1, 0, 1]]
ARRAY = np.array(TABLE)


def ragged(rows: list[Any]) -> np.ndarray:
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


READ: dict[str, tuple[Any, str, list[Any], list[list[int]]]] = {
    # given, container, names, matrix
    "array of ints": (ARRAY, "dense", [0, 1, 2], TABLE),
    "array of bools": (ARRAY.astype(bool), "dense", [0, 1, 2], TABLE),
    "array of floats": (ARRAY.astype(float), "dense", [0, 1, 2], TABLE),
    "list of equal lists of 0 and 1": (TABLE, "dense", [0, 1, 2], TABLE),
    "tuple of tuples of 0 and 1": (tuple(map(tuple, TABLE)), "dense", [0, 1, 2], TABLE),
    "list of arrays": (list(ARRAY), "dense", [0, 1, 2], TABLE),
    "one column of 0 and 1": ([[0], [1]], "dense", [0], [[0], [1]]),
    "csr": (sparse.csr_matrix(ARRAY), "sparse", [0, 1, 2], TABLE),
    "csc array of bools": (sparse.csc_array(ARRAY.astype(bool)), "sparse", [0, 1, 2], TABLE),
    "frame": (pd.DataFrame(ARRAY, columns=list("xyz")), "frame", ["x", "y", "z"], TABLE),
    "lists of strings": ([["b", "a"], [], ["a"]], "names", ["a", "b"], [[1, 1], [0, 0], [1, 0]]),
    "equal lists of strings": ([["a"], ["b"]], "names", ["a", "b"], [[1, 0], [0, 1]]),
    "lists of 0 and 1 of unequal length": (
        [[0, 1], [1]],
        "names",
        [0, 1],
        [[1, 1], [0, 1]],
    ),
    "equal lists of larger numbers": ([[0, 2], [1, 2]], "names", [0, 1, 2], [[1, 0, 1], [0, 1, 1]]),
    "sets of 0 and 1": ([{0}, {1}], "names", [0, 1], [[1, 0], [0, 1]]),
    "frozensets": ([frozenset("a"), frozenset()], "names", ["a"], [[1], [0]]),
    "numpy names": ([[np.int64(7)], [np.int64(3), np.int64(7)]], "names", [3, 7], [[0, 1], [1, 1]]),
    "a repeated name": ([["a", "a"], ["b"]], "names", ["a", "b"], [[1, 0], [0, 1]]),
    "numbers before strings": ([["a"], [2, "a"]], "names", [2, "a"], [[0, 1], [1, 1]]),
    "an object array of lists": (ragged([["a"], []]), "names", ["a"], [[1], [0]]),
    "a series of lists": (pd.Series([["a"], []]), "names", ["a"], [[1], [0]]),
    "1-d strings": (["b", "a", "b"], "single", ["a", "b"], [[0, 1], [1, 0], [0, 1]]),
    "1-d ints": (np.array([3, 1]), "single", [1, 3], [[0, 1], [1, 0]]),
    "1-d 0 and 1": ([0, 1, 1], "single", [0, 1], [[1, 0], [0, 1], [0, 1]]),
    "1-d bools": ([True, False], "single", [False, True], [[0, 1], [1, 0]]),
    "1-d whole floats": ([1.0, 2.0], "single", [1.0, 2.0], [[1, 0], [0, 1]]),
    "a series of strings": (pd.Series(["b", "a"]), "single", ["a", "b"], [[0, 1], [1, 0]]),
}


@pytest.mark.parametrize(("given", "container", "names", "matrix"), READ.values(), ids=READ)
def test_labels_are_read_for_what_they_are(
    given: Any, container: str, names: list[Any], matrix: list[list[int]]
) -> None:
    space, Y = read_labels(given)
    assert space.container == container
    assert space.names == names
    assert Y.toarray().tolist() == matrix
    assert isinstance(Y, sparse.csr_matrix)
    assert Y.dtype == np.int32
    assert Y.indices.dtype == np.int32
    assert Y.has_canonical_format
    assert (Y.data == 1).all()


def test_every_container_is_read_in_these_tests() -> None:
    assert {container for _, container, _, _ in READ.values()} == set(CONTAINERS)


@pytest.mark.parametrize("given", [case[0] for case in READ.values()], ids=READ)
def test_sets_come_back_in_the_container_that_was_read(given: Any) -> None:
    space, Y = read_labels(given)
    again, Y_again = read_labels(space.restore(Y), classes=space.names)
    if space.container == "names" and len({len(row) for row in space.restore(Y)}) == 1:
        # Names that are all 0 and 1 read as a table: the ambiguous case of the docstring.
        assert again.container in ("names", "dense")
        return
    assert again.container == space.container
    assert (Y_again != Y).nnz == 0


def test_dense_answers_keep_their_type() -> None:
    for dtype in (np.int8, np.uint16, np.float64, bool):
        space, Y = read_labels(ARRAY.astype(dtype))
        assert space.restore(Y).dtype == dtype


def test_a_column_of_classes_is_read_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        space, Y = read_labels(np.array([["a"], ["b"]]))
    assert space.is_single
    assert Y.toarray().tolist() == [[1, 0], [0, 1]]


def test_known_classes_fix_the_columns() -> None:
    space, Y = read_labels([["b"], []], classes=["a", "b", "c"])
    assert space.names == ["a", "b", "c"]
    assert Y.toarray().tolist() == [[0, 1, 0], [0, 0, 0]]
    space, Y = read_labels(["b"], classes=["c", "b", "a"])
    assert space.names == ["a", "b", "c"]
    assert Y.toarray().tolist() == [[0, 1, 0]]


def test_names_can_be_given_for_columns() -> None:
    space, _ = read_labels(ARRAY, names=("x", "y", "z"))
    assert space.names == ["x", "y", "z"]
    assert space.classes.tolist() == ["x", "y", "z"]
    assert space.n_labels == 3


WRONG: dict[str, tuple[Any, str]] = {
    "None": (None, "requires y to be passed"),
    "an array with a 2": (np.array([[0, 2]]), "found 2"),
    "a sparse 2": (sparse.csr_matrix([[0, 2]]), "found 2"),
    "a sparse entry stored twice": (
        sparse.coo_matrix(([1, 1], ([0, 0], [1, 1])), shape=(1, 2)),
        "found 2",
    ),
    "nan": (np.array([[0, np.nan]]), "found nan"),
    "three dimensions": (np.zeros((2, 2, 2)), "Y must be 2-d"),
    "a number": (5, "Y must be 2-d"),
    "no names at all": ([[], []], "Y names no label"),
    "a name that is None": ([["a"], [None, "a"]], "label name must be a string or a number"),
    "a name that is nan": ([["a"], [float("nan"), "a"]], "label name"),
    "a name that is a tuple": ([["a"], [("b", 1), "a"]], "label name"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_label_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_labels(given)
    assert "\n" not in str(caught.value)


def test_continuous_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="continuous"):
        read_labels([0.5, 1.25])


def test_classes_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="y contains NaN"):
        read_labels([0.0, np.nan])


def test_unknown_names_and_classes_are_named() -> None:
    with pytest.raises(InputError, match="'z', which is not known"):
        read_labels([["z"]], classes=["a"])
    with pytest.raises(InputError, match=r"'z'.*not known"):
        read_labels(["z"], classes=["a"])


@pytest.mark.parametrize(
    ("first", "more", "message"),
    [
        (ARRAY, ARRAY[:, :2], "Y has 2 labels but the model was fitted with 3"),
        (ARRAY, ["a", "b"], "Y must keep its form"),
        (["a", "b"], ARRAY, "Y must keep its form"),
        ([["a"], ["b", "a"]], [["c"]], "'c', which is not known"),
        (["a", "b"], ["c"], "not known"),
    ],
)
def test_further_labels_must_be_of_the_same_problem(first: Any, more: Any, message: str) -> None:
    space, _ = read_labels(first)
    with pytest.raises(InputError, match=message):
        space.read_more(more)


def test_further_number_names_stay_names() -> None:
    space, _ = read_labels([[0, 1], [2]])
    assert space.read_more([[0], [1]]).toarray().tolist() == [[1, 0, 0], [0, 1, 0]]


@given(st.lists(st.sets(st.sampled_from("abcdefg")), min_size=1).filter(any))
def test_name_lists_round_trip(rows: list[set[str]]) -> None:
    space, Y = read_labels([list(row) for row in rows] + [set()])
    assert space.names == sorted(set().union(*rows))
    assert space.restore(Y) == [sorted(row) for row in rows] + [[]]


@given(st.lists(st.integers(-3, 3) | st.just(10**12), min_size=1))
def test_classes_round_trip(y: list[int]) -> None:
    space, Y = read_labels(y)
    assert space.restore(Y).tolist() == y
    assert (np.diff(Y.indptr) == 1).all()


def test_classes_of_a_space_keep_the_type_of_a_1d_y() -> None:
    assert LabelSpace("single", ["a", "bc"], "<U2").classes.dtype == np.dtype("<U2")
    assert LabelSpace("single", [1, 2], "|i1").classes.dtype == np.int8


def test_a_frame_of_one_label_stays_a_frame() -> None:
    space, Y = read_labels(pd.DataFrame({"advice": [0, 1]}))
    assert space.restore(Y).columns.tolist() == ["advice"]


def test_a_boolean_frame_stays_boolean() -> None:
    space, Y = read_labels(pd.DataFrame(ARRAY.astype(bool)))
    assert set(space.restore(Y).dtypes) == {np.dtype(bool)}


def test_an_array_of_label_names_is_taken_for_a_frame() -> None:
    space, _ = read_labels(pd.DataFrame(ARRAY), names=np.array(["x", "y", "z"]))
    assert space.names == ["x", "y", "z"]


@pytest.mark.parametrize("table", [[["a", "b"]], [["0", "1"]]], ids=str)
@pytest.mark.parametrize("dtype", [str, object])
def test_a_table_of_strings_is_refused_in_a_sentence(table: Any, dtype: type) -> None:
    with pytest.raises(InputError, match="Y"):
        read_labels(np.array(table, dtype=dtype))
