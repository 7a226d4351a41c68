"""Lists of labels by row: found, scored, combined, ranked, and made into lists of rows by label."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.arrays import N_TERMS, Leading, Pairs
from rmls.kernels.backend import read_only
from rmls.kernels.cpu.linalg.buckets import rank_by_bucket
from rmls.kernels.cpu.linalg.entries import add_sparse
from rmls.kernels.cpu.linalg.select import (
    offer_scores,
    room_for,
    take_best,
    take_best_again,
)
from rmls.kernels.cpu.ranker.lookup import add_looked_up
from rmls.kernels.cpu.ranker.names import make_room
from rmls.kernels.jit import njit

TILE_LABELS, TILE_ROWS = 512, 64
# Labels whose scores tell what it takes to be among the best.
SAMPLE = 512
# Weights of a feature for every listed label from which on these are looked up.
LOOKED_UP = 3
# Numbers that are cleared one after another in the time of one that is looked up.
CLEARED_AT_ONCE = 8
# Rows that a number of two bytes tells apart.
FEW_ROWS = 1 << 16

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]


@njit(cache=True, inline="always")
def mix_scores(coefficients, knots, label, own, other):
    """Return the combined score of one label."""
    zero = np.float32(0.0)
    return (
        coefficients[label, 0]
        + coefficients[label, 1] * own
        + coefficients[label, 2] * max(own - knots[0], zero)
        + coefficients[label, 3] * max(own - knots[1], zero)
        + coefficients[label, 4] * other
        + coefficients[label, 5] * max(other - knots[2], zero)
    )


@njit(cache=True, nogil=True, fastmath=True)
def score_listed(
    x_indptr, x_indices, x_data, weights, tables, listed, first_row, start, stop, sums, out
):
    """Write ``w_j . x + b_j`` for the listed labels of rows ``start`` to ``stop``.

    The weights of a row's features are added up for all labels at once: they are few, while the
    labels that are listed tend to be those with the most weights. Of a feature with many more
    weights than labels are listed, these are looked up. ``listed`` and ``out`` begin with row
    ``first_row`` of the features; ``sums`` is working memory of one number a label, zero before
    and after.
    """
    indptr, indices, values = weights.indptr, weights.indices, weights.values
    scale, bias = weights.scale, weights.bias
    many = LOOKED_UP * listed.shape[1] if len(tables.entries) else np.int64(len(indices) + 1)
    for row in range(start, stop):
        visited = 0
        labels, found = listed[row - first_row], out[row - first_row]
        found[:] = np.float32(0.0)
        for position in range(x_indptr[row], x_indptr[row + 1]):
            feature, value = x_indices[position], np.float32(x_data[position])
            first, last = indptr[feature], indptr[feature + 1]
            if last - first >= many and tables.numbers[feature] >= 0:
                entries = tables.entries[tables.numbers[feature]]
                add_looked_up(entries, values, first, value, labels, found)
                continue
            add_sparse(indices, values, first, last, value, sums)
            visited += last - first
        for place in range(len(labels)):
            label = labels[place]
            found[place] = (sums[label] + found[place]) * scale[label] + bias[label]
        # Clear what was touched, or all of it where that takes less: in order it is a lot faster.
        if CLEARED_AT_ONCE * visited > len(sums):
            sums[:] = np.float32(0.0)
            continue
        for position in range(x_indptr[row], x_indptr[row + 1]):
            feature = x_indices[position]
            first, last = indptr[feature], indptr[feature + 1]
            if last - first >= many and tables.numbers[feature] >= 0:
                continue
            for place in range(np.uint64(first), np.uint64(last)):
                sums[indices[place]] = np.float32(0.0)


@njit(cache=True, nogil=True)
def mix_listed(listed, scores, mixture, out):
    """Write the combined score of every listed label; ``out`` may be ``scores.own``."""
    coefficients, knots = mixture.coefficients, mixture.knots
    n_more = scores.more.shape[2]
    for row in range(len(listed)):
        for place in range(listed.shape[1]):
            label = listed[row, place]
            score = mix_scores(
                coefficients, knots, label, scores.own[row, place], scores.other[row, place]
            )
            for column in range(n_more):
                score += coefficients[label, N_TERMS + column] * scores.more[row, place, column]
            out[row, place] = score


@njit(cache=True, nogil=True)
def rank_listed(listed, scores, places, keys, labels_out, scores_out):
    """Write the best of the listed labels of every row, best first.

    ``places`` and ``keys`` are working memory as in `rank_by_bucket`.
    """
    # The best places of the lists first, then the labels that stand there.
    rank_by_bucket(scores, places, keys, labels_out, scores_out)
    for row in range(len(listed)):
        for place in range(labels_out.shape[1]):
            labels_out[row, place] = listed[row, labels_out[row, place]]


@njit(cache=True, nogil=True)
def _count(y_indptr, y_indices, listed, part, n_relevant, n_pairs):
    """Count the relevant rows and all rows of some labels; a relevant label may not be listed."""
    first, last = part
    # stamp[label] is the last row that has the label: nothing to clear between rows.
    stamp = np.full(len(n_pairs), -1, np.int64)
    for row in range(len(listed)):
        for position in range(y_indptr[row], y_indptr[row + 1]):
            label = y_indices[position]
            if first <= label < last:
                stamp[label] = row
                n_relevant[label] += 1
                n_pairs[label] += 1
        for label in listed[row]:
            if first <= label < last and stamp[label] != row:
                n_pairs[label] += 1


@njit(cache=True, nogil=True)
def _fill(y_indptr, y_indices, listed, part, indptr, n_relevant, rows):
    """Write the rows of some labels, relevant ones first."""
    m, (first, last) = len(n_relevant), part
    # A counting sort: where the next relevant and the next other row of each label are written.
    stamp = np.full(m, -1, np.int64)
    relevant = indptr[:m].copy()
    irrelevant = indptr[:m] + n_relevant
    for row in range(len(listed)):
        for position in range(y_indptr[row], y_indptr[row + 1]):
            label = y_indices[position]
            if first <= label < last:
                stamp[label] = row
                rows[relevant[label]] = row
                relevant[label] += 1
        for label in listed[row]:
            if first <= label < last and stamp[label] != row:
                rows[irrelevant[label]] = row
                irrelevant[label] += 1


def pair_rows(y_indptr, y_indices, listed, n_labels, zeros=np.zeros, part=None):
    """Return for every label the rows that have it and the rows that list it.

    Parameters
    ----------
    y_indptr, y_indices : ndarray of int64 and int32
        Relevant labels of the rows, a CSR pattern.
    listed : ndarray of int32 or uint16, shape (n_rows, k)
        Labels that look relevant; -1 stands for none.
    n_labels : int
    zeros : callable
        Makes the array of the rows.
    part : tuple of int, optional
        The first of the labels to pair and the one after the last; all others get no rows.

    Returns
    -------
    Pairs

    Examples
    --------
    >>> listed = np.int32([[0, 1], [1, 2]])
    >>> pairs = pair_rows(np.int64([0, 1, 2]), np.int32([0, 2]), listed, 3)
    >>> pairs.rows.tolist(), pairs.indptr.tolist(), pairs.n_relevant.tolist()
    ([0, 0, 1, 1], [0, 1, 3, 4], [1, 0, 1])
    """
    n_relevant, n_pairs = np.zeros((2, n_labels), np.int64)
    part = part or (0, n_labels)
    _count(y_indptr, y_indices, listed, part, n_relevant, n_pairs)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_pairs)])
    rows = zeros(int(indptr[-1]), np.uint16 if len(listed) <= FEW_ROWS else np.int32)
    _fill(y_indptr, y_indices, listed, part, indptr, n_relevant, rows)
    return Pairs(indptr, rows, n_relevant)


def all_pairs(relevant, first, last, n_rows):
    """Return all rows for every one of some labels, the relevant ones in front."""
    parts = []
    for label in range(first, last):
        own = relevant.rows[relevant.indptr[label] : relevant.indptr[label + 1]]
        others = np.ones(n_rows, dtype=bool)
        others[own] = False
        parts += [own, np.flatnonzero(others).astype(np.int32)]
    indptr = n_rows * np.arange(last - first + 1, dtype=np.int64)
    return Pairs(indptr, np.concatenate(parts), relevant.n_relevant[first:last])


@njit(cache=True, nogil=True)
def _turn(starts, lengths, indices, values, places, labels_out, values_out):
    """Write the weights by feature; ``places`` says where the next one of every feature goes."""
    for label in range(len(starts)):
        for position in range(starts[label], starts[label] + lengths[label]):
            place = places[indices[position]]
            places[indices[position]] = place + 1
            labels_out[place] = label
            values_out[place] = values[position]


def turn_weights(starts, lengths, indices, values, n_features, label_type):
    """Return weights by feature from weights by label.

    Parameters
    ----------
    starts, lengths : ndarray of int64, shape (n_labels,)
        Where the weights of a label are; others are left out.
    indices, values : ndarray of unsigned integers and float32
        Features and their weights.
    n_features : int
    label_type : type
        Of the label numbers.

    Returns
    -------
    indptr, labels, values : ndarray
        In the order of the features, and of the labels within one.

    Examples
    --------
    >>> starts, lengths = np.int64([1, 0]), np.int64([2, 1])
    >>> found = turn_weights(starts, lengths, np.uint16([2, 0, 2]), np.float32([5, 6, 7]), 3, "u2")
    >>> [part.tolist() for part in found]
    [[0, 1, 1, 3], [0, 0, 1], [6.0, 7.0, 5.0]]
    """
    indptr = np.zeros(n_features + 1, np.int64)
    _count_features(starts, lengths, indices, indptr[1:])
    np.cumsum(indptr, out=indptr)
    labels, turned = np.empty(indptr[-1], label_type), np.empty(indptr[-1], np.float32)
    _turn(starts, lengths, indices, values, indptr[:-1].copy(), labels, turned)
    return indptr, labels, turned


@njit(cache=True, nogil=True)
def _count_features(starts, lengths, indices, counts):
    """Add the number of weights of every feature to ``counts``."""
    for label in range(len(starts)):
        for position in range(starts[label], starts[label] + lengths[label]):
            counts[indices[position]] += 1


@njit(cache=True, nogil=True)
def mark_relevant(y_indptr, y_indices, listed, n_labels, out):
    """Write which of the listed labels are relevant."""
    stamp = np.full(n_labels, -1, np.int64)
    for row in range(len(listed)):
        for position in range(y_indptr[row], y_indptr[row + 1]):
            stamp[y_indices[position]] = row
        for place in range(listed.shape[1]):
            out[row, place] = stamp[listed[row, place]] == row


class Scratch(threading.local):
    """Working memory of one thread, zero between calls: none is made for the next row."""

    def __init__(self) -> None:
        self._sums, self._places = np.zeros(0, np.float32), np.zeros(0, np.int64)
        self._numbers = np.zeros(0, np.int32)
        self._buckets = (np.zeros(0, np.uint8), np.zeros(0, np.int64))
        self._names: Any = None
        self._sizes = (0, 0)

    def sums(self, n_labels: int) -> NDArray[np.float32]:
        """Return a number for each of at least so many labels."""
        if len(self._sums) < n_labels:
            self._sums = np.zeros(n_labels, np.float32)
        return self._sums

    def places(self, n_labels: int) -> NDArray[np.int64]:
        """Return a place for each of at least so many labels."""
        if len(self._places) < n_labels:
            self._places = np.zeros(n_labels, np.int64)
        return self._places

    def numbers(self, n_labels: int) -> NDArray[np.int32]:
        """Return the numbers from 0 to below so many; they are only read."""
        if len(self._numbers) < n_labels:
            self._numbers = np.arange(n_labels, dtype=np.int32)
        return self._numbers[:n_labels]

    def buckets(self, n_labels: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return a bucket and a key for each of at least so many labels, and one key more."""
        if len(self._buckets[0]) < n_labels:
            self._buckets = np.empty(n_labels, np.uint8), np.empty(n_labels + 1, np.int64)
        return self._buckets

    def names(self, n_names: int, n_labels: int) -> Any:
        """Return the room of at least so many names and labels."""
        if n_names > self._sizes[0] or n_labels > self._sizes[1]:
            self._sizes = (max(n_names, self._sizes[0]), max(n_labels, self._sizes[1]))
            self._names = make_room(*self._sizes)
        return self._names


SCRATCH = Scratch()


class CpuSelection:
    """The best labels of some rows so far, in memory of a fixed size a row."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.k = k
        self._keys, self._counts, self._lowest = room_for(n_rows, k)

    def offer(self, scores: Floats, labels: Labels, rows: NDArray[np.int64]) -> None:
        """Show the scores of some labels to some rows."""
        scores = np.ascontiguousarray(scores)
        offer_scores(scores, labels, rows, self.k, self._keys, self._counts, self._lowest)

    def expect(self, scores: Floats | np.float32, rows: Any = slice(None)) -> None:
        """Forget what some rows were shown; lower scores than these will not count for them."""
        self._counts[rows], self._lowest[rows] = 0, scores

    def rows_below(self, count: int) -> NDArray[np.int64]:
        """Return the rows that were shown fewer labels that count."""
        return np.flatnonzero(self._counts < count)

    def offer_all(
        self,
        score: Callable[[slice], Floats],
        labels: Labels,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Show the scores of all labels to all rows, or some, in tiles that stay in the cache."""
        rows = np.arange(len(self._counts)) if rows is None else rows
        # Scores of a row or two are in the cache, however many; every call takes microseconds.
        size = TILE_LABELS * max(1, TILE_ROWS // max(len(rows), 1))
        for first in range(0, len(labels), size):
            part = slice(first, first + size)
            self.offer(score(part), labels[part], rows)

    def take_again(
        self, k: int, hidden: Floats, vectors: Floats, bias: Floats, following: Labels
    ) -> tuple[Labels, Floats]:
        """Return the best ``k`` by ``h . l_j + c_j``, of these and all with the same vectors."""
        labels, scores = make_tables(len(self._counts), k)
        known = map(read_only, (vectors, bias, following))
        take_best_again(k, self._keys, self._counts, hidden, *known, labels, scores)
        return labels, scores

    def take(self) -> tuple[Labels, Floats]:
        """Return the best labels of every row and their scores, in the order of the labels."""
        labels, scores = make_tables(len(self._counts), self.k)
        take_best(self.k, self._keys, self._counts, labels, scores)
        return labels, scores


def guess_scores(cut: Floats, leading: Leading, wanted: int) -> Floats:
    """Return a score for every row that some more labels than are wanted have, as far as one knows.

    Labels at even distances are a sample of all. Without a score to beat from the start, lists
    would fill up, and be parted, again and again.
    """
    step = len(leading.labels) // SAMPLE
    sample = leading.vectors[step // 2 :: step][:SAMPLE]
    # A deviation more than are wanted: few rows get fewer than these, hardly one less than half.
    share = wanted * SAMPLE / len(leading.labels)
    found = CpuSelection(len(cut), min(math.ceil(share + math.sqrt(share)), SAMPLE))
    found.offer(cut @ sample.T, SCRATCH.numbers(SAMPLE), np.arange(len(cut)))
    lowest: Floats = found.take()[1].min(axis=1)
    return lowest


def make_tables(n_rows: int, k: int) -> tuple[Labels, Floats]:
    """Return room for labels and scores of some rows."""
    return np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
