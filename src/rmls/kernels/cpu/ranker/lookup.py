"""The weights of a feature for given labels, where it has weights for many others."""

from __future__ import annotations

import numpy as np

from rmls.kernels.arrays import WeightTables
from rmls.kernels.cpu.linalg.bits import count_places
from rmls.kernels.jit import njit

# Labels that one entry of a table is about: as many bits, and a number of 32 above them.
BLOCK = 32
# Features of fewer weights are added up sooner than looked up; and of so many labels for every
# weight the table would take more than twice the memory of the weights.
MANY, LABELS_A_WEIGHT = 512, 32

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


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
    return WeightTables(numbers, entries)


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
