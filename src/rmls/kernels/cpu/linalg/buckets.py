"""The best of some scores by buckets: passes without a branch in the place of comparisons."""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.keys import ALL_BITS, LOW_BITS, key_of, label_of, lead, score_of
from rmls.kernels.jit import njit

N_BUCKETS = 256  # a number of one byte
FULL = 32  # keys of a bucket that are sorted one by one
# Keys are put in their places one by one while a bucket of the mean key holds fewer than these.
SQUARES = 64


@njit(cache=True, nogil=True, fastmath=True)
def _largest(scores, start, stop):
    """Return the largest of some scores."""
    largest = scores[start]
    for label in range(np.uint64(start), np.uint64(stop)):
        largest = scores[label] if scores[label] > largest else largest
    return largest


@njit(cache=True, nogil=True, fastmath=True)
def _lowest(scores):
    """Return the lowest of some scores."""
    lowest = scores[0]
    for label in range(np.uint64(len(scores))):
        lowest = scores[label] if scores[label] < lowest else lowest
    return lowest


@njit(cache=True, nogil=True)
def _place_scores(scores, places):
    """Write a number from 0 to 255 for every score: none is lower than that of a lower score."""
    lowest = _lowest(scores)
    width = _largest(scores, 0, len(scores)) - lowest
    scale = np.float32(N_BUCKETS - 1) / width if width > 0 else np.float32(0.0)
    # Of scores that are all the same, or not finite, nothing is known beforehand.
    if not 0 < scale < np.float32(np.inf):
        places[:] = 0
        return
    for label in range(np.uint64(len(scores))):
        places[label] = np.uint8(np.int32((scores[label] - lowest) * scale))


@njit(cache=True, nogil=True)
def best_by_bucket(block, places, keys, out_labels, out_scores):
    """Write the best k columns of every row of a block and their scores, in the order of columns.

    Scores go to 256 buckets of equal width. Those of the upper ones are among the best, whatever
    their order; quickselect parts the bucket in which the last of the best is. So a score costs
    some passes without a branch, where a list of keys would be parted again and again: that pays
    where k is a good part of all. Ties go to the lower column.

    Parameters
    ----------
    block : ndarray of float32, shape (n_rows, n_labels)
    places, keys : ndarray of uint8 and int64
        Working memory of ``n_labels`` numbers each, and one key more.
    out_labels, out_scores : ndarray of int32 and float32, shape (n_rows, k)
    """
    n_labels, k = block.shape[1], out_labels.shape[1]
    counts = np.empty(N_BUCKETS, np.int64)
    for row in range(len(block)):
        scores, labels, best = block[row], out_labels[row], out_scores[row]
        _place_scores(scores, places[:n_labels])
        counts[:] = 0
        for label in range(n_labels):
            counts[places[label]] += 1
        last, above = N_BUCKETS - 1, 0
        while above + counts[last] < k:
            above += counts[last]
            last -= 1
        n_keys = 0
        for label in range(n_labels):
            keys[n_keys] = key_of(scores[label], label)
            n_keys += places[label] == last
        lowest = lead(keys, n_keys, k - above)
        count = 0
        for label in range(n_labels):
            if count == k:
                break
            labels[count], best[count] = label, scores[label]
            inside = (places[label] == last) & (key_of(scores[label], label) >= lowest)
            count += (places[label] > last) | inside


@njit(cache=True, nogil=True)
def rank_by_bucket(block, places, keys, out_labels, out_scores):
    """Write the best k columns of every row of a block and their scores, best first.

    Keys of the buckets that hold the best k are laid out bucket by bucket, best first, which leaves
    next to nothing to sort. Ties go to the lower column; arguments are those of `best_by_bucket`.
    """
    n_labels, k = block.shape[1], out_labels.shape[1]
    ends = np.empty(N_BUCKETS, np.int64)
    for row in range(len(block)):
        scores, labels, best = block[row], out_labels[row], out_scores[row]
        _place_scores(scores, places[:n_labels])
        ends[:] = 0
        for label in range(n_labels):
            ends[places[label]] += 1
        # Numbers of keys become places of the first ones.
        n_keys, last, squares = np.int64(0), N_BUCKETS, np.int64(0)
        while n_keys < k:
            last -= 1
            size = ends[last]
            ends[last] = n_keys
            n_keys += size
            squares += size * size
        for label in range(n_labels):
            bucket = places[label]
            if bucket >= last:
                keys[ends[bucket]] = key_of(scores[label], label)
                ends[bucket] += 1
        _sort_down(keys[:n_keys], squares > SQUARES * n_keys)
        for place in range(k):
            labels[place], best[place] = label_of(keys[place]), score_of(keys[place])


@njit(cache=True, nogil=True)
def _sort_down(keys, crowded):
    """Sort keys, largest first, of which each is near its place unless they are crowded."""
    if crowded:
        keys.sort()
        for place in range(len(keys) // 2):
            other = len(keys) - 1 - place
            keys[place], keys[other] = keys[other], keys[place]
        return
    for place in range(1, len(keys)):
        key, hole = keys[place], place
        while hole > 0 and keys[hole - 1] < key:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key


@njit(cache=True, nogil=True)
def _sort_halves(keys):
    """Sort keys by label, whatever the labels: turned round, they are numbers in that order."""
    for place in range(len(keys)):
        key = keys[place]
        keys[place] = (label_of(key) << np.int64(32)) | ((key >> np.int64(31)) & ALL_BITS)
    keys.sort()
    for place in range(len(keys)):
        label, half = keys[place] >> np.int64(32), keys[place] & ALL_BITS
        ordered = np.int64(np.uint32(half).view(np.int32))
        keys[place] = (ordered << np.int64(31)) + (LOW_BITS - label)


@njit(cache=True, nogil=True)
def sort_by_label(keys, room):
    """Sort keys of different labels by these; ``room`` is memory for as many.

    Labels are spread rather evenly: by their upper bits they go to buckets of a few, and what is
    left to do is next to nothing. Where they are not, sorting takes longer, but not for ever.
    """
    largest = np.int64(0)
    for place in range(len(keys)):
        largest = max(largest, label_of(keys[place]))
    shift = np.int64(0)
    while largest >> shift >= N_BUCKETS:
        shift += 1
    ends = np.zeros(N_BUCKETS + 1, np.int64)
    for place in range(len(keys)):
        ends[(label_of(keys[place]) >> shift) + 1] += 1
    fullest = np.int64(0)
    for bucket in range(N_BUCKETS):
        fullest = max(fullest, ends[bucket + 1])
        ends[bucket + 1] += ends[bucket]
    if fullest > FULL:
        _sort_halves(keys)
        return
    for place in range(len(keys)):
        bucket = label_of(keys[place]) >> shift
        room[ends[bucket]] = keys[place]
        ends[bucket] += 1
    for place in range(len(keys)):
        key, hole = room[place], place
        label = label_of(key)
        while hole > 0 and label_of(keys[hole - 1]) > label:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key


@njit(cache=True, nogil=True)
def lead_by_bucket(keys, count, wanted, scores, places, room):
    """Move the ``wanted`` largest of the first ``count`` keys to the front, in some order.

    As `best_by_bucket` finds them; the others are memory for as many numbers and one more.
    """
    if count <= wanted:
        return
    for place in range(count):
        scores[place] = score_of(keys[place])
    _place_scores(scores[:count], places)
    sizes = np.zeros(N_BUCKETS, np.int64)
    for place in range(count):
        sizes[places[place]] += 1
    last, above = N_BUCKETS - 1, 0
    while above + sizes[last] < wanted:
        above += sizes[last]
        last -= 1
    n_keys, filled = 0, 0
    for place in range(count):
        key, bucket = keys[place], places[place]
        room[n_keys] = key
        n_keys += bucket == last
        # What is overwritten was read before.
        keys[filled] = key
        filled += bucket > last
    lead(room, n_keys, wanted - filled)
    for place in range(wanted - filled):
        keys[filled + place] = room[place]
