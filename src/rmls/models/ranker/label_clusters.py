"""Clusters of label vectors, by k-means on a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmls.core.resources import for_blocks
from rmls.kernels.arrays import Params

# Clusters only limit a search whose recall is measured: they need not converge.
LLOYD_STEPS = 8
# A step costs 64 sqrt(m) x sqrt(m) distances instead of m x sqrt(m).
SAMPLE_PER_CLUSTER = 64
CHUNK = 1024
LARGEST = 4.0
# Stream of random numbers of a seed: the second word of the key.
CLUSTERS = 2**35

Floats = NDArray[np.float32]


def cluster_labels(
    params: Params, seed: int, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return about ``sqrt(n_labels)`` clusters: where each begins, and the labels one by one.

    The bias of a label is one more coordinate of its vector.
    """
    # With sqrt(m) clusters of sqrt(m) labels, the means cost as much as one visited cluster.
    n_clusters = max(1, round(np.sqrt(len(params.L))))
    rng = np.random.Generator(np.random.Philox(key=[seed, CLUSTERS]))
    home = _split_large(_cluster(params, n_clusters, rng, n_threads), n_clusters)
    labels = np.argsort(home, kind="stable").astype(np.int32)
    return np.concatenate([[0], np.cumsum(np.bincount(home))]).astype(np.int64), labels


def _cluster(
    params: Params, n_clusters: int, rng: np.random.Generator, n_threads: int
) -> NDArray[np.int64]:
    """Return the cluster of every label, by k-means on a sample of them."""
    vectors, bias = params.L, params.c
    n_sample = min(len(vectors), SAMPLE_PER_CLUSTER * n_clusters)
    chosen = rng.choice(len(vectors), n_sample, replace=False)
    sample = np.column_stack([vectors[chosen], bias[chosen]])
    # The sample is in random order: its first vectors are random distinct labels.
    centres = sample[:n_clusters].copy()
    for _ in range(LLOYD_STEPS):
        home = _nearest(sample[:, :-1], sample[:, -1], centres, n_threads)
        sizes = np.bincount(home, minlength=n_clusters)
        # Sorted by cluster, sums are runs of rows: one `reduceat` instead of a scattered addition.
        order = np.argsort(home, kind="stable")
        used = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[used]
        centres[used] = np.add.reduceat(sample[order], starts, axis=0) / sizes[used, None]
        # A centre that nobody is near begins anew at a random label.
        empty = np.flatnonzero(sizes == 0)
        centres[empty] = sample[rng.choice(n_sample, len(empty))]
    return _nearest(vectors, bias, centres, n_threads)


def _nearest(vectors: Floats, bias: Floats, centres: Floats, n_threads: int) -> NDArray[np.int64]:
    """Return the nearest centre of every vector, in chunks whose products stay in the cache."""
    # argmin |v - c|^2 = argmax v . c - |c|^2 / 2: one product with all centres.
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
    # The cost of a visit is the size of the cluster; this bounds the worst.
    limit = max(1, int(LARGEST * len(home) / n_clusters))
    order = np.argsort(home, kind="stable")
    first = np.searchsorted(home[order], home[order])
    piece = np.empty(len(home), np.int64)
    piece[order] = (np.arange(len(home)) - first) // limit
    # (cluster, piece) as one number; pieces are fewer than labels, so that no two collide.
    _, numbers = np.unique(home * len(home) + piece, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).ravel()
