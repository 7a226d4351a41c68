"""Partial selection: the best k of every row of a score block."""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.prefetch import AHEAD, prefetch_row
from rmls.kernels.cpu.linalg.rows import dot_row
from rmls.kernels.jit import njit

# A number of its own type: a plain 0 would be compiled for as well.
ROOT = np.int64(0)


@njit(cache=True)
def _sift_down(scores, labels, parent, size):
    """Restore the heap below ``parent``, whose entry was replaced; the root is the worst entry.

    The worst entry has the lowest score and, among equals, the highest label.
    """
    # Held back while children move up: one write a level, no swaps.
    score, label = scores[parent], labels[parent]
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            scores[other] < scores[child]
            or (scores[other] == scores[child] and labels[other] > labels[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and labels[child] < label):
            break
        scores[parent] = scores[child]
        labels[parent] = labels[child]
        parent = child
    scores[parent] = score
    labels[parent] = label


@njit(cache=True, nogil=True)
def best_of_rows(block, start, stop, out_labels, out_scores):
    """Write the best k labels of rows ``start`` to ``stop`` of ``block``, best first.

    k is the number of columns of ``out_labels`` and at most that of ``block``. Ties go to the
    lower label; what is not a number counts as the lowest score.
    """
    k = out_labels.shape[1]
    n_labels = block.shape[1]
    for row in range(start, stop):
        scores, labels = out_scores[row], out_labels[row]
        values = block[row]
        for label in range(k):
            scores[label] = -np.inf if np.isnan(values[label]) else values[label]
            labels[label] = label
        # A heap of k with the worst entry on top: most scores fail the one comparison with it.
        for parent in range(k // 2 - 1, -1, -1):
            _sift_down(scores, labels, parent, k)
        for label in range(k, n_labels):
            if values[label] > scores[0]:
                scores[0] = values[label]
                labels[0] = label
                _sift_down(scores, labels, ROOT, k)
        # Sort the heap in place: move the worst entry to the end, again and again.
        for size in range(k - 1, 0, -1):
            score, label = scores[0], labels[0]
            scores[0], labels[0] = scores[size], labels[size]
            _sift_down(scores, labels, ROOT, size)
            scores[size], labels[size] = score, label


CHUNK = 64  # scores that are compared with the score to beat at a time
LOW_BITS, ALL_BITS = np.int64(0x7FFFFFFF), np.int64(0xFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def _key(score, label):
    """Return a number that orders labels by score and, among equals, by lower label.

    The bits of a positive float32 rise with it, as whole numbers; those of a negative one without
    the sign rise with its size. So the upper half of the key orders scores, and both zeros are one;
    the lower 31 bits hold the label, counted down. One comparison then decides order and ties.
    """
    bits = np.int64(np.float32(score).view(np.int32))
    ordered = bits if bits >= 0 else -(bits & LOW_BITS)
    return (ordered << np.int64(31)) + (LOW_BITS - np.int64(label))


@njit(cache=True, nogil=True, inline="always")
def _label_of(key):
    """Return the label of a key."""
    return LOW_BITS - (key & LOW_BITS)


@njit(cache=True, nogil=True, inline="always")
def _score_of(key):
    """Return the score of a key."""
    ordered = key >> np.int64(31)
    bits = ordered if ordered >= 0 else (-ordered) | ~LOW_BITS
    return np.int32(bits).view(np.float32)


@njit(cache=True, nogil=True)
def _lead(keys, count, wanted):
    """Move the ``wanted`` largest of the first ``count`` keys to the front; returns the last.

    Quickselect (Hoare): part the range by a pivot, go on in the part that holds the wanted place.
    O(count) on average; the keys in front are in no order.
    """
    low, high = 0, count - 1
    place = wanted - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while keys[left] > pivot:
                left += 1
            while keys[right] < pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    return keys[place]


@njit(cache=True, nogil=True, fastmath=True)
def _largest(scores, start, stop):
    """Return the largest of some scores."""
    largest = scores[start]
    for label in range(np.uint64(start), np.uint64(stop)):
        largest = scores[label] if scores[label] > largest else largest
    return largest


def room_for(n_rows, k):
    """Return the memory of `offer_scores`: keys, their numbers, and the scores to beat."""
    lowest = np.full(n_rows, -np.inf, np.float32)
    return np.empty((n_rows, 2 * k), np.int64), np.zeros(n_rows, np.int64), lowest


@njit(cache=True, nogil=True, inline="always")
def _has_any(scores, start, size, to_beat):
    """Tell whether some of ``size`` scores count; a constant size becomes vector code."""
    found = np.int32(0)
    for place in range(size):
        found += np.int32(not scores[np.uint64(start + place)] < to_beat)
    return found > 0


@njit(cache=True, nogil=True)
def offer_scores(tile, labels, rows, k, keys, counts, lowest):
    """Show the scores of some labels to some rows, of which each remembers the best k.

    What is not below the score to beat is written down; when 2 k keys are there, the best k are
    kept and the last of them is the new score to beat. So a selection in O(k) comes after at least
    k keys: O(1) a key. A score that is not a number may count as high or low, but never keeps a row
    from having k labels.

    Parameters
    ----------
    tile : ndarray of float32, shape (n_rows, n_labels)
    labels, rows : ndarray of int32 and int64
        Which labels and which rows of the memory the tile is about; a label is shown once.
    k : int
    keys, counts, lowest : ndarray
        From `room_for`.
    """
    n_labels, noted = len(labels), np.empty(CHUNK, np.int32)
    for number in range(len(rows)):
        row, scores = rows[number], tile[number]
        own, count, to_beat = keys[row], counts[row], lowest[row]
        for start in range(0, n_labels, CHUNK):
            stop = min(start + CHUNK, n_labels)
            # Few scores count: most are passed over in vector code, many at a time.
            if stop - start == CHUNK and not _has_any(scores, start, CHUNK, to_beat):
                continue
            # Every place is noted, but the next one overwrites it unless it counts: no branch.
            n_noted = np.int64(0)
            for place in range(np.uint64(start), np.uint64(stop)):
                noted[np.uint64(n_noted)] = place
                n_noted += np.int64(not scores[place] < to_beat)
            for position in range(n_noted):
                place = noted[position]
                own[count] = _key(scores[place], labels[place])
                count += 1
                if count == 2 * k:
                    to_beat = _score_of(_lead(own, count, k))
                    count = k
        counts[row], lowest[row] = count, to_beat


N_BUCKETS = 256  # a number of one byte
FULL = 32  # keys of a bucket that are sorted one by one


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
            keys[n_keys] = _key(scores[label], label)
            n_keys += places[label] == last
        lowest = _lead(keys, n_keys, k - above)
        count = 0
        for label in range(n_labels):
            if count == k:
                break
            labels[count], best[count] = label, scores[label]
            inside = (places[label] == last) & (_key(scores[label], label) >= lowest)
            count += (places[label] > last) | inside


@njit(cache=True, nogil=True)
def _sort_halves(keys):
    """Sort keys by label, whatever the labels: turned round, they are numbers in that order."""
    for place in range(len(keys)):
        key = keys[place]
        keys[place] = (_label_of(key) << np.int64(32)) | ((key >> np.int64(31)) & ALL_BITS)
    keys.sort()
    for place in range(len(keys)):
        label, half = keys[place] >> np.int64(32), keys[place] & ALL_BITS
        ordered = np.int64(np.uint32(half).view(np.int32))
        keys[place] = (ordered << np.int64(31)) + (LOW_BITS - label)


@njit(cache=True, nogil=True)
def _sort_by_label(keys, room):
    """Sort keys of different labels by these; ``room`` is memory for as many.

    Labels are spread rather evenly: by their upper bits they go to buckets of a few, and what is
    left to do is next to nothing. Where they are not, sorting takes longer, but not for ever.
    """
    largest = np.int64(0)
    for place in range(len(keys)):
        largest = max(largest, _label_of(keys[place]))
    shift = np.int64(0)
    while largest >> shift >= N_BUCKETS:
        shift += 1
    ends = np.zeros(N_BUCKETS + 1, np.int64)
    for place in range(len(keys)):
        ends[(_label_of(keys[place]) >> shift) + 1] += 1
    fullest = np.int64(0)
    for bucket in range(N_BUCKETS):
        fullest = max(fullest, ends[bucket + 1])
        ends[bucket + 1] += ends[bucket]
    if fullest > FULL:
        _sort_halves(keys)
        return
    for place in range(len(keys)):
        bucket = _label_of(keys[place]) >> shift
        room[ends[bucket]] = keys[place]
        ends[bucket] += 1
    for place in range(len(keys)):
        key, hole = room[place], place
        label = _label_of(key)
        while hole > 0 and _label_of(keys[hole - 1]) > label:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key


@njit(cache=True, nogil=True)
def _write_best(keys, room, out_labels, out_scores):
    """Write keys as labels and scores, in the order of the labels; moves the keys."""
    _sort_by_label(keys, room)
    for place in range(len(keys)):
        out_labels[place] = _label_of(keys[place])
        out_scores[place] = _score_of(keys[place])


@njit(cache=True, nogil=True)
def take_best(k, keys, counts, out_labels, out_scores):
    """Write the best k of what was offered, in the order of the labels."""
    room = np.empty(k, np.int64)
    for row in range(len(counts)):
        _lead(keys[row], counts[row], k)
        _write_best(keys[row, :k], room, out_labels[row], out_scores[row])


@njit(cache=True, nogil=True)
def _lead_by_bucket(keys, count, wanted, scores, places, room):
    """Move the ``wanted`` largest of the first ``count`` keys to the front, in some order.

    As `best_by_bucket` finds them; the others are memory for as many numbers and one more.
    """
    if count <= wanted:
        return
    for place in range(count):
        scores[place] = _score_of(keys[place])
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
    _lead(room, n_keys, wanted - filled)
    for place in range(wanted - filled):
        keys[filled + place] = room[place]


@njit(cache=True, nogil=True, fastmath=True)
def take_best_again(k, keys, counts, hidden, vectors, bias, following, out_labels, out_scores):
    """Score what was offered by ``h . l_j + c_j``, and write the best k of it.

    ``following`` are the labels that share a vector, as in `Leading`.
    """
    size, linked = keys.shape[1] + 2 * k, len(following) > 0
    found, room = np.empty(size, np.int64), np.empty(size + 1, np.int64)
    scores, places = np.empty(size, np.float32), np.empty(size, np.uint8)
    for row in range(len(counts)):
        tried, h, n_found = keys[row, : counts[row]], hidden[row], 0
        for place in range(len(tried)):
            if place + AHEAD < len(tried):
                prefetch_row(vectors, _label_of(tried[place + AHEAD]))
            label = _label_of(tried[place])
            score = dot_row(vectors, label, h) + bias[label]
            while label >= 0:
                if n_found == size:
                    _lead_by_bucket(found, n_found, k, scores, places, room)
                    n_found = k
                found[n_found] = _key(score, label)
                n_found += 1
                label = np.int64(following[label]) if linked else np.int64(-1)
        _lead_by_bucket(found, n_found, k, scores, places, room)
        _write_best(found[:k], room, out_labels[row], out_scores[row])
