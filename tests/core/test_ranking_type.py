"""`Ranking` against lists of lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking

# Few distinct values, so that ties are common; whole numbers, so that float32 holds them.
SCORES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.integers(0, 5)),
    elements=st.integers(-2, 2).map(float),
)


def sort_slowly(scores: np.ndarray) -> list[list[int]]:
    """Labels of every row, best first, the lower label first among equals."""
    return [sorted(range(len(row)), key=lambda label: (-row[label], label)) for row in scores]


def as_lists(ranking: Ranking) -> list[list[int]]:
    return [ranking.labels[a:b].tolist() for a, b in pairwise(ranking.indptr)]


def make_ragged() -> tuple[Ranking, list[list[int]]]:
    """Rows of 2, 0, 3 and 1 labels out of 5."""
    labels = [[4, 0], [], [2, 1, 3], [0]]
    matrix = sparse.csr_matrix((4, 5), dtype=np.float32).tolil()
    for row, found in enumerate(labels):
        for position, label in enumerate(found):
            matrix[row, label] = 1.0 - 0.25 * position
    return Ranking.from_csr(matrix.tocsr()), labels


@given(SCORES)
def test_dense_scores_are_sorted_with_ties_to_the_lower_label(scores: np.ndarray) -> None:
    ranking = Ranking.from_dense(scores)
    wanted = sort_slowly(scores)
    assert as_lists(ranking) == wanted
    assert len(ranking) == ranking.n_samples == len(scores)
    assert ranking.n_labels == scores.shape[1]
    assert ranking.scores.tolist() == [
        scores[row, label] for row, labels in enumerate(wanted) for label in labels
    ]
    assert ranking.labels.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    assert ranking.indptr.dtype == np.int64


@given(SCORES)
def test_k_cuts_every_row(scores: np.ndarray) -> None:
    m = scores.shape[1]
    whole = Ranking.from_dense(scores)
    for k in {0, 1, max(m - 1, 0), m, m + 1}:
        wanted = [row[:k] for row in sort_slowly(scores)]
        assert as_lists(Ranking.from_dense(scores, k)) == wanted
        assert as_lists(whole.top(k)) == wanted


@given(SCORES)
def test_stored_entries_of_a_sparse_matrix_are_sorted(scores: np.ndarray) -> None:
    ranking = Ranking.from_csr(sparse.csr_matrix(scores))
    wanted = [
        [label for label in labels if row[label] != 0]
        for row, labels in zip(scores, sort_slowly(scores), strict=True)
    ]
    assert as_lists(ranking) == wanted


@given(SCORES)
def test_the_scores_come_back_as_a_matrix(scores: np.ndarray) -> None:
    matrix = Ranking.from_dense(scores).to_csr()
    assert matrix.has_sorted_indices
    assert matrix.shape == scores.shape
    np.testing.assert_array_equal(matrix.toarray(), scores)


def test_rows_may_differ_in_length() -> None:
    ranking, labels = make_ragged()
    assert as_lists(ranking) == labels
    assert ranking.lengths.tolist() == [2, 0, 3, 1]
    assert ranking.rows.tolist() == [0, 0, 2, 2, 2, 3]
    assert ranking.positions.tolist() == [0, 1, 0, 1, 2, 0]
    assert as_lists(ranking.top(1)) == [[4], [], [2], [0]]
    assert as_lists(ranking.top(0)) == [[], [], [], []]
    assert as_lists(ranking.where(ranking.scores < 1.0)) == [[0], [], [1, 3], []]


def test_sets_forget_the_scores() -> None:
    ranking, labels = make_ragged()
    sets = ranking.to_sets()
    assert sets.dtype == np.int32
    assert sets.has_sorted_indices
    wanted = [[int(label in row) for label in range(5)] for row in labels]
    assert sets.toarray().tolist() == wanted


def test_making_matrices_leaves_the_ranking_as_it_was() -> None:
    ranking, labels = make_ragged()
    ranking.to_csr().data[:] = 9
    ranking.to_sets().indices[:] = 0
    assert as_lists(ranking) == labels
    assert ranking.scores.max() == 1.0


def test_stacked_rankings_are_the_ranking_of_stacked_scores() -> None:
    scores = np.random.default_rng(0).integers(0, 3, (7, 4)).astype(np.float32)
    pieces = [Ranking.from_dense(scores[a:b], 3) for a, b in ((0, 2), (2, 2), (2, 7))]
    stacked, wanted = Ranking.stack(pieces), Ranking.from_dense(scores, 3)
    np.testing.assert_array_equal(stacked.indptr, wanted.indptr)
    np.testing.assert_array_equal(stacked.labels, wanted.labels)
    np.testing.assert_array_equal(stacked.scores, wanted.scores)
    assert stacked.n_labels == 4


def test_rankings_without_rows_or_labels_are_rankings() -> None:
    for shape in ((0, 3), (3, 0), (0, 0)):
        ranking = Ranking.from_dense(np.zeros(shape))
        assert len(ranking) == shape[0]
        assert ranking.to_csr().shape == ranking.to_sets().shape == shape
        assert ranking.top(2).to_sets().nnz == 0


def test_scores_that_are_no_table_are_refused() -> None:
    with pytest.raises(InputError, match="scores must be 2-d"):
        Ranking.from_dense([1.0, 2.0])
