"""Rows whose labels are not known: read for prediction in every format, refused elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets import Dataset, convert, formats, load, save

ALL = pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
X = np.array([[1, 0, 2.5], [0, 0, 0], [0, 3, 0]])
HEAD = "@relation {}\n@attribute a numeric\n@attribute b {{0,1}}\n@attribute c {{0,1}}\n@data\n"


@ALL
def test_features_alone_come_back_when_labels_are_not_required(format, tmp_path):
    path = tmp_path / f"rows{format.extensions[0]}"
    save(Dataset(X, feature_names=["a", "b", "c"]), path)
    data = load(path, require_labels=False)
    assert not data.is_labelled
    assert data.X.toarray().tolist() == X.tolist()
    assert data.feature_names == ["a", "b", "c"]
    with pytest.raises(FileFormatError, match="no labels") as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


@ALL
def test_labels_that_are_there_are_kept(format, tmp_path):
    path = tmp_path / f"rows{format.extensions[0]}"
    save(Dataset(X, [[1, 0], [0, 0], [1, 1]]), path)
    assert load(path, require_labels=False).Y.toarray().tolist() == [[1, 0], [0, 0], [1, 1]]


@ALL
def test_features_alone_are_converted(format, tmp_path):
    save(Dataset(X), tmp_path / "rows.npz")
    path = tmp_path / f"out{format.extensions[0]}"
    convert(tmp_path / "rows.npz", path)
    assert load(path, require_labels=False).X.toarray().tolist() == X.tolist()


def test_an_unlabelled_data_set_is_cut_and_shown_like_others():
    data = Dataset(X, name="rows")
    assert repr(data) == "Dataset('rows': 3 rows, 3 features, 0 labels)"
    assert data.take([2, 0]).X.toarray().tolist() == X[[2, 0]].tolist()
    assert data.split(0.34).train.n_samples == 2


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".svm", " 0:1 2:2.5\n 0:0\n 1:3\n"),
        (".xmc", "3 3 0\n 0:1 2:2.5\n\n 1:3\n"),
        (".rmls", "#num_feature=3 num_label=0\n 0:1 2:2.5\n \n 1:3\n"),
        (".arff", "@relation r\n" + "@attribute x numeric\n" * 3 + "@data\n1,0,2.5\n{}\n{1 3}\n"),
    ],
)
def test_a_file_that_somebody_wrote_without_labels_is_read(ending, text, tmp_path):
    path = tmp_path / f"rows{ending}"
    path.write_text(text)
    data = load(path, require_labels=False)
    assert not data.is_labelled
    assert data.X.toarray().tolist() == X.tolist()


def test_arff_labels_may_be_question_marks_or_absent_only_when_not_required(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text(HEAD.format("'r: -C -2'") + "1,?,?\n2,1,?\n")
    assert load(path, require_labels=False).Y.toarray().tolist() == [[0, 0], [1, 0]]
    with pytest.raises(FileFormatError, match="label 'b' must be 0 or 1; it is missing"):
        load(path)
    (tmp_path / "rows.xml").write_text('<labels><label name="y"/><label name="z"/></labels>')
    assert load(path, require_labels=False).n_features == 3
    with pytest.raises(FileFormatError, match="label 'y' is not among the attributes"):
        load(path)


def test_half_of_the_labels_are_a_mistake_even_when_none_are_required(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text(HEAD.format("r") + "1,0,1\n")
    (tmp_path / "rows.xml").write_text('<labels><label name="b"/><label name="z"/></labels>')
    with pytest.raises(FileFormatError, match="label 'z' is not among the attributes"):
        load(path, require_labels=False)


def test_the_caller_may_say_that_no_attribute_is_a_label(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text(HEAD.format("r") + "1,0,1\n")
    for none in (0, [], "optional"):
        assert load(path, labels=none, require_labels=False).n_features == 3
    with pytest.raises(InputError, match="labels is a list of names or a number; got 'b'"):
        load(path, labels="b")


def test_an_xml_file_of_other_data_is_not_adopted(tmp_path):
    save(Dataset(X, [[1], [0], [1]]), tmp_path / "rows.arff")
    with pytest.raises(InputError, match=r"rows\.xml would name labels"):
        save(Dataset(X), tmp_path / "rows.arff")
