"""An approximate index of label vectors: clusters, of which a search visits a few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.kernels import cpu
from rmls.models.ranker.representation import Representation
from rmls.models.shared.threads import for_blocks

LLOYD_STEPS = 8
SAMPLE_PER_CLUSTER = 64
CHUNK = 1024
SEARCHED_ROWS = 128
LARGEST = 4.0
PROBES = (8, 16, 32, 64, 128, 256)
WANTED_RECALL = 0.97

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class LabelClusters:
    """Label vectors in about ``sqrt(n_labels)`` clusters.

    A search scores the mean vector of every cluster and then the labels of the ``n_probe`` best.

    Attributes
    ----------
    means : ndarray of float32, shape (n_clusters, k)
    mean_bias : ndarray of float32, shape (n_clusters,)
    indptr : ndarray of int64, shape (n_clusters + 1,)
        Cluster c owns the places ``indptr[c]`` to ``indptr[c + 1]`` of what follows.
    labels : ndarray of int32, shape (n_labels,)
    vectors : ndarray of float32, shape (n_labels, k)
    bias : ndarray of float32, shape (n_labels,)
    n_probe : int
    """

    means: Floats
    mean_bias: Floats
    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    vectors: Floats
    bias: Floats
    n_probe: int = PROBES[0]

    @classmethod
    def of(cls, representation: Representation, seed: int, n_threads: int = 1) -> LabelClusters:
        """Cluster the label vectors, with their bias for one more coordinate."""
        n_clusters = max(1, round(np.sqrt(len(representation.labels))))
        rng = np.random.Generator(np.random.Philox(key=[seed, 2**35]))
        home = _split_large(_cluster(representation, n_clusters, rng, n_threads), n_clusters)
        order = np.argsort(home, kind="stable").astype(np.int32)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(home))]).astype(np.int64)
        return cls.from_order(representation, indptr, order)

    @classmethod
    def from_order(
        cls,
        representation: Representation,
        indptr: NDArray[np.int64],
        labels: NDArray[np.int32],
        n_probe: int = PROBES[0],
    ) -> LabelClusters:
        """Return the index of given clusters."""
        vectors, bias = representation.labels[labels], representation.label_bias[labels]
        sizes = np.diff(indptr).astype(np.float32)
        means = np.add.reduceat(vectors, indptr[:-1], axis=0) / sizes[:, None]
        mean_bias = np.add.reduceat(bias, indptr[:-1]) / sizes
        return cls(
            np.asarray(means, dtype=np.float32),
            np.asarray(mean_bias, dtype=np.float32),
            indptr,
            labels,
            vectors,
            bias,
            n_probe,
        )

    def search(self, hidden: Floats, size: int) -> tuple[Any, Any, Any]:
        """Return the memory of `cpu.take_best` with the best labels of every row in it.

        Rows that visit the same cluster are scored together.
        """
        keys, counts, lowest = cpu.room_for(len(hidden), size)
        scores = hidden @ self.means.T + self.mean_bias
        for cluster, rows in self._visits(scores, size):
            part = slice(self.indptr[cluster], self.indptr[cluster + 1])
            tile = hidden[rows] @ self.vectors[part].T + self.bias[part]
            cpu.offer_scores(tile, self.labels[part], rows, size, keys, counts, lowest)
        return keys, counts, lowest

    def _visits(self, scores: Floats, size: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the clusters to visit and their rows: the best of each, until they hold enough."""
        sizes = np.diff(self.indptr)
        # Every cluster holds a label, so that no more than these are looked at.
        most = min(max(self.n_probe, size), len(self.means))
        order = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        by_score = np.argsort(-np.take_along_axis(scores, order, axis=1), axis=1)
        order = np.take_along_axis(order, by_score, axis=1)
        before = np.cumsum(sizes[order], axis=1) - sizes[order]
        wanted = (np.arange(most) < self.n_probe) | (before < size)
        rows = np.broadcast_to(np.arange(len(order))[:, None], order.shape)[wanted]
        clusters = order[wanted]
        by_cluster = np.argsort(clusters, kind="stable")
        found, starts = np.unique(clusters[by_cluster], return_index=True)
        for cluster, part in zip(found, np.split(rows[by_cluster], starts[1:]), strict=True):
            yield int(cluster), part

    def recall(self, representation: Representation, hidden: Floats, size: int) -> float:
        """Return the share of the best ``size`` labels of some rows that a search finds."""
        return _overlap(_listed(representation, hidden, size, 1), _listed(self, hidden, size, 1))


def build_index(
    representation: Representation, hidden: Floats, size: int, seed: int, n_threads: int = 1
) -> tuple[LabelClusters, float]:
    """Return an index with the fewest probes that find 97% of the best labels of some rows.

    Its recall on these rows is returned as well.
    """
    index = LabelClusters.of(representation, seed, n_threads)
    exact = _listed(representation, hidden, size, n_threads)
    recall = 0.0
    for n_probe in PROBES:
        index = replace(index, n_probe=n_probe)
        recall = _overlap(exact, _listed(index, hidden, size, n_threads))
        if recall >= WANTED_RECALL or n_probe >= len(index.means):
            break
    return index, recall


def _listed(
    searched: LabelClusters | Representation, hidden: Floats, size: int, n_threads: int
) -> NDArray[np.int32]:
    """Return the best labels of every row that a search finds."""
    labels = np.empty((len(hidden), size), np.int32)
    scores = np.empty((len(hidden), size), np.float32)

    def work(start: int, stop: int) -> None:
        keys, counts, _ = searched.search(hidden[start:stop], size)
        cpu.take_best(size, keys, counts, labels[start:stop], scores[start:stop])

    for_blocks(work, len(hidden), SEARCHED_ROWS, n_threads)
    return labels


def _overlap(exact: NDArray[np.int32], found: NDArray[np.int32]) -> float:
    hits = sum(len(np.intersect1d(*pair)) for pair in zip(exact, found, strict=True))
    return hits / exact.size


def _cluster(
    representation: Representation, n_clusters: int, rng: np.random.Generator, n_threads: int
) -> NDArray[np.int64]:
    """Return the cluster of every label, by k-means on a sample of them."""
    vectors, bias = representation.labels, representation.label_bias
    n_sample = min(len(vectors), SAMPLE_PER_CLUSTER * n_clusters)
    chosen = rng.choice(len(vectors), n_sample, replace=False)
    sample = np.column_stack([vectors[chosen], bias[chosen]])
    centres = sample[:n_clusters].copy()
    for _ in range(LLOYD_STEPS):
        home = _nearest(sample[:, :-1], sample[:, -1], centres, n_threads)
        sizes = np.bincount(home, minlength=n_clusters)
        order = np.argsort(home, kind="stable")
        used = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[used]
        centres[used] = np.add.reduceat(sample[order], starts, axis=0) / sizes[used, None]
        empty = np.flatnonzero(sizes == 0)
        centres[empty] = sample[rng.choice(n_sample, len(empty))]
    return _nearest(vectors, bias, centres, n_threads)


def _nearest(vectors: Floats, bias: Floats, centres: Floats, n_threads: int) -> NDArray[np.int64]:
    """Return the nearest centre of every vector, in chunks whose products stay in the cache."""
    half = 0.5 * np.einsum("ij,ij->i", centres, centres)
    home = np.empty(len(vectors), np.int64)

    def work(start: int, stop: int) -> None:
        scores = np.column_stack([vectors[start:stop], bias[start:stop]]) @ centres.T
        scores -= half
        np.argmax(scores, axis=1, out=home[start:stop])

    for_blocks(work, len(vectors), CHUNK, n_threads)
    return home


def _split_large(home: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Cut clusters of more than four times the mean size, and number them without gaps.

    Labels without a row all have the same vector and would be one cluster.
    """
    most = max(1, int(LARGEST * len(home) / n_clusters))
    order = np.argsort(home, kind="stable")
    first = np.searchsorted(home[order], home[order])
    piece = np.empty(len(home), np.int64)
    piece[order] = (np.arange(len(home)) - first) // most
    _, numbers = np.unique(home * len(home) + piece, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).ravel()
