"""The kernels that match names, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.samples.numpy_backend import NumpyBackend

from rmls.kernels.arrays import Csr, ListScores, Mixture, NameMatches, NamePostings
from rmls.kernels.backend import csr_arrays, get_backend

N_LABELS, N_WORDS = 40, 25


@pytest.fixture(name="rows")
def _rows() -> Csr:
    X = sparse.random(30, N_WORDS, density=0.2, format="csr", random_state=1, dtype=np.float32)
    return csr_arrays(X)


@pytest.fixture(name="postings")
def _postings() -> NamePostings:
    rng = np.random.default_rng(2)
    # Some labels have two names, some none, some names share all their words.
    names = sparse.random(60, N_WORDS, density=0.1, format="csr", random_state=3)
    names.data = rng.random(len(names.data)) + 0.1
    shares = sparse.csr_matrix(names.multiply(1 / np.maximum(names.sum(axis=1), 1e-9))).tocsc()
    return NamePostings(
        shares.indptr.astype(np.int64),
        shares.indices.astype(np.int32),
        shares.data.astype(np.float32),
        rng.random(len(shares.data)).astype(np.float32),
        rng.integers(0, N_LABELS, 60).astype(np.int32),
    )


def dense(matches: NameMatches) -> np.ndarray:
    shape = (len(matches.indptr) - 1, N_LABELS)
    return np.array(
        [
            sparse.csr_matrix((values, matches.labels, matches.indptr), shape).toarray()
            for values in (matches.shares, matches.cosines)
        ]
    )


def test_matches_are_those_of_plain_numpy(rows: Csr, postings: NamePostings) -> None:
    found = dense(get_backend("cpu").match_names(rows, postings, N_LABELS))
    expected = dense(NumpyBackend().match_names(rows, postings, N_LABELS))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert 0.05 < (found[0] > 0).mean() < 0.9
    assert (found[0] > 0.9).any()


def test_scores_of_names_are_those_of_plain_numpy(rows: Csr, postings: NamePostings) -> None:
    listed = np.argsort(np.random.default_rng(4).random((30, N_LABELS)), axis=1)[:, :9]
    listed = listed.astype(np.int32)
    backend, plain = get_backend("cpu"), NumpyBackend()
    matches = backend.match_names(rows, postings, N_LABELS)
    found = backend.score_names(matches, listed, N_LABELS)
    expected = plain.score_names(matches, listed, N_LABELS)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert 0 < found[:, :, 2].mean() < found[:, :, 0].mean() < 1


@pytest.mark.parametrize("size", [1, 4, N_LABELS])
def test_best_matches_are_those_of_plain_numpy(
    rows: Csr, postings: NamePostings, size: int
) -> None:
    matches = get_backend("cpu").match_names(rows, postings, N_LABELS)
    found = get_backend("cpu").best_names(matches, size)
    share, cosine = dense(matches)
    keys = share + cosine + (share > 0.9)
    for row, labels in enumerate(found):
        kept = labels[labels >= 0]
        assert len(set(kept)) == len(kept) == min(size, (keys[row] > 0).sum())
        best = np.sort(keys[row])[::-1][: len(kept)]
        np.testing.assert_allclose(np.sort(keys[row, kept])[::-1], best, atol=1e-6)


def test_a_label_is_matched_by_the_best_of_its_names() -> None:
    # Word 0 is all of the first name and half of the second; both belong to label 1.
    postings = NamePostings(
        np.int64([0, 2, 3]),
        np.int32([0, 1, 1]),
        np.float32([1.0, 0.5, 0.5]),
        np.float32([1.0, 0.7, 0.7]),
        np.int32([1, 1]),
    )
    rows = csr_arrays(sparse.csr_matrix(np.float32([[0.5, 0.0], [0.0, 0.5], [0.0, 0.0]])))
    matches = get_backend("cpu").match_names(rows, postings, 3)
    assert matches.indptr.tolist() == [0, 1, 2, 2]
    assert matches.labels.tolist() == [1, 1]
    np.testing.assert_allclose(matches.shares, [1.0, 0.5])
    np.testing.assert_allclose(matches.cosines, [0.5, 0.35])


def test_found_labels_take_the_places_of_the_weakest() -> None:
    listed = np.int32([[1, 3, 5, 7], [0, 1, 2, 3]])
    scores = np.float32([[0.4, 0.1, 0.3, 0.2], [1, 2, 3, 4]])
    found = np.int32([[9, 3, -1], [-1, -1, -1]])
    joined = get_backend("cpu").join_lists(listed, scores, found)
    # 3 has the lowest score and was found as well, so that 7 gives way.
    assert listed.tolist() == [[1, 3, 5, 9], [0, 1, 2, 3]]
    assert joined.tolist() == [[False, False, False, True], [False] * 4]


def test_lists_full_of_found_labels_stay_as_they_are() -> None:
    listed, scores = np.int32([[1, 3]]), np.float32([[0.4, 0.1]])
    joined = get_backend("cpu").join_lists(listed, scores, np.int32([[3, 1, 5]]))
    assert listed.tolist() == [[1, 3]]
    assert not joined.any()


def test_words_of_names_are_counted_once_a_row() -> None:
    X = csr_arrays(sparse.csr_matrix(np.float32([[1, 0, 1], [0, 1, 0], [1, 1, 1]])))
    # Both labels of the first row have word 0 in their names; the last row is not counted.
    Y = csr_arrays(sparse.csr_matrix(np.int32([[1, 1], [1, 0], [1, 1]])))
    names = csr_arrays(sparse.csr_matrix(np.float32([[1, 1, 0], [1, 0, 1]])))
    for backend in (get_backend("cpu"), NumpyBackend()):
        counts, hits = backend.count_name_words(X, Y, names, np.array([0, 1]), 3)
        assert counts.tolist() == [2, 2, 1]
        assert hits.tolist() == [1, 1, 1]


def test_further_sources_are_added_by_the_coefficients_of_the_label() -> None:
    listed = np.int32([[1, 0]])
    scores = ListScores(*np.zeros((2, 1, 2), np.float32), np.float32([[[1, 2], [3, 4]]]))
    table = np.zeros((2, 8), np.float32)
    table[:, 6:] = [[1, 10], [100, 1000]]
    mixture = Mixture(table, np.zeros(3, np.float32))
    assert get_backend("cpu").mix_lists(listed, scores, mixture).tolist() == [[2100, 43]]
