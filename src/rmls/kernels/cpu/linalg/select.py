"""Partial selection: the best k of every row of a score block."""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.bits import PLACES, first_place, mark_places, without_first
from rmls.kernels.cpu.linalg.buckets import lead_by_bucket, sort_by_label
from rmls.kernels.cpu.linalg.keys import key_of, label_of, lead, score_of
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


def room_for(n_rows, k):
    """Return the memory of `offer_scores`: keys, their numbers, and the scores to beat."""
    lowest = np.full(n_rows, -np.inf, np.float32)
    return np.empty((n_rows, 2 * k), np.int64), np.zeros(n_rows, np.int64), lowest


@njit(cache=True, nogil=True, inline="always")
def _places_of(scores, start, stop, to_beat):
    """Return which of the next 64 scores are not below the score to beat."""
    if stop - start >= PLACES:
        return mark_places(scores, np.uint64(start), to_beat)
    places = np.uint64(0)
    for place in range(start, stop):
        if not scores[place] < to_beat:
            places |= np.uint64(1) << np.uint64(place - start)
    return places


@njit(cache=True, nogil=True)
def offer_scores(tile, labels, rows, k, keys, counts, lowest):
    """Show the scores of some labels to some rows, of which each remembers the best k.

    What is not below the score to beat is written down; when 2 k keys are there, the best k are
    kept and the last of them is the new score to beat. So a selection in O(k) comes after at least
    k keys: O(1) a key. A score that is not a number may count as high or low, but never keeps a row
    from having k labels.

    Parameters
    ----------
    tile : C-contiguous ndarray of float32, shape (n_rows, n_labels)
    labels, rows : ndarray of int32 and int64
        Which labels and which rows of the memory the tile is about; a label is shown once.
    k : int
    keys, counts, lowest : ndarray
        From `room_for`.
    """
    n_labels = len(labels)
    for number in range(len(rows)):
        row, scores = rows[number], tile[number]
        own, count, to_beat = keys[row], counts[row], lowest[row]
        for start in range(0, n_labels, PLACES):
            # Few scores count: 64 are compared at a time, and those that do are visited.
            left = _places_of(scores, start, n_labels, to_beat)
            while left != 0:
                place = start + first_place(left)
                left = without_first(left)
                own[count] = key_of(scores[place], labels[place])
                count += 1
                if count == 2 * k:
                    to_beat = score_of(lead(own, count, k))
                    count = k
        counts[row], lowest[row] = count, to_beat


@njit(cache=True, nogil=True)
def _write_best(keys, room, out_labels, out_scores):
    """Write keys as labels and scores, in the order of the labels; moves the keys."""
    sort_by_label(keys, room)
    for place in range(len(keys)):
        out_labels[place] = label_of(keys[place])
        out_scores[place] = score_of(keys[place])


@njit(cache=True, nogil=True)
def take_best(k, keys, counts, out_labels, out_scores):
    """Write the best k of what was offered, in the order of the labels."""
    room = np.empty(k, np.int64)
    for row in range(len(counts)):
        lead(keys[row], counts[row], k)
        _write_best(keys[row, :k], room, out_labels[row], out_scores[row])


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
                prefetch_row(vectors, label_of(tried[place + AHEAD]))
            label = label_of(tried[place])
            score = dot_row(vectors, label, h) + bias[label]
            while label >= 0:
                if n_found == size:
                    lead_by_bucket(found, n_found, k, scores, places, room)
                    n_found = k
                found[n_found] = key_of(score, label)
                n_found += 1
                label = np.int64(following[label]) if linked else np.int64(-1)
        lead_by_bucket(found, n_found, k, scores, places, room)
        _write_best(found[:k], room, out_labels[row], out_scores[row])
