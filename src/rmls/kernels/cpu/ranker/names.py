"""Names of labels found in rows: an inverted index over the words of names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.cpu.linalg.rows import copy_front, dot_row
from rmls.kernels.jit import njit

N_NUMBERS = 5
# How much of a name has to be there to count as the whole name: words that are worth little may
# be missing.
WHOLE = np.float32(0.9)
HIGH_COSINE = np.float32(0.2)
# Names of which less is there do not count.
LEAST_SHARE = np.float32(0.3)
# Matches are worth up to 3: the best of them are told apart by so many steps.
N_STEPS, STEPS_OF_1 = 128, np.float32(42.0)


class Room(NamedTuple):
    """Working memory: what was found so far of every name and every label, zero between rows."""

    name_share: np.ndarray
    name_cosine: np.ndarray
    share: np.ndarray
    cosine: np.ndarray
    names: np.ndarray


def make_room(n_names, n_labels):
    """Return the working memory of one thread."""
    return Room(
        np.zeros(n_names, np.float32),
        np.zeros(n_names, np.float32),
        np.zeros(n_labels, np.float32),
        np.zeros(n_labels, np.float32),
        np.empty(n_names + 1, np.int32),
    )


@njit(cache=True, nogil=True)
def _add_words(row, rows, index, work):
    """Add up how much of every name stands in one row; returns the number of names touched."""
    x_indptr, x_indices, x_data = rows.indptr, rows.indices, rows.data
    indptr, names, shares, cosines = index.indptr, index.names, index.shares, index.cosines
    name_share, name_cosine, touched = work.name_share, work.name_cosine, work.names
    n_names = 0
    for position in range(x_indptr[row], x_indptr[row + 1]):
        word, value = x_indices[position], np.float32(x_data[position])
        if value == 0:
            continue
        for place in range(np.uint64(indptr[word]), np.uint64(indptr[word + 1])):
            name = names[place]
            # Written every time, kept where the name is new: no branch.
            touched[n_names] = name
            n_names += name_share[name] == 0
            name_share[name] += shares[place]
            name_cosine[name] += cosines[place] * value
    return n_names


@njit(cache=True, nogil=True)
def match_rows(rows, index, work, indptr):
    """Return the labels of which enough stands in every row, row by row, with share and cosine.

    Of several names of a label the best counts. ``indptr`` is written.
    """
    name_share, name_cosine, names = work.name_share, work.name_cosine, work.names
    owners, share, cosine = index.owners, work.share, work.cosine
    labels, values = np.empty(1024, np.int32), np.empty((2, 1024), np.float32)
    filled = 0
    for row in range(len(indptr) - 1):
        n_touched, n_names = _add_words(row, rows, index, work), 0
        for number in range(n_touched):
            name = names[number]
            names[n_names] = name
            # Less is one word of many, or one that hardly ever stands in a text of the label.
            counts = name_share[name] >= LEAST_SHARE
            n_names += counts
            name_share[name] *= counts
            name_cosine[name] *= counts
        if filled + n_names >= len(labels):
            size = 2 * (filled + n_names)
            longer, wider = np.empty(size, np.int32), np.empty((2, size), np.float32)
            copy_front(longer, labels, filled)
            for place in range(filled):
                wider[0, place], wider[1, place] = values[0, place], values[1, place]
            labels, values = longer, wider
        for number in range(n_names):
            name = names[number]
            label = owners[name]
            labels[filled] = label
            filled += share[label] == 0
            share[label] = max(share[label], name_share[name])
            cosine[label] = max(cosine[label], name_cosine[name])
            name_share[name] = name_cosine[name] = np.float32(0.0)
        for place in range(indptr[row], filled):
            label = labels[place]
            values[0, place], values[1, place] = share[label], cosine[label]
            share[label] = cosine[label] = np.float32(0.0)
        indptr[row + 1] = filled
    return labels[:filled], values[0, :filled], values[1, :filled]


@njit(cache=True, nogil=True)
def score_names(matches, places, listed, out):
    """Write how the names of the listed labels match: five numbers a label.

    Any match, share of the name, whole name, cosine, cosine above 0.2. ``places`` is working memory
    of one number a label, zero before and after: 1 and where the match of a label is.
    """
    indptr, labels = matches.indptr, matches.labels
    shares, cosines = matches.shares, matches.cosines
    for row in range(len(listed)):
        for place in range(indptr[row], indptr[row + 1]):
            places[labels[place]] = place + 1
        for number in range(listed.shape[1]):
            match, found = places[listed[row, number]] - 1, out[row, number]
            if match < 0:
                found[:] = np.float32(0.0)
                continue
            share, cosine = shares[match], cosines[match]
            found[0], found[1], found[2] = 1.0, share, share > WHOLE
            found[3], found[4] = cosine, max(cosine - HIGH_COSINE, np.float32(0.0))
        for place in range(indptr[row], indptr[row + 1]):
            places[labels[place]] = 0


@njit(cache=True, nogil=True, inline="always")
def _offer(scores, place, lowest, count, most):
    """Put a place among the ``most`` ones with the lowest scores; returns how many there are.

    ``lowest`` holds the places in the order of their scores.
    """
    if count == most and not scores[place] < scores[lowest[count - 1]]:
        return count
    end = min(count, most - 1)
    while end > 0 and scores[lowest[end - 1]] > scores[place]:
        lowest[end] = lowest[end - 1]
        end -= 1
    lowest[end] = place
    return min(count + 1, most)


@njit(cache=True, nogil=True)
def _lowest_step(steps, wanted, counts):
    """Return the step at which ``wanted`` are reached from above, and how many are above it."""
    counts[:] = 0
    for step in steps:
        counts[step] += 1
    above, lowest = 0, len(counts) - 1
    while above + counts[lowest] < wanted:
        above += counts[lowest]
        lowest -= 1
    return lowest, above


@njit(cache=True, nogil=True)
def best_matches(matches, out):
    """Write the labels whose names match best, in no order; -1 where there are no more."""
    indptr, labels = matches.indptr, matches.labels
    shares, cosines = matches.shares, matches.cosines
    size, longest = out.shape[1], np.int64(0)
    for row in range(len(out)):
        longest = max(longest, indptr[row + 1] - indptr[row])
    keys, steps = np.empty(longest, np.float32), np.empty(longest, np.int32)
    counts, last = np.empty(N_STEPS, np.int64), np.empty(size, np.int32)
    for row in range(len(out)):
        start, found = indptr[row], out[row]
        n_matches = indptr[row + 1] - start
        found[:] = -1
        if n_matches <= size:
            for number in range(n_matches):
                found[number] = labels[start + number]
            continue
        for number in range(n_matches):
            place = start + number
            key = cosines[place] + shares[place] + np.float32(shares[place] > WHOLE)
            # Keys by steps first: one count of them tells which are in, but for those of a step.
            keys[number] = -key
            steps[number] = int(min(key * STEPS_OF_1, N_STEPS - 1)) if key > 0 else 0
        lowest, n_above = _lowest_step(steps[:n_matches], size, counts)
        wanted = size - n_above
        filled = n_last = 0
        for number in range(n_matches):
            if steps[number] > lowest:
                found[filled] = labels[start + number]
                filled += 1
            elif steps[number] == lowest:
                n_last = _offer(keys, number, last, n_last, wanted)
        for number in range(wanted):
            found[filled + number] = labels[start + last[number]]


@njit(cache=True, nogil=True)
def _put_in_order(values, count, value):
    """Insert a value into the first ``count`` ones, which are in order."""
    place = count
    while place > 0 and values[place - 1] > value:
        values[place] = values[place - 1]
        place -= 1
    values[place] = value


@njit(cache=True, nogil=True)
def _find_new(listed, found, keep, new):
    """Write the labels that were found and are not listed, in order; returns their number.

    ``keep`` marks the places of those that are listed.
    """
    keep[:] = False
    n_new = np.int64(0)
    for label in found:
        if label < 0:
            continue
        low, high = 0, len(listed)
        while low < high:
            middle = (low + high) >> 1
            low, high = (middle + 1, high) if listed[middle] < label else (low, middle)
        if low < len(listed) and listed[low] == label:
            keep[low] = True
        else:
            _put_in_order(new, n_new, label)
            n_new += 1
    return n_new


@njit(cache=True, nogil=True)
def _give_way(scores, n_new, keep, lowest):
    """Choose the places with the lowest scores that need not be kept; returns their number.

    These get ``keep`` False, all others True. ``lowest`` is working memory.
    """
    count = 0
    for place in range(len(scores)):
        if keep[place]:
            continue
        keep[place] = True
        count = _offer(scores, place, lowest, count, n_new)
    for number in range(count):
        keep[lowest[number]] = False
    return count


@njit(cache=True, nogil=True, fastmath=True)
def join_lists(listed, scores, found, hidden, vectors, bias):
    """Put found labels in the place of the listed ones with the lowest scores.

    ``listed`` and ``scores`` come in the order of the labels and are written so. Labels that were
    found and listed stay.
    """
    size = listed.shape[1]
    new, lowest = np.empty(found.shape[1], np.int32), np.empty(found.shape[1], np.int32)
    keep, labels = np.empty(size, np.bool_), np.empty(size, np.int32)
    values = np.empty(size, np.float32)
    for row in range(len(listed)):
        before, old = listed[row], scores[row]
        n_new = _find_new(before, found[row], keep, new)
        if n_new == 0:
            continue
        n_new = _give_way(old, n_new, keep, lowest)
        # Both are in order: what stays and what is new are merged.
        place = number = 0
        for target in range(size):
            while place < size and not keep[place]:
                place += 1
            if number == n_new or (place < size and before[place] < new[number]):
                labels[target], values[target] = before[place], old[place]
                place += 1
            else:
                label = new[number]
                labels[target] = label
                values[target] = dot_row(vectors, label, hidden[row]) + bias[label]
                number += 1
        copy_front(before, labels, size)
        copy_front(old, values, size)


@njit(cache=True, nogil=True)
def count_words(X, Y, names, rows, counts, hits):
    """Count for every word the rows with a label that names it, and those that hold it, too."""
    # The last row that has a label with the word in its name, and the last that has the word.
    named, present = np.full(len(counts), -1, np.int64), np.full(len(counts), -1, np.int64)
    for row in rows:
        for position in range(X.indptr[row], X.indptr[row + 1]):
            if X.data[position] != 0:
                present[X.indices[position]] = row
        for position in range(Y.indptr[row], Y.indptr[row + 1]):
            label = Y.indices[position]
            for place in range(names.indptr[label], names.indptr[label + 1]):
                word = names.indices[place]
                if named[word] != row:
                    named[word] = row
                    counts[word] += 1.0
                    hits[word] += present[word] == row
