"""Canonical sparse matrices: equal numbers in, one form out, the input untouched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matrices import FORMS
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.sparse import (
    as_feature_csr,
    as_label_csr,
    check_csr,
    check_sparse,
    is_row_pointer,
    label_counts,
)

TABLE = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.5, 0.0, -3.0]])
LABELS = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 1]])


def content(matrix: Any) -> list[bytes]:
    if not sparse.issparse(matrix) or matrix.format not in ("csr", "csc"):
        dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
        return [dense.tobytes()]
    return [part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr)]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_features_of_any_form_become_canonical(form: Any) -> None:
    given = form(TABLE)
    before = content(given)
    X = as_feature_csr(given)
    assert isinstance(X, sparse.csr_matrix)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), TABLE.astype(np.float32))
    assert content(given) == before


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", [int, bool, np.float64, np.uint8])
def test_labels_of_any_form_become_ones(form: Any, dtype: type) -> None:
    given = form(LABELS.astype(dtype))
    before = content(given)
    Y = as_label_csr(given)
    assert isinstance(Y, sparse.csr_matrix)
    assert Y.dtype == np.int32
    assert Y.indices.dtype == np.int32
    assert Y.has_canonical_format
    assert (Y.data == 1).all()
    np.testing.assert_array_equal(Y.toarray(), LABELS)
    assert content(given) == before


def test_canonical_features_are_not_copied() -> None:
    X = as_feature_csr(TABLE)
    assert as_feature_csr(X) is X


def test_entries_stored_twice_are_added_in_features() -> None:
    twice = sparse.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert as_feature_csr(twice).toarray().tolist() == [[0.0, 3.0]]


def test_stored_zeros_are_no_labels() -> None:
    matrix = sparse.csr_matrix(LABELS)
    matrix.data[0] = 0
    assert as_label_csr(matrix).nnz == LABELS.sum() - 1
    assert matrix.nnz == LABELS.sum()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 2]], "only 0 and 1; found 2"),
        ([[0.0, 0.5]], "found 0.5"),
        ([[0.0, np.nan]], "found nan"),
        (sparse.csr_matrix([[0, -1]]), "found -1"),
        ([0, 1], "must be 2-d"),
    ],
)
def test_other_numbers_are_no_labels(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        as_label_csr(given, name="Y_true")
    assert str(caught.value).startswith("Y_true")


def test_more_columns_than_an_int32_can_number_are_refused() -> None:
    # One past the largest index: the matrix itself holds nothing.
    huge = sparse.csr_matrix((1, 2**31), dtype=np.float32)
    with pytest.raises(InputError, match="columns are supported"):
        as_feature_csr(huge)


def test_labels_are_counted_by_column() -> None:
    assert label_counts(as_label_csr(LABELS)).tolist() == [1, 1, 2]
    assert label_counts(as_label_csr(np.zeros((2, 3)))).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "indptr",
    [
        np.array([0, 10_000_000, 2], np.uint64),  # the last step wraps around
        np.array([0, 2**63 - 1, -(2**63), 2], np.int64),  # so do both of these
        np.array([0, 2, 1, 2]),
        np.array([1, 1, 2]),
        np.array([0, 1, 3]),
        np.array([0.0, 1.0, 2.0]),
        np.zeros((1, 3), np.int64),
        np.zeros(0, np.int64),
    ],
    ids=str,
)
def test_a_row_pointer_that_would_lead_outside_is_told_apart(indptr: np.ndarray) -> None:
    assert not is_row_pointer(indptr, max(len(indptr), 1) - 1, 2)


def test_a_row_pointer_of_any_whole_type_is_known() -> None:
    for dtype in ("u1", "i4", "u8", "i8"):
        assert is_row_pointer(np.array([0, 0, 2], dtype), 2, 2)
    assert not is_row_pointer(np.array([0, 0, 2]), 3, 2)


# -- matrices of users whose parts do not belong together ----------------------------------------


def broken(form: str, part: str, dtype: str = "int32") -> Any:
    """Return a matrix of a form with one part changed after it was made."""
    matrix = sparse.csr_matrix(np.ones((4, 6), np.float32)).asformat(form)
    if form == "lil":
        matrix.rows[1][0] = 10**9
    elif form == "coo":
        changed = matrix.coords[0].astype(dtype)
        changed[2] = 10**9 if part == "far" else -1
        matrix.coords = (changed, matrix.coords[1])
    elif part == "pointer":
        matrix.indptr = matrix.indptr.astype(dtype)
        matrix.indptr[1] = 10**9
    elif part == "short":
        matrix.data = matrix.data[:-1]
    else:
        matrix.indices = matrix.indices.astype(dtype)
        matrix.indices[2] = 10**9 if part == "far" else -1
    return matrix


FORMATS = ("csr", "csc", "bsr", "coo", "lil")
BROKEN = [
    (form, part, dtype)
    for form in FORMATS
    for part in ("pointer", "far", "negative", "short")
    for dtype in ("int32", "int64")
]


@pytest.mark.parametrize("case", BROKEN, ids="-".join)
@pytest.mark.parametrize("read", [as_feature_csr, as_label_csr, Ranking.from_csr])
def test_a_matrix_that_would_lead_outside_is_refused(case: tuple, read: Any) -> None:
    with pytest.raises(InputError, match=r"(does not fit|outside its|indices for)"):
        read(broken(*case))


@pytest.mark.parametrize("form", [*FORMATS, "dok", "dia"])
@pytest.mark.parametrize("made", [sparse.csr_matrix, sparse.csr_array])
def test_a_good_matrix_of_any_form_passes(form: str, made: Any) -> None:
    check_sparse(made(TABLE).asformat(form), "X")
    check_sparse(made((0, 3)).asformat(form), "X")


def test_unsorted_and_repeated_indices_are_a_matrix() -> None:
    for dtype in ("int32", "int64", "uint16"):
        parts = np.array([2, 0, 2], dtype), np.array([0, 3], dtype)
        check_csr(np.ones(3), *parts, (1, 3), "X")
