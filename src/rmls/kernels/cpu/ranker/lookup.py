"""The weights of given labels, where features have weights for many others or nearly all."""

from __future__ import annotations

import numpy as np

from rmls.kernels.arrays import WeightTables
from rmls.kernels.cpu.linalg.bits import count_places
from rmls.kernels.cpu.linalg.products import multiply_rows
from rmls.kernels.jit import njit

# Labels that one entry of a table is about: as many bits, and a number of 32 above them.
BLOCK = 32
# Features of fewer weights are added up sooner than looked up; and of so many labels for every
# weight the table would take more than twice the memory of the weights.
MANY, LABELS_A_WEIGHT = 512, 32
# With all zeros filled in, weights take at most so many times the memory, and no more than that.
TIMES_FILLED, MOST_FILLED = 4, 1 << 23

NO_TABLES = WeightTables(
    np.empty(0, np.int32), np.empty((0, 0), np.uint64), np.empty((0, 0), np.float32)
)

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def index_weights(weights):
    """Return what finds the weights of a row sooner, or None.

    Examples
    --------
    >>> from rmls.kernels.arrays import SparseWeights
    >>> one, all_but_one = np.ones(2, np.float32), np.array([0, 2, 3])
    >>> weights = SparseWeights(all_but_one, np.uint16([0, 1, 1]), np.int16([4, 5, 6]), one, one)
    >>> index_weights(weights).filled.tolist()
    [[4.0, 5.0], [0.0, 6.0]]
    """
    n_features, n_labels = len(weights.indptr) - 1, len(weights.bias)
    # Numbers one after another are added up in vector code, eight times as fast as single ones.
    if n_features * n_labels <= min(TIMES_FILLED * len(weights.values), MOST_FILLED):
        filled = np.zeros((n_features, n_labels), np.float32)
        features = np.repeat(np.arange(n_features), np.diff(weights.indptr))
        filled[features, weights.indices] = weights.values
        filled.flags.writeable = False
        return NO_TABLES._replace(filled=filled)
    features = with_many(weights)
    # Not even the kernel is loaded where it has nothing to do.
    return make_tables(weights, features) if len(features) else None


def with_many(weights):
    """Return the features that are worth a table."""
    least = max(MANY, len(weights.bias) // LABELS_A_WEIGHT)
    return np.flatnonzero(np.diff(weights.indptr) >= least)


@njit(cache=True, nogil=True)
def make_tables(weights, features):
    """Return the tables of some features.

    One whose labels do not rise has none.

    Examples
    --------
    >>> from rmls.kernels.arrays import SparseWeights
    >>> one = np.ones(600, np.float32)
    >>> weights = SparseWeights(np.array([0, 2, 602]), np.r_[3, 4, 0:600].astype(np.uint16),
    ...     np.ones(602, np.float32), one, one)
    >>> tables = make_tables(weights, with_many(weights))
    >>> tables.numbers.tolist(), tables.entries.shape
    ([-1, 0], (1, 19))
    """
    indptr, n_labels = weights.indptr, len(weights.bias)
    numbers = np.full(len(indptr) - 1, -1, np.int32)
    entries = np.zeros((len(features), (n_labels + BLOCK - 1) // BLOCK), np.uint64)
    for number in range(len(features)):
        first, last = indptr[features[number]], indptr[features[number] + 1]
        if _fill_table(weights.indices[first:last], entries[number]):
            numbers[features[number]] = number
    return WeightTables(numbers, entries, np.zeros((0, 0), np.float32))


@njit(cache=True, nogil=True)
def _fill_table(labels, entries):
    """Write which labels there are, and how many before each block; tells whether they rise."""
    before = np.int64(-1)
    for label in labels:
        if np.int64(label) <= before:
            return False
        before = np.int64(label)
        entries[label // BLOCK] |= np.uint64(1) << np.uint64(label % BLOCK)
    count = np.int64(0)
    for block in range(len(entries)):
        size = count_places(entries[block])
        entries[block] |= np.uint64(count) << _HALF
        count += size
    return True


@njit(cache=True, nogil=True, fastmath=True)
def add_looked_up(entries, values, first, scale, labels, sums):
    """Add ``scale`` times the weights of given labels to ``sums``.

    ``entries`` is the table of a feature, whose weights begin at ``first``. Without a branch: the
    weights of labels that have none are others times 0.
    """
    one = np.uint64(1)
    for place in range(len(labels)):
        label = np.uint64(labels[place])
        entry = entries[label >> np.uint64(5)]
        bit = one << (label & np.uint64(BLOCK - 1))
        is_held = (entry & bit) != 0
        before = (entry >> _HALF) + np.uint64(count_places(entry & (bit - one)))
        value = values[np.uint64(first) + (before if is_held else np.uint64(0))]
        sums[place] += (scale if is_held else np.float32(0.0)) * np.float32(value)


def score_filled(
    x_indptr, x_indices, x_data, weights, tables, listed, first_row, start, stop, sums, out
):
    """Write what `score_listed` does, by the matrix of all weights with its zeros."""
    # The product that the vectors of rows come from: nothing else has to be compiled, or loaded.
    scores = np.empty((stop - start, len(weights.bias)), np.float32)
    rows = (x_indptr[start:], x_indices, x_data)
    multiply_rows(*rows, tables.filled, scores, 0, stop - start)
    scores *= weights.scale
    scores += weights.bias
    out[start - first_row : stop - first_row] = np.take_along_axis(
        scores, listed[start - first_row : stop - first_row], axis=1
    )
