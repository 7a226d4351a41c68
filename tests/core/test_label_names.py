"""Names of labels: one for each, of characters that a file can hold, at no absurd cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from archive_samples import assert_refused, change_model, seal
from model_samples import make, make_blocks
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace, check_names, read_labels
from rmls.datasets import Dataset, load, save

X, Y = make_blocks()
TWICE = ["a", "b", "c", "b", "e", "f"]
ALIKE = [1, "b", "c", "1", "e", "f"]


@pytest.mark.parametrize(
    "give",
    [
        lambda names: ((X, Y), {"label_names": names}),
        lambda names: ((X, sparse.csr_matrix(Y)), {"label_names": np.array(names, object)}),
        lambda names: ((X, pd.DataFrame(Y, columns=pd.Index(names, dtype=object))), {}),
        lambda names: ((X, pd.DataFrame(Y)), {"label_names": names}),
    ],
    ids=["label_names", "sparse", "frame", "frame and label_names"],
)
@pytest.mark.parametrize(
    ("names", "told"),
    [
        (TWICE, r"the labels 'b' and 'b' \(columns 1 and 3\) have the same name"),
        (ALIKE, r"the labels 1 and '1' \(columns 0 and 3\) have the same name"),
        ([1.5, "1.5", "c", "d", "e", "f"], "1.5 and '1.5'"),
        (
            [None, "b", "c", "d", "e", "f"],
            "label name must be a string or a number; got (None|nan)",
        ),
        ([np.inf, "b", "c", "d", "e", "f"], "label name must be a string or a number; got inf"),
        (["a\0", "a", "c", "d", "e", "f"], r"'a\\x00' holds the character NUL"),
        (["a\ud800", "b", "c", "d", "e", "f"], r"'a\\ud800' holds half of a surrogate pair"),
    ],
    ids=str,
)
def test_names_that_cannot_be_kept_apart_are_refused_before_training(
    give: Any, names: list[Any], told: str
) -> None:
    arguments, options = give(names)
    with pytest.raises(InputError, match=told) as caught:
        make("RMLS").fit(*arguments, **options)
    assert "\n" not in str(caught.value)


WRONG_LISTS: dict[str, tuple[Any, str]] = {
    "a number and its text": ([[1], ["1", 1], []], "the labels 1 and '1'"),
    "NUL": ([["a\0"], ["b", "c"]], "NUL"),
    "half a pair": ([["a"], ["b", "\udc00"]], "surrogate"),
    "a row that is None": ([["a"], None, ["b"]], r"row 1 of Y is None, .*; write \[\] for a row"),
    "a row that is nan": (pd.Series([["a"], np.nan]), r"row 1 of Y is nan, .*write \[\]"),
    "a row that is text": ([["a"], "tax"], r"row 1 of Y is 'tax', .*write \['tax'\]"),
    "a name that is None": ([["a", None], ["b", "c"]], "got None"),
    "a name that is nan": ([["a"], [np.nan, "b"]], "got nan"),
    "a name that is missing": ([["a"], [pd.NA, "b"]], "got <NA>"),
    "a class that is None": (["a", None], "row 1 of y is None, which is no class"),
    "a class that is nan": (np.array(["a", np.nan], object), "row 1 of y is nan"),
    "a class that is missing": (pd.Series(["a", None], dtype="string"), "row 1 of y is <NA>"),
    "text and numbers": (np.array(["a", 1], object), "y holds numbers and strings"),
    "NUL at the end of a class": (["a\0", "a", "b"], "NUL"),
    "NUL in an object": (np.array(["a\0", "a"], object), "NUL"),
    "half a pair in a class": (["a\ud800", "b"], "surrogate"),
    "arrays of different shape": ([np.zeros((2, 2)), np.zeros(3)], "row 0 of Y"),
}


@pytest.mark.parametrize(("given", "told"), WRONG_LISTS.values(), ids=WRONG_LISTS)
def test_what_is_no_label_is_told_in_a_sentence(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        read_labels(given)
    assert "\n" not in str(caught.value)


def test_missing_rows_are_told_when_a_model_is_scored() -> None:
    model = make("RMLS").fit(X, [["a", "b"] if row[0] else ["b"] for row in Y])
    for missing in (None, np.nan, "b"):
        with pytest.raises(InputError, match="row 1 of Y is"):
            model.score(X[:2], [["a"], missing])


def test_classes_given_twice_are_refused() -> None:
    with pytest.raises(InputError, match="have the same name"):
        make("RMLS").partial_fit(X[:2], [["a"], ["b"]], classes=["a", "b", "a"])


@pytest.mark.parametrize("name", ["a\0", "a\ud800"])
@pytest.mark.parametrize("what", ["label_names", "feature_names"])
def test_a_data_set_refuses_names_that_files_cannot_hold(name: str, what: str) -> None:
    with pytest.raises(InputError, match="which files cannot hold"):
        Dataset([[1.0]], [[1]], **{what: [name]})


def test_a_file_that_names_two_labels_alike_can_be_read_but_not_learned(tmp_path: Path) -> None:
    save(replace(Dataset(X, Y), label_names=TWICE), tmp_path / "twice.npz")
    data = load(tmp_path / "twice.npz")
    with pytest.raises(InputError, match="have the same name"):
        make("RMLS").fit(data.X, data.Y, label_names=data.label_names)


def test_rows_may_be_arrays_as_tables_hand_them_out() -> None:
    space, found = read_labels([np.array(["a"]), np.array(["b", "a"], object)])
    assert space.names == ["a", "b"]
    assert found.toarray().tolist() == [[1, 0], [1, 1]]


def test_numbers_and_texts_together_stay_what_they_are() -> None:
    space, _ = read_labels([[2], ["a", 2]])
    assert space.classes.tolist() == [2, "a"]


def test_whole_numbers_that_pandas_may_miss_are_classes() -> None:
    space, found = read_labels(pd.Series([3, 1], dtype="Int64"))
    assert space.classes.tolist() == [1, 3]
    assert found.toarray().tolist() == [[0, 1], [1, 0]]


def test_one_long_name_does_not_cost_its_length_for_every_label() -> None:
    names = ["x" * 1_000_000, *map(str, range(10_000))]
    classes = LabelSpace("names", names).classes
    assert classes.dtype == object
    assert classes.tolist() == names


def test_classes_take_the_room_that_their_names_need() -> None:
    assert LabelSpace("single", ["a", "bc"], "<U500000000").classes.dtype == np.dtype("<U2")


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [(np.where(Y[:, 0], "yes", "no"), "|V500000000"), (Y, "<U500000000"), (Y, "O")],
    ids=["1-d", "dense", "objects"],
)
def test_a_type_that_labels_cannot_have_is_refused(
    labels: np.ndarray, dtype: str, tmp_path: Path
) -> None:
    make("RMLS").fit(X, labels).save(tmp_path / "model")
    change_model(tmp_path / "model", {"labels.dtype": dtype})
    assert_refused(tmp_path / "model")


def test_a_text_type_of_absurd_width_is_refused(tmp_path: Path) -> None:
    make("RMLS").fit(X, np.where(Y[:, 0], "yes", "no")).save(tmp_path / "model")
    change_model(tmp_path / "model", {"labels.dtype": "<U500000000"})
    assert_refused(tmp_path / "model")


def test_half_a_pair_in_a_model_folder_is_refused(tmp_path: Path) -> None:
    make("RMLS").fit(X, Y, label_names=list("abcdef")).save(tmp_path / "model")
    text = (tmp_path / "model" / "model.json").read_bytes()
    changed = text[: text.rindex(b',\n"sha256"')].replace(b'["a", "b",', b'["\\ud800", "b",')
    assert changed not in text
    seal(tmp_path / "model", changed)
    assert_refused(tmp_path / "model")


def test_many_names_are_checked_quickly() -> None:
    names = [f"label {number}" for number in range(100_000)]
    assert check_names(names) == names
