"""KNN against brute force."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from archive_samples import change_model
from model_samples import make_blocks, make_noise
from scipy import sparse

import rmls
from rmls import KNN
from rmls.core.errors import ArchiveError, InputError


def slow_scores(X: np.ndarray, Y: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    asked = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    similarity = asked @ unit.T
    near = np.argsort(-similarity, axis=1)[:, :k]
    votes = np.take_along_axis(similarity, near, axis=1)
    mean = np.einsum("qk,qkm->qm", votes, Y[near]) / votes.sum(axis=1, keepdims=True)
    return (k * mean + Y.mean(axis=0)) / (k + 1)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("k", [1, 4, 60])
def test_scores_are_those_of_brute_force(k: int, n_jobs: int) -> None:
    X, Y = make_noise()
    model = KNN(k, normalize="l2", n_jobs=n_jobs).fit(X[:60], Y[:60])
    expected = slow_scores(X[:60], Y[:60], X[60:], k)
    np.testing.assert_allclose(model.decision_function(X[60:]), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(model.predict_proba(X[60:]), model.decision_function(X[60:]))


def test_more_neighbours_than_rows_are_all_rows() -> None:
    X, Y = make_noise(20)
    mean = 1000 * slow_scores(X, Y, X, 20) * 21 / 20 - 1000 * Y.mean(axis=0) / 20
    many = KNN(1000, normalize="l2").fit(X, Y).decision_function(X)
    np.testing.assert_allclose(many, (mean + Y.mean(axis=0)) / 1001, rtol=1e-3, atol=1e-5)


def test_rows_with_equal_features_vote_with_their_mean_labels() -> None:
    X = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    scores = KNN(2, normalize="l2").fit(X, Y).decision_function([[5.0, 0.0]])
    np.testing.assert_allclose(scores, (2 * np.array([[2 / 3, 1 / 3]]) + 0.5) / 3, rtol=1e-5)


def test_a_row_like_no_other_gets_the_frequencies() -> None:
    X, Y = make_noise()
    X[:, -1] = 0
    stranger = np.zeros((2, X.shape[1]))
    stranger[1, -1] = 1.0
    scores = KNN(3, normalize="l2").fit(X, Y).decision_function(stranger)
    np.testing.assert_allclose(scores, np.tile(Y.mean(axis=0), (2, 1)), rtol=1e-5)


def test_the_threshold_is_set_without_a_rows_own_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = make_noise(30)
    asked: list[tuple[np.ndarray, np.ndarray]] = []
    search = KNN._search

    def record(self: KNN, unit: Any, left_out: Any) -> Any:
        found, similarity = search(self, unit, left_out)
        asked.append((found, np.asarray(left_out)))
        return found, similarity

    monkeypatch.setattr(KNN, "_search", record)
    KNN(29, normalize="l2").fit(X, Y)
    ((found, left_out),) = asked
    assert sorted(left_out.tolist()) == list(range(30))
    assert not (found == left_out[:, None]).any()


def test_learns_blocks() -> None:
    X, Y = make_blocks()
    model = KNN(1).fit(X, Y)
    for row, labels in enumerate(Y):
        assert model.rank(X[[row]], labels.sum()).to_sets().toarray()[0].tolist() == labels.tolist()


def test_ranks_many_labels_in_little_memory() -> None:
    X, Y = make_blocks(300)
    wide = sparse.hstack([sparse.csr_matrix(Y), sparse.csr_matrix((len(Y), 200_000))]).tocsr()
    tracemalloc.start()
    ranking = KNN(3).fit(X, wide).rank(X, 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (ranking.labels < 6).all()
    assert peak < 3 * wide.shape[0] * wide.shape[1]


def test_a_damaged_index_is_refused(tmp_path: Any) -> None:
    X, Y = make_noise()
    model = KNN(2).fit(X, Y)
    model.save(tmp_path / "model")
    model._labels.indices[0] = 99
    change_model(tmp_path / "model", arrays={"labels_indices": model._labels.indices})
    with pytest.raises(ArchiveError, match="'labels' is not a sparse matrix"):
        rmls.load(tmp_path / "model")
    with pytest.raises(ArchiveError, match="'labels' is not a sparse matrix"):
        model.save(tmp_path / "again")


@pytest.mark.parametrize("value", [0, 2.5, None])
def test_neighbours_must_be_a_whole_number(value: Any) -> None:
    with pytest.raises(InputError, match=r"^n_neighbors must be"):
        KNN(value).fit([[1.0]], [[1]])


def test_shares_of_rounded_weights_do_not_exceed_1() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((6, 4)), 5, axis=0)
    weights = rng.random(30) * 0.7 + 1 / 3
    X[:, 3] += np.arange(30) * 1e-3
    model = KNN(n_neighbors=7).fit(X, np.ones((30, 1), int), sample_weight=weights)
    assert model.predict_proba(rng.random((200, 4))).max() <= 1
