"""The best labels of a row by their vectors: all of them scored, or a part by a short way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tolerances import assert_same_lists

from rmls.kernels.arrays import Params
from rmls.kernels.backend import Vectors
from rmls.models.ranker.label_clusters import cluster_labels
from rmls.models.ranker.label_index import (
    ClusterIndex,
    ExactIndex,
    LabelIndex,
    LeadingIndex,
    build_index,
)


def make_vectors(n_labels: int, seed: int = 0) -> tuple[Vectors, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=(n_labels, 6)).astype(np.float32)
    bias = rng.normal(size=n_labels).astype(np.float32)
    hidden = rng.normal(size=(70, 6)).astype(np.float32)
    empty = np.zeros((1, 6), np.float32)
    return Vectors(Params(empty, empty[0], labels, bias), "linear"), hidden


def make_clusters(vectors: Vectors) -> ClusterIndex:
    return ClusterIndex.of(vectors, *cluster_labels(vectors.params, 0, 1))


def best_labels(index: LabelIndex, hidden: np.ndarray, k: int) -> np.ndarray:
    labels, scores = index.search(hidden, k)
    assert labels.shape == scores.shape == (len(hidden), k)
    return labels


@pytest.mark.parametrize("n_labels", [1, 9, 1023, 1024, 1025, 2500])
def test_the_search_of_all_labels_finds_what_sorting_finds(n_labels: int) -> None:
    vectors, hidden = make_vectors(n_labels)
    for k in {1, min(9, n_labels), n_labels}:
        order = np.argsort(-vectors.scores(hidden), axis=1, kind="stable")[:, :k]
        found = best_labels(ExactIndex(vectors), hidden, k)
        assert_same_lists(found, order, vectors.scores(hidden))
        assert (np.diff(found, axis=1) > 0).all()


@pytest.mark.parametrize("k", [1, 10, 400])
def test_a_visit_of_every_cluster_is_exact(k: int) -> None:
    vectors, hidden = make_vectors(400)
    index = make_clusters(vectors)
    index = replace(index, n_probe=len(index.means))
    exact = best_labels(ExactIndex(vectors), hidden, k)
    assert_same_lists(best_labels(index, hidden, k), exact, vectors.scores(hidden))


def test_a_list_longer_than_the_visited_clusters_visits_more() -> None:
    vectors, hidden = make_vectors(400)
    index = replace(make_clusters(vectors), n_probe=1)
    found = best_labels(index, hidden, 300)
    assert all(len(np.unique(row)) == 300 for row in found)


def test_an_index_does_not_depend_on_the_number_of_threads() -> None:
    vectors, hidden = make_vectors(3000)
    (one, recall), (two, again) = (
        build_index("clusters", vectors, hidden, 20, 0, n_threads) for n_threads in (1, 2)
    )
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.indptr, two.indptr)
    assert (one.n_probe, recall) == (two.n_probe, again)


def test_an_index_holds_every_label_once_and_no_large_cluster() -> None:
    vectors, _ = make_vectors(900)
    vectors.params.L[200:] = 0.0
    vectors.params.c[200:] = -1.0
    index = make_clusters(vectors)
    assert sorted(index.labels.tolist()) == list(range(900))
    sizes = np.diff(index.indptr)
    assert sizes.min() >= 1
    assert sizes.max() <= 4 * 900 / 30


def make_leaning_vectors(n_labels: int, k: int = 64, seed: int = 0) -> tuple[Vectors, np.ndarray]:
    """Vectors whose directions count less and less, in a basis that nobody sees."""
    rng = np.random.default_rng(seed)
    sizes = 0.9 ** np.arange(k)
    basis = np.linalg.qr(rng.normal(size=(k, k)))[0]
    labels = (rng.normal(size=(n_labels, k)) * sizes) @ basis
    hidden = (rng.normal(size=(300, k)) * sizes + 1) @ basis
    empty = np.zeros((1, k), np.float32)
    bias = rng.normal(size=n_labels).astype(np.float32)
    params = Params(empty, empty[0], labels.astype(np.float32), bias)
    return Vectors(params, "linear"), hidden.astype(np.float32)


def test_all_directions_together_give_the_scores_of_before() -> None:
    vectors, hidden = make_leaning_vectors(500)
    leading = next(LeadingIndex.fit(vectors, hidden, [64])).leading
    cut = np.column_stack([hidden @ leading.rows, np.ones(len(hidden))])
    scores = cut @ leading.vectors.T
    np.testing.assert_allclose(scores, vectors.scores(hidden)[:, leading.labels], atol=1e-2)


def test_leading_directions_keep_more_of_the_scores_than_any_others() -> None:
    vectors, hidden = make_leaning_vectors(500)
    products = hidden @ vectors.params.L.T
    leading = next(LeadingIndex.fit(vectors, hidden, [8])).leading
    ours = np.empty_like(products)
    ours[:, leading.labels] = hidden @ leading.rows @ leading.vectors[:, :-1].T
    left, values, right = np.linalg.svd(products, full_matrices=False)
    best = (left[:, :8] * values[:8]) @ right[:8]
    assert np.linalg.norm(products - ours) <= 1.01 * np.linalg.norm(products - best)


@pytest.mark.parametrize("n_labels", [1, 9, 1025, 5000])
def test_a_search_by_leading_directions_gives_true_scores_in_the_order_of_labels(
    n_labels: int,
) -> None:
    vectors, hidden = make_leaning_vectors(n_labels)
    index = next(LeadingIndex.fit(vectors, hidden, [31]))
    for k in {1, min(9, n_labels), n_labels}:
        labels, scores = index.search(hidden, k)
        wanted = np.take_along_axis(vectors.scores(hidden), labels.astype(np.int64), axis=1)
        np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-4)
        assert (np.diff(labels, axis=1) > 0).all()
        if 2 * k >= n_labels:
            exact = best_labels(ExactIndex(vectors), hidden, k)
            assert_same_lists(labels, exact, vectors.scores(hidden))


def test_a_row_at_a_time_is_searched_as_many_are() -> None:
    vectors, hidden = make_leaning_vectors(5000)
    index = next(LeadingIndex.fit(vectors, hidden, [31]))
    together = best_labels(index, hidden, 20)
    alone = np.vstack([best_labels(index, hidden[row : row + 1], 20) for row in range(50)])
    assert_same_lists(alone, together[:50], vectors.scores(hidden[:50]))


def test_as_many_directions_lead_as_find_the_lists() -> None:
    vectors, hidden = make_leaning_vectors(5000)
    index, recall = build_index("leading", vectors, hidden, 20, 0)
    assert isinstance(index, LeadingIndex)
    assert 0.99 <= recall <= 1


def test_where_no_direction_leads_all_are_searched() -> None:
    rng = np.random.default_rng(0)
    vectors, _ = make_leaning_vectors(5000, 256)
    vectors.params.L[:] = rng.normal(size=(5000, 256))
    index, recall = build_index("auto", vectors, rng.normal(size=(300, 256)).astype("f4"), 20, 0)
    assert isinstance(index, ExactIndex)
    assert recall == 1.0


def test_rows_that_are_all_alike_can_be_searched() -> None:
    vectors, hidden = make_leaning_vectors(5000)
    hidden[:] = hidden[0]
    index = next(LeadingIndex.fit(vectors, hidden, [31]))
    assert_same_lists(
        best_labels(index, hidden, 20),
        best_labels(ExactIndex(vectors), hidden, 20),
        vectors.scores(hidden),
    )


@pytest.mark.parametrize(
    ("kind", "n_labels", "wanted"),
    [
        ("exact", 60_000, ExactIndex),
        ("leading", 60_000, LeadingIndex),
        ("auto", 900, ExactIndex),
        ("auto", 4_001, LeadingIndex),
        ("auto", 50_001, ClusterIndex),
        ("clusters", 900, ClusterIndex),
    ],
)
def test_the_kind_of_an_index_follows_the_option_and_the_labels(
    kind: str, n_labels: int, wanted: type
) -> None:
    vectors, hidden = make_leaning_vectors(n_labels)
    index, recall = build_index(kind, vectors, hidden, 5, 0)
    assert type(index) is wanted
    assert recall == 1.0 if wanted is ExactIndex else 0 < recall <= 1
