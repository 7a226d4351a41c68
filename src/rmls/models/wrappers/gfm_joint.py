"""Where GFM has ``P(y_j = 1, |y| = s)`` from: a 0/1 problem, and back from its probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError

Floats = NDArray[np.float32]

# Sums of estimated probabilities may pass 1.
CERTAIN = np.float32(1 - 1e-6)
# Rows that the sizes of an average label are worth, against a label's own.
SHRINKAGE = 5.0


class LabelSizes(NamedTuple):
    """A column for every label that occurs and one for every size, which the label moves.

    ``P(|y| = s | y_j = 1, x)`` is taken proportional to ``P(|y| = s | x)`` times the lift
    ``P(|y| = s | y_j = 1) / P(|y| = s)``.

    Attributes
    ----------
    place : ndarray of int32, shape (n_labels,)
        Column of every label, -1 where it does not occur.
    lifts : ndarray of float32, shape (n_occurring, n_sizes)
    sizes : ndarray of float32, shape (n_sizes,)
        Number of labels that a bin of sizes stands for.
    """

    place: NDArray[np.int32]
    lifts: Floats
    sizes: Floats

    @classmethod
    def of(
        cls, Y: sparse.csr_matrix, weights: NDArray[np.float64], max_sizes: int
    ) -> tuple[LabelSizes, sparse.csr_matrix]:
        """Return the sizes and the problem to learn."""
        counts = np.diff(Y.indptr)
        bin_of, sizes = _bins(counts, weights * counts, max_sizes)
        used = np.flatnonzero(counts)
        shape = (int(Y.shape[0]), len(sizes))
        ones = np.ones(len(used), np.int32)
        of_row = sparse.csr_matrix((ones, (used, bin_of[counts[used]])), shape=shape)
        weighted = sparse.diags(weights) @ of_row
        occurring, columns = np.unique(Y.indices, return_inverse=True)
        shape = (int(Y.shape[0]), len(occurring))
        Y_small = sparse.csr_matrix((Y.data, columns, Y.indptr), shape=shape)
        together = (Y_small.T @ weighted).toarray()
        # Rare labels are moved as an average label is.
        usual = together.sum(axis=0) / max(together.sum(), 1e-12)
        n_rows = together.sum(axis=1, keepdims=True)
        own = (together + SHRINKAGE * usual) / (n_rows + SHRINKAGE)
        every = np.asarray(weighted.sum(axis=0)).ravel() / max(weights[used].sum(), 1e-12)
        lifts = (own / np.where(every > 0, every, 1)).astype(np.float32)
        place = np.full(int(Y.shape[1]), -1, np.int32)
        place[occurring] = np.arange(len(occurring))
        return cls(place, lifts, sizes), sparse.hstack([Y_small, of_row], format="csr")

    def chances(self, columns: Floats) -> Floats:
        """Return the probabilities of the labels."""
        result = np.zeros((len(columns), len(self.place)), np.float32)
        result[:, self.place >= 0] = np.minimum(columns[:, : len(self.lifts)], CERTAIN)
        return result

    def table(self, columns: Floats, labels: NDArray[np.int32]) -> Floats:
        """Return the joint probabilities of some labels of every row, (rows, labels, sizes)."""
        if not len(self.lifts):
            return np.zeros((*labels.shape, len(self.sizes)), np.float32)
        of_size = np.maximum(columns[:, len(self.lifts) :], np.finfo(np.float32).tiny)
        places = self.place[labels]
        shares = of_size[:, None, :] * self.lifts[places]
        shares /= np.maximum(shares.sum(axis=2, keepdims=True), np.finfo(np.float32).tiny)
        own = np.minimum(np.take_along_axis(columns, np.maximum(places, 0), axis=1), CERTAIN)
        found: Floats = np.where(places >= 0, own, np.float32(0))[:, :, None] * shares
        return found

    def check(self, n_labels: int, n_columns: int) -> None:
        """Refuse sizes that do not fit the labels and the columns of a problem."""
        found = self.place[self.place >= 0]
        good = self.lifts.shape == (len(found), len(self.sizes)) and bool((self.sizes > 0).all())
        good = good and len(self.place) == n_labels and n_columns == sum(self.lifts.shape)
        good = good and bool((found == np.arange(len(found))).all())
        if not good or not (self.lifts >= 0).all():
            raise InputError("the sizes do not fit the labels")


class Pairs(NamedTuple):
    """One column for every pair of a label and a size that occurs: the reduction of the paper.

    Attributes
    ----------
    labels, bins : ndarray of int32, shape (n_pairs,)
    sizes : ndarray of float32, shape (n_bins,)
        Number of labels that a bin stands for.
    """

    labels: NDArray[np.int32]
    bins: NDArray[np.int32]
    sizes: Floats
    n_labels: NDArray[np.int32]

    @classmethod
    def of(
        cls, Y: sparse.csr_matrix, weights: NDArray[np.float64], max_sizes: int
    ) -> tuple[Pairs, sparse.csr_matrix]:
        """Return the pairs and the problem to learn, which has as many entries as ``Y``.

        Examples
        --------
        >>> Y = sparse.csr_matrix([[1, 0], [1, 1], [1, 1]])
        >>> pairs, problem = Pairs.of(Y, np.ones(3), max_sizes=8)
        >>> list(zip(pairs.labels.tolist(), pairs.sizes[pairs.bins].tolist()))
        [(0, 1.0), (0, 2.0), (1, 2.0)]
        >>> problem.toarray().tolist()
        [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
        """
        counts = np.diff(Y.indptr)
        bin_of, sizes = _bins(counts, weights * counts, max_sizes)
        names = Y.indices.astype(np.int64) * len(sizes) + np.repeat(bin_of[counts], counts)
        # A problem without any label still needs a column.
        pairs, columns = np.unique(names if len(names) else [0], return_inverse=True)
        ones = np.ones(Y.nnz, np.int32)
        shape = (int(Y.shape[0]), len(pairs))
        problem = sparse.csr_matrix((ones, columns[: Y.nnz], Y.indptr), shape=shape)
        problem.sort_indices()
        labels, bins = np.divmod(pairs, len(sizes))
        n_labels = np.array([Y.shape[1]], np.int32)
        return cls(labels.astype(np.int32), bins.astype(np.int32), sizes, n_labels), problem

    def chances(self, columns: Floats) -> Floats:
        """Return the probabilities of the labels; the pairs of a label exclude each other."""
        shape = (int(self.n_labels[0]), len(self.labels))
        ones = np.ones(len(self.labels), np.float32)
        places = (self.labels, np.arange(len(self.labels)))
        summed = sparse.csr_matrix((ones, places), shape=shape) @ columns.T
        return np.ascontiguousarray(np.minimum(summed.T, CERTAIN))

    def table(self, columns: Floats, labels: NDArray[np.int32]) -> Floats:
        """Return the joint probabilities of some labels of every row, (rows, labels, sizes)."""
        column_of = np.full((int(self.n_labels[0]), len(self.sizes)), -1, np.int32)
        column_of[self.labels, self.bins] = np.arange(len(self.labels))
        wanted = column_of[labels]
        rows = np.arange(len(columns))[:, None, None]
        found: Floats = np.where(wanted >= 0, columns[rows, wanted], np.float32(0))
        return found

    def check(self, n_labels: int, n_columns: int) -> None:
        """Refuse pairs that do not fit the labels and the columns of a problem."""
        labels, bins, sizes, own = self
        good = labels.shape == bins.shape == (n_columns,) and own.tolist() == [n_labels]
        good = good and 0 <= labels.min() <= labels.max() < n_labels and bool((sizes > 0).all())
        if not good or not 0 <= bins.min() <= bins.max() < len(sizes):
            raise InputError("the pairs of labels and sizes do not fit the labels")


def _bins(
    counts: NDArray[Any], entries: NDArray[np.float64], max_sizes: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return the bin of every number of labels, and the mean number of every bin."""
    total = np.bincount(counts, entries)
    present = np.flatnonzero(total)
    if not len(present):
        return np.zeros(len(total), np.int64), np.ones(1, np.float32)
    # Bins of about equal numbers of entries: common sizes stand alone, rare large ones share a bin.
    middle = (np.cumsum(total[present]) - total[present] / 2) / total.sum()
    n_bins = min(max_sizes, len(present))
    wanted = np.arange(len(present)) if n_bins == len(present) else (middle * n_bins).astype(int)
    _, bins = np.unique(wanted, return_inverse=True)
    means = np.bincount(bins, total[present] * present) / np.bincount(bins, total[present])
    of_count = np.zeros(len(total), np.int64)
    of_count[present] = bins
    return of_count, means.astype(np.float32)
