"""The kernels that match names, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.samples.numpy_backend import NumpyBackend

from rmls.kernels.arrays import Csr, ListScores, Mixture, NameMatches, NamePostings, Params
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
@pytest.mark.parametrize("scale", [1.0, -1.0, 1e-6, 1e6])
def test_best_matches_are_those_of_plain_numpy(
    rows: Csr, postings: NamePostings, size: int, scale: float
) -> None:
    matches = get_backend("cpu").match_names(rows, postings, N_LABELS)
    matches = matches._replace(cosines=matches.cosines * np.float32(scale))
    found = get_backend("cpu").best_names(matches, size)
    share, cosine = dense(matches)
    keys = share + cosine + (share > 0.9)
    for row, labels in enumerate(found):
        kept = labels[labels >= 0]
        assert len(set(kept)) == len(kept) == min(size, (share[row] > 0).sum())
        best = np.sort(keys[row, share[row] > 0])[::-1][: len(kept)]
        np.testing.assert_allclose(np.sort(keys[row, kept])[::-1], best, rtol=1e-6, atol=1e-6)


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


def no_vectors(n_rows: int, scores: list[float]) -> tuple[np.ndarray, Params]:
    """Return vectors of no length: the score of a label is its bias."""
    empty, bias = np.zeros((0, 2), np.float32), np.float32(scores)
    return np.zeros((n_rows, 2), np.float32), Params(
        empty, np.zeros(2, np.float32), np.zeros((len(bias), 2), np.float32), bias
    )


def test_a_name_of_which_little_is_there_does_not_count() -> None:
    # Of the first name a quarter, of the second half: the cosine is that of the second.
    postings = NamePostings(
        np.int64([0, 2]),
        np.int32([0, 1]),
        np.float32([0.25, 0.5]),
        np.float32([0.9, 0.4]),
        np.int32([0, 0]),
    )
    rows = csr_arrays(sparse.csr_matrix(np.float32([[1.0]])))
    for backend in (get_backend("cpu"), NumpyBackend()):
        matches = backend.match_names(rows, postings, 1)
        np.testing.assert_allclose((*matches.shares, *matches.cosines), (0.5, 0.4))


def test_found_labels_take_the_places_of_the_weakest() -> None:
    listed = np.int32([[1, 3, 5, 7], [0, 1, 2, 3], [2, 4, 6, 8]])
    scores = np.float32([[0.4, 0.1, 0.3, 0.2], [1, 2, 3, 4], [0.5, 0.1, 0.1, 0.4]])
    found = np.int32([[9, 3, -1], [-1, -1, -1], [-1, 5, -1]])
    get_backend("cpu").join_lists(listed, scores, found, *no_vectors(3, [0.0] * 9 + [0.9]))
    # 3 has the lowest score and was found as well, so that 7 gives way; of equals the first does.
    assert listed.tolist() == [[1, 3, 5, 9], [0, 1, 2, 3], [2, 5, 6, 8]]
    expected = [[0.4, 0.1, 0.3, 0.9], [1, 2, 3, 4], [0.5, 0.0, 0.1, 0.4]]
    np.testing.assert_allclose(scores, expected)


def test_lists_full_of_found_labels_stay_as_they_are() -> None:
    listed, scores = np.int32([[1, 3]]), np.float32([[0.4, 0.1]])
    found = np.int32([[3, 1, 5]])
    get_backend("cpu").join_lists(listed, scores, found, *no_vectors(1, [9.0] * 6))
    assert listed.tolist() == [[1, 3]]
    np.testing.assert_allclose(scores, [[0.4, 0.1]])


@pytest.mark.parametrize(("size", "n_found"), [(1, 1), (1, 3), (8, 1), (8, 8), (8, 12), (39, 5)])
def test_joined_lists_are_those_of_plain_numpy(size: int, n_found: int) -> None:
    rng = np.random.default_rng(size + n_found)
    params = Params(
        np.zeros((0, 6), np.float32),
        np.zeros(6, np.float32),
        rng.standard_normal((N_LABELS, 6), dtype=np.float32),
        rng.standard_normal(N_LABELS, dtype=np.float32),
    )
    hidden = rng.standard_normal((30, 6), dtype=np.float32)
    drawn = np.argsort(rng.random((2, 30, N_LABELS)), axis=2).astype(np.int32)
    listed, found = np.sort(drawn[0, :, :size], axis=1), drawn[1, :, :n_found]
    found[rng.random(found.shape) < 0.2] = -1
    all_scores = hidden @ params.L.T + params.c
    before = np.take_along_axis(all_scores, listed, axis=1)
    results = []
    for backend in (get_backend("cpu"), NumpyBackend()):
        labels, scores = listed.copy(), before.copy()
        backend.join_lists(labels, scores, found.copy(), hidden, params)
        np.testing.assert_allclose(
            scores, np.take_along_axis(all_scores, labels, axis=1), rtol=1e-4, atol=1e-5
        )
        assert (np.diff(labels, axis=1) > 0).all()
        results.append(labels)
    for labels, plain, wanted in zip(*results, found, strict=True):
        n_wanted = (wanted >= 0).sum()
        assert np.isin(labels, wanted).sum() == min(size, n_wanted)
        # Where not all can be listed, nobody says which.
        assert n_wanted > size or labels.tolist() == plain.tolist()


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
