"""Search of the labels whose vectors suit a row best: among all of them, or in clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError
from rmls.core.options import check_whole
from rmls.core.resources import for_blocks
from rmls.kernels.backend import Vectors, get_backend

# Below, the product with all labels is as fast as a search in clusters (docs/research/ranker.md).
EXACT_LABELS = 50_000
SEARCHED_ROWS, DEVICE_ROWS = 128, 32_768
# Doubled until the recall suffices: all trials visit fewer than twice the clusters of the last.
PROBES = (8, 16, 32, 64, 128, 256)
WANTED_RECALL = 0.97

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]


class LabelIndex(Protocol):
    """What finds the best labels of a row; built by `build_index`, read by `read_index`."""

    @property
    def block_rows(self) -> int:
        """Rows to search at a time."""
        ...

    @property
    def n_probe(self) -> int | None:
        """Clusters that a search visits; None where it scores every label."""
        ...

    def search(self, hidden: Floats, size: int) -> tuple[Labels, Floats]:
        """Return the best ``size`` labels of every row and their scores, in the order of labels."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what an archive keeps, besides the vectors and ``n_probe``."""
        ...


@dataclass(frozen=True)
class ExactIndex:
    """Scores every label."""

    vectors: Vectors
    n_probe = None

    @property
    def block_rows(self) -> int:
        """Rows to search at a time; all scores of a block are never held."""
        # A product with a tile of labels stays in the cache; a device wants all it can get.
        return 256 if self.vectors.device == "cpu" else DEVICE_ROWS

    def search(self, hidden: Floats, size: int) -> tuple[Labels, Floats]:
        """Return the best labels of all."""
        return self.vectors.best(hidden, size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return nothing: the vectors are all there is."""
        return {}


@dataclass(frozen=True)
class ClusterIndex:
    """Scores the mean vector of every cluster of labels, then the labels of the best clusters.

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
        Clusters that a search visits, at least.
    device : str
    """

    means: Floats
    mean_bias: Floats
    indptr: NDArray[np.int64]
    labels: Labels
    vectors: Floats
    bias: Floats
    n_probe: int = PROBES[0]
    device: str = "cpu"
    # The more rows are searched together, the more of them share a cluster.
    block_rows = 2048

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        indptr: NDArray[np.int64],
        labels: Labels,
        n_probe: int = PROBES[0],
    ) -> ClusterIndex:
        """Return the index of given clusters."""
        own, bias = vectors.params.L[labels], vectors.params.c[labels]
        sizes = np.diff(indptr).astype(np.float32)
        # The mean score of the labels of a cluster is the score of their mean vector: both are
        # linear.
        means = np.add.reduceat(own, indptr[:-1], axis=0) / sizes[:, None]
        mean_bias = np.add.reduceat(bias, indptr[:-1]) / sizes
        return cls(
            np.asarray(means, dtype=np.float32),
            np.asarray(mean_bias, dtype=np.float32),
            indptr,
            labels,
            own,
            bias,
            n_probe,
            vectors.device,
        )

    def search(self, hidden: Floats, size: int) -> tuple[Labels, Floats]:
        """Return the best labels of the clusters that suit a row best.

        Rows that visit the same cluster are scored together.
        """
        backend = get_backend(self.device)
        found = backend.select(len(hidden), size)
        scores = backend.scores(hidden, self.means, self.mean_bias)
        for cluster, rows in self._visits(scores, size):
            part = slice(self.indptr[cluster], self.indptr[cluster + 1])
            tile = backend.scores(hidden[rows], self.vectors[part], self.bias[part])
            found.offer(tile, self.labels[part], rows)
        return found.take()

    def _visits(self, scores: Floats, size: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the clusters to visit and their rows: the best of each, until they hold enough."""
        sizes = np.diff(self.indptr)
        # Every cluster holds a label, so that no more than these are looked at.
        limit = min(max(self.n_probe, size), len(self.means))
        order = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
        by_score = np.argsort(-np.take_along_axis(scores, order, axis=1), axis=1)
        order = np.take_along_axis(order, by_score, axis=1)
        # Further clusters are visited while the earlier ones hold fewer labels than the list is
        # long.
        before = np.cumsum(sizes[order], axis=1) - sizes[order]
        wanted = (np.arange(limit) < self.n_probe) | (before < size)
        rows = np.broadcast_to(np.arange(len(order))[:, None], order.shape)[wanted]
        clusters = order[wanted]
        # From rows with clusters to clusters with rows: one product scores all rows of a visit.
        by_cluster = np.argsort(clusters, kind="stable")
        found, starts = np.unique(clusters[by_cluster], return_index=True)
        for cluster, part in zip(found, np.split(rows[by_cluster], starts[1:]), strict=True):
            yield int(cluster), part

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the clusters."""
        return {"cluster_indptr": self.indptr, "cluster_labels": self.labels}


Index = ExactIndex | ClusterIndex


def build_index(
    kind: str, vectors: Vectors, hidden: Floats, size: int, seed: int, n_threads: int = 1
) -> tuple[Index, float]:
    """Return an index of the kind ``"exact"``, ``"clusters"`` or ``"auto"``, and its recall.

    The recall is the share of the best ``size`` labels of some rows that it finds. Of the index in
    clusters, it is that with the fewest probes that find 97% of them.
    """
    exact = ExactIndex(vectors)
    if kind == "exact" or (kind == "auto" and vectors.n_labels <= EXACT_LABELS):
        return exact, 1.0
    from rmls.models.ranker.label_clusters import cluster_labels

    index = ClusterIndex.of(vectors, *cluster_labels(vectors.params, seed, n_threads))
    wanted = _search_all(exact, hidden, size, n_threads)
    recall = 0.0
    # The exact lists of a few rows are affordable, and tell how many clusters to visit.
    for n_probe in PROBES:
        index = replace(index, n_probe=n_probe)
        recall = _overlap(wanted, _search_all(index, hidden, size, n_threads))
        if recall >= WANTED_RECALL or n_probe >= len(index.means):
            break
    return index, recall


def read_index(archive: Archive, vectors: Vectors, n_probe: Any) -> Index:
    """Read the clusters of labels of an archive; without ``n_probe`` it has none."""
    if n_probe is None:
        return ExactIndex(vectors)
    check_whole("n_probe", n_probe, 1)
    m = vectors.n_labels
    check_arrays(
        archive, {"cluster_indptr": (np.int64, (None,)), "cluster_labels": (np.int32, (m,))}
    )
    indptr, labels = archive.arrays["cluster_indptr"], archive.arrays["cluster_labels"]
    good = len(indptr) > 1 and indptr[0] == 0 and indptr[-1] == m
    good = good and bool((indptr[1:] > indptr[:-1]).all())
    if not good or not np.array_equal(np.sort(labels), np.arange(m)):
        raise ArchiveError(f"{archive.path} is damaged: the clusters do not hold every label once.")
    return ClusterIndex.of(vectors, indptr, labels, n_probe)


def _search_all(index: LabelIndex, hidden: Floats, size: int, n_threads: int) -> Labels:
    """Return the best labels of every row that a search finds."""
    found = for_blocks(
        lambda start, stop: index.search(hidden[start:stop], size)[0],
        len(hidden),
        SEARCHED_ROWS,
        n_threads,
    )
    return np.concatenate(found)


def _overlap(exact: Labels, found: Labels) -> float:
    hits = sum(len(np.intersect1d(*pair)) for pair in zip(exact, found, strict=True))
    return hits / exact.size
