"""`Ranking` against lists of lists."""

from __future__ import annotations

from dataclasses import replace
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


# -- reading -------------------------------------------------------------------------------------


def describe_ragged() -> tuple[Ranking, list[list[int]]]:
    """`make_ragged` with a probability of 0.1 times the label, a rest, and names."""
    ranking, labels = make_ragged()
    chances = (ranking.labels / np.float32(10)).astype(np.float32)
    ranking = replace(ranking, rest=np.float32([1, 2, 3, 4]))
    return ranking.described(chances, ["a", "b", "c", "d", "e"]), labels


def test_a_row_reads_as_names_scores_and_probabilities() -> None:
    ranking, _ = describe_ragged()
    assert ranking[0] == [("e", 1.0, pytest.approx(0.4)), ("a", 0.75, 0.0)]
    assert ranking[-3] == []
    assert ranking[2][1].label == "b"
    assert ranking[np.int64(3)][0].score == 1.0
    assert [len(row) for row in ranking] == [2, 0, 3, 1]
    for row in (4, -5):
        with pytest.raises(IndexError, match="of a ranking of 4 rows"):
            ranking[row]


def test_without_names_and_probabilities_there_are_numbers_and_none() -> None:
    ranking, labels = make_ragged()
    assert ranking.to_lists() == labels
    assert ranking[0][0] == (4, 1.0, None)


@pytest.mark.parametrize("names", [list("abcde"), np.array(list("abcde")), tuple("abcde")])
def test_lists_hold_names_best_first(names) -> None:
    ranking, labels = make_ragged()
    found = ranking.described(names=names).to_lists()
    assert found == [["abcde"[label] for label in row] for row in labels]
    assert type(found[0][0]) is str


@pytest.mark.parametrize("rows", [slice(1, 3), slice(None), slice(None, None, -1), slice(9, 12)])
def test_slices_are_rankings_of_these_rows(rows: slice) -> None:
    ranking, labels = describe_ragged()
    part = ranking[rows]
    assert as_lists(part) == labels[rows]
    assert [list(row) for row in part] == [ranking[row] for row in range(4)[rows]]
    assert part.rest is not None
    assert part.rest.tolist() == [1, 2, 3, 4][rows]


def test_probabilities_follow_their_entries() -> None:
    ranking, _ = describe_ragged()
    for part in (ranking.top(1), ranking.where(ranking.labels % 2 == 0), ranking.take([2, 0])):
        assert part.probabilities is not None
        np.testing.assert_allclose(part.probabilities, part.labels / 10, rtol=1e-6)
        assert part.names == ranking.names
    stacked = Ranking.stack([ranking, ranking])
    assert stacked.to_lists() == 2 * ranking.to_lists()
    assert stacked.probabilities is not None
    matrix = ranking.to_csr(probabilities=True)
    assert matrix[2].toarray().ravel().tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0])
    with pytest.raises(InputError, match="no probabilities"):
        make_ragged()[0].to_csr(probabilities=True)


def test_the_probability_of_what_is_dropped_goes_to_the_rest() -> None:
    ranking, _ = describe_ragged()
    rest = ranking.top(1).rest
    assert rest is not None
    assert rest.tolist() == pytest.approx([1.0, 2.0, 3.4, 4.0])


def test_it_prints_as_a_few_rows_of_names() -> None:
    ranking, _ = describe_ragged()
    assert repr(ranking).splitlines() == [
        "Ranking of 4 rows, 5 labels; probabilities in brackets",
        "0: e 1 (0.4), a 0.75 (0)",
        "1: -",
        "2: c 1 (0.2), b 0.75 (0.1), d 0.5 (0.3)",
        "3: a 1 (0)",
    ]
    many = Ranking.from_dense(np.zeros((100_000, 9)))
    assert len(repr(many).splitlines()) == 7
    assert "and 4 more" in repr(many)
    assert "and 99,995 more rows" in repr(many)


def test_numbers_that_do_not_fit_are_refused() -> None:
    ranking, _ = make_ragged()
    with pytest.raises(InputError, match="2 probabilities were given; the ranking needs 6"):
        ranking.described(np.zeros(2, np.float32))
    with pytest.raises(InputError, match="1 names were given; the ranking needs 5"):
        ranking.described(names=["a"])
