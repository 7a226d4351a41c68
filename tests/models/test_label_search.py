"""The best labels of a row by their vectors: all of them scored, or clusters of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rmls.kernels import cpu
from rmls.models.ranker.label_index import LabelClusters, build_index
from rmls.models.ranker.representation import Representation


def make_representation(n_labels: int, seed: int = 0) -> tuple[Representation, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=(n_labels, 6)).astype(np.float32)
    bias = rng.normal(size=n_labels).astype(np.float32)
    hidden = rng.normal(size=(70, 6)).astype(np.float32)
    empty = np.zeros((1, 6), np.float32)
    return Representation(empty, empty[0], labels, bias, "linear"), hidden


def best_labels(searched: Representation | LabelClusters, hidden: np.ndarray, k: int) -> np.ndarray:
    keys, counts, _ = searched.search(hidden, k)
    labels = np.empty((len(hidden), k), np.int32)
    cpu.take_best(k, keys, counts, labels, np.empty((len(hidden), k), np.float32))
    return labels


@pytest.mark.parametrize("n_labels", [1, 9, 1023, 1024, 1025, 2500])
def test_the_search_of_all_labels_finds_what_sorting_finds(n_labels: int) -> None:
    representation, hidden = make_representation(n_labels)
    for k in {1, min(9, n_labels), n_labels}:
        order = np.argsort(-representation.scores(hidden), axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(
            best_labels(representation, hidden, k), np.sort(order, axis=1)
        )


@pytest.mark.parametrize("k", [1, 10, 400])
def test_a_visit_of_every_cluster_is_exact(k: int) -> None:
    representation, hidden = make_representation(400)
    index = LabelClusters.of(representation, seed=0)
    index = replace(index, n_probe=len(index.means))
    np.testing.assert_array_equal(
        best_labels(index, hidden, k), best_labels(representation, hidden, k)
    )
    assert index.recall(representation, hidden, k) == 1.0


def test_a_list_longer_than_the_visited_clusters_visits_more() -> None:
    representation, hidden = make_representation(400)
    index = replace(LabelClusters.of(representation, seed=0), n_probe=1)
    found = best_labels(index, hidden, 300)
    assert all(len(np.unique(row)) == 300 for row in found)


def test_an_index_does_not_depend_on_the_number_of_threads() -> None:
    representation, hidden = make_representation(3000)
    (one, recall), (two, again) = (
        build_index(representation, hidden, 20, 0, n_threads) for n_threads in (1, 2)
    )
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.indptr, two.indptr)
    assert (one.n_probe, recall) == (two.n_probe, again)


def test_an_index_holds_every_label_once_and_no_large_cluster() -> None:
    representation, _ = make_representation(900)
    representation.labels[200:] = 0.0
    representation.label_bias[200:] = -1.0
    index = LabelClusters.of(representation, seed=0)
    assert sorted(index.labels.tolist()) == list(range(900))
    sizes = np.diff(index.indptr)
    assert sizes.min() >= 1
    assert sizes.max() <= 4 * 900 / 30
