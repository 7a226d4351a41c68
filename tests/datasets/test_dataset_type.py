"""`Dataset` checks what it is given and splits without surprises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rmls.core.errors import InputError
from rmls.datasets import Dataset


def small(**options):
    return Dataset([[1, 0], [0, 2], [3, 0]], [[1, 0], [0, 0], [1, 1]], **options)


def test_matrices_become_canonical_whatever_the_container():
    X = sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    data = Dataset(X, np.array([[True], [False]]))
    assert data.X.dtype == np.float32
    assert data.Y.dtype == np.int32
    assert data.X.toarray().tolist() == [[0, 3], [3, 0]]
    assert data.X.has_canonical_format


def test_train_and_test_are_the_rows_before_and_after_n_train():
    data = small(n_train=1, label_names=["a", "b"])
    assert data.train.X.toarray().tolist() == [[1, 0]]
    assert data.test.Y.toarray().tolist() == [[0, 0], [1, 1]]
    assert data.test.label_names == ["a", "b"]
    assert data.test.n_train is None


def test_an_empty_test_part_is_allowed():
    assert small(n_train=3).test.n_samples == 0


def test_split_keeps_rows_and_labels_together():
    data = Dataset(np.arange(1, 21).reshape(20, 1), np.arange(20).reshape(20, 1) % 2)
    shuffled = data.split(test_size=0.25, random_state=3)
    values = shuffled.X.toarray().ravel()
    assert shuffled.n_train == 15
    assert sorted(values) == list(range(1, 21))
    assert (shuffled.Y.toarray().ravel() == (values - 1) % 2).all()


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Dataset([[1], [2]], [[1]]), "Y has 1 rows but X has 2"),
        (lambda: Dataset([[1]], [[2]]), "Y must hold only 0 and 1; found 2."),
        (lambda: Dataset([[float("nan")]], [[1]]), "X holds a value that is not finite"),
        (lambda: Dataset([1, 2], [[1]]), "X must be 2-d"),
        (lambda: Dataset(np.empty((1, 0)), [[1]]), "X has no columns"),
        (lambda: small(label_names=["a"]), "1 label names were given for 2 labels."),
        (lambda: small(feature_names=["a", "b\n"]), "feature names must be single lines"),
        (lambda: small(n_train=4), "n_train must be between 0 and the 3 rows; got 4."),
        (lambda: small().train, "data set 'dataset' has no split"),
        (lambda: small().split(1.0), "test_size must lie between 0 and 1"),
    ],
)
def test_wrong_input_gives_one_sentence(build, sentence):
    with pytest.raises(InputError) as caught:
        build()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["label_names", "feature_names"])
def test_a_name_that_no_file_can_hold_is_refused(kind):
    with pytest.raises(InputError, match="half of a surrogate pair"):
        Dataset([[1.0]], [[1]], **{kind: ["half \ud800"]})
    assert getattr(Dataset([[1.0]], [[1]], **{kind: ["whole 😀"]}), kind) == ["whole 😀"]
