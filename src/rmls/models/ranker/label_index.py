"""Search of the labels whose vectors suit a row best.

All of them are scored, or all by the leading directions of their vectors and the best of these by
all directions, or those in the clusters that suit the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError
from rmls.core.options import check_whole, is_auto
from rmls.core.resources import for_blocks
from rmls.kernels.arrays import Leading
from rmls.kernels.backend import Vectors, get_backend
from rmls.models.ranker.sources import CROSS_FIT_ROWS

# Lists of "auto": 500 where these miss many labels, and 100 of few labels, which find about as
# much as 150. Where no rows are held out, nobody would see what they miss.
SHORT, LONG, SHORTER, FEW_LABELS = 150, 500, 100, 1_000
# Below, the product with all labels is as fast as any search (docs/research/ranker.md).
EXACT_LABELS = 4_000
# Below, a search by leading directions is as fast as one in clusters.
LEADING_LABELS = 50_000
SEARCHED_ROWS, DEVICE_ROWS = 128, 32_768
RECALL_ROWS = 256
# Doubled until the recall suffices: all trials visit fewer than twice the clusters of the last.
PROBES = (8, 16, 32, 64, 128, 256)
WANTED_RECALL = 0.97
# Leading directions to try, and the recall that lets a search stop at them; with the bias as one
# more number, vectors fill whole registers.
DIRECTIONS, LEADING_RECALL = (31, 47, 63, 79), 0.99
# Of the directions in which rows hardly differ, nothing is known.
RIDGE = 1e-6

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
class LeadingIndex:
    """Scores every label by the leading directions of vectors, then the best of these by all.

    With the second moments M of rows and N of labels, the mean square of all scores is the trace of
    M N. For M = K K' and the eigenvectors U of K' N K, rows ``h K'^-1 U`` and labels ``l K U`` have
    the products of before, and no other cut to as many numbers keeps more of that mean square.

    Attributes
    ----------
    vectors : Vectors
    cut_rows : ndarray of float32, shape (k, n_directions)
    cut_labels : ndarray of float32, shape (k, n_directions + 1)
        What becomes of vectors of rows and labels. The last column is the mean vector of rows.
    leading : Leading
        All labels so cut.
    """

    vectors: Vectors
    cut_rows: Floats
    cut_labels: Floats
    leading: Leading
    n_probe = None
    block_rows = 256

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        cut_rows: Floats,
        cut_labels: Floats,
        equals: tuple[NDArray[np.int64], Labels] | None = None,
    ) -> LeadingIndex:
        """Return the index of given directions; ``equals`` is what `link_equals` has found."""
        firsts, following = equals or link_equals(vectors.params.L, vectors.params.c)
        bias = vectors.params.c[firsts]
        cut = vectors.params.L[firsts] @ cut_labels
        # The sooner good labels are seen, the fewer of the others are worth a second look.
        order = np.argsort(-(cut[:, -1] + bias), kind="stable")
        cut[:, -1] = bias
        found = cut[order], firsts[order].astype(np.int32), following
        return cls(vectors, cut_rows, cut_labels, Leading(np.ascontiguousarray(cut_rows), *found))

    @classmethod
    def fit(
        cls, vectors: Vectors, hidden: Floats, directions: Sequence[int]
    ) -> Iterator[LeadingIndex]:
        """Yield indexes by so many of the directions that lead in scores of some rows."""
        rows, labels = hidden.astype(np.float64), vectors.params.L
        moment = rows.T @ rows / max(len(rows), 1)
        ridge = RIDGE * max(np.trace(moment), RIDGE) * np.eye(len(moment))
        root = np.linalg.cholesky(moment + ridge)
        _, found = np.linalg.eigh(root.T @ (labels.T @ labels).astype(np.float64) @ root)
        found = found[:, ::-1]
        ways = root @ found, np.linalg.solve(root.T, found)
        equals = link_equals(labels, vectors.params.c)
        for count in directions:
            cut_labels, cut_rows = (way[:, :count] for way in ways)
            cut_labels = np.column_stack([cut_labels, rows.mean(axis=0)])
            both = cut_rows.astype(np.float32), cut_labels.astype(np.float32)
            yield cls.of(vectors, *both, equals)

    def search(self, hidden: Floats, size: int) -> tuple[Labels, Floats]:
        """Return the best labels of those that lead."""
        params = self.vectors.params
        backend = get_backend(self.vectors.device)
        return backend.best_leading(hidden, params.L, params.c, self.leading, size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the directions."""
        return {"leading_rows": self.cut_rows, "leading_labels": self.cut_labels}


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


Index = ExactIndex | LeadingIndex | ClusterIndex


def list_lengths(wanted: Any, n_rows: int, n_labels: int) -> tuple[int, int]:
    """Return how long lists are, and how long they get where they miss many labels; 0 for never.

    Examples
    --------
    >>> list_lengths("auto", 10_000, 20_000), list_lengths("auto", 10_000, 400)
    ((150, 500), (100, 400))
    """
    if not is_auto(wanted):
        return min(int(wanted), n_labels), 0
    few = SHORT < n_labels <= FEW_LABELS and n_rows > CROSS_FIT_ROWS
    return min(SHORTER if few else SHORT, n_labels), min(LONG, n_labels)


def link_equals(vectors: Floats, bias: Floats) -> tuple[NDArray[np.int64], Labels]:
    """Return the first label of every vector and bias, and for all labels the next with the same.

    Examples
    --------
    >>> link_equals(np.float32([[1, 2], [3, 4], [1, 2], [1, 2]]), np.float32([5, 5, 5, 6]))
    (array([0, 1, 3]), array([ 2, -1, -1, -1], dtype=int32))
    >>> link_equals(np.float32([[1, 2], [3, 4]]), np.float32([5, 5]))[1]
    array([], dtype=int32)
    """
    rows = np.column_stack([vectors, bias])
    prints = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, firsts, groups = np.unique(prints, return_index=True, return_inverse=True)
    if len(firsts) == len(rows):
        return np.arange(len(rows)), np.zeros(0, np.int32)
    following = np.full(len(rows), -1, np.int32)
    order = np.argsort(groups, kind="stable")
    same = groups[order[1:]] == groups[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return np.sort(firsts), following


def build_index(
    kind: str, vectors: Vectors, hidden: Floats, size: int, seed: int, n_threads: int = 1
) -> tuple[Index, float]:
    """Return an index of the kind that the option ``index`` names, and its recall.

    The recall is the share of the best ``size`` labels of some rows that it finds. An index by
    leading directions has the fewest of them that find 99%, one in clusters the fewest probes
    that find 97%.
    """
    index: Index = ExactIndex(vectors)
    exact, n_labels = index, vectors.n_labels
    if kind == "auto":
        # On a device the product with all labels is cheap.
        small = n_labels <= (EXACT_LABELS if vectors.device == "cpu" else LEADING_LABELS)
        kind = "exact" if small else "leading" if n_labels <= LEADING_LABELS else "clusters"
    if kind == "exact":
        return exact, 1.0
    # The exact lists of a few rows are affordable, and tell how far to search.
    few = hidden[:RECALL_ROWS]
    wanted = _search_all(exact, few, size, n_threads)
    trials, enough = _leading(vectors, hidden), LEADING_RECALL
    if kind == "clusters":
        trials, enough = _clusters(vectors, seed, n_threads), WANTED_RECALL
    recall = 0.0
    for index in trials:
        recall = _overlap(wanted, _search_all(index, few, size, n_threads))
        if recall >= enough:
            return index, recall
    return (index, recall) if kind == "clusters" else (exact, 1.0)


def _leading(vectors: Vectors, hidden: Floats) -> Iterator[Index]:
    """Yield indexes by more and more directions, but fewer than there are."""
    n_components = vectors.params.L.shape[1]
    return LeadingIndex.fit(vectors, hidden, [n for n in DIRECTIONS if n < n_components])


def _clusters(vectors: Vectors, seed: int, n_threads: int) -> Iterator[Index]:
    """Yield indexes that visit more and more clusters."""
    from rmls.models.ranker.label_clusters import cluster_labels

    index = ClusterIndex.of(vectors, *cluster_labels(vectors.params, seed, n_threads))
    for n_probe in PROBES:
        yield replace(index, n_probe=n_probe)
        if n_probe >= len(index.means):
            break


def read_index(archive: Archive, vectors: Vectors, n_probe: Any) -> Index:
    """Read the directions or clusters of an archive, if it has any."""
    m, k = vectors.params.L.shape
    if n_probe is None and "leading_rows" not in archive.arrays:
        return ExactIndex(vectors)
    if n_probe is None:
        check_arrays(archive, {"leading_rows": (np.float32, (k, None))})
        cut_rows = archive.arrays["leading_rows"]
        n_directions = cut_rows.shape[1]
        check_arrays(archive, {"leading_labels": (np.float32, (k, n_directions + 1))})
        return LeadingIndex.of(vectors, cut_rows, archive.arrays["leading_labels"])
    check_whole("n_probe", n_probe, 1)
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
