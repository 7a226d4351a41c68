"""The best labels of a row by their vectors: all of them scored, or clusters of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tolerances import assert_same_lists

from rmls.kernels.arrays import Params
from rmls.kernels.backend import Vectors
from rmls.models.ranker.label_clusters import cluster_labels
from rmls.models.ranker.label_index import ClusterIndex, ExactIndex, LabelIndex, build_index


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


@pytest.mark.parametrize(
    ("kind", "n_labels", "wanted"),
    [
        ("exact", 60_000, ExactIndex),
        ("auto", 900, ExactIndex),
        ("auto", 50_001, ClusterIndex),
        ("clusters", 900, ClusterIndex),
    ],
)
def test_the_kind_of_an_index_follows_the_option_and_the_labels(
    kind: str, n_labels: int, wanted: type
) -> None:
    vectors, hidden = make_vectors(n_labels)
    index, recall = build_index(kind, vectors, hidden, 5, 0)
    assert type(index) is wanted
    assert recall == 1.0 if wanted is ExactIndex else 0 < recall <= 1
