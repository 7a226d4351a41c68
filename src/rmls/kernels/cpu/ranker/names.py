"""Names of labels found in rows: an inverted index over the words of names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

N_NUMBERS = 5
# How much of a name has to be there to count as the whole name: words that are worth little may
# be missing.
WHOLE = np.float32(0.9)
HIGH_COSINE = np.float32(0.2)
# Names of which less is there do not count.
LEAST_SHARE = np.float32(0.3)


class Room(NamedTuple):
    """Working memory: what was found so far of every name and every label, zero between rows."""

    name_share: np.ndarray
    name_cosine: np.ndarray
    share: np.ndarray
    cosine: np.ndarray
    names: np.ndarray
    labels: np.ndarray


def make_room(index, n_labels):
    """Return the working memory of one thread."""
    n_names = len(index.owners)
    return Room(
        np.zeros(n_names, np.float32),
        np.zeros(n_names, np.float32),
        np.zeros(n_labels, np.float32),
        np.zeros(n_labels, np.float32),
        np.empty(n_names, np.int32),
        np.empty(n_labels, np.int32),
    )


@njit(cache=True, nogil=True)
def match_row(row, rows, index, work):
    """Write how well the names of labels match one row; returns the number of labels matched.

    ``work.labels`` holds the labels, ``work.share`` and ``work.cosine`` their best match by label.
    """
    x_indptr, x_indices, x_data = rows.indptr, rows.indices, rows.data
    n_names = 0
    for position in range(x_indptr[row], x_indptr[row + 1]):
        word, value = x_indices[position], np.float32(x_data[position])
        if value == 0:
            continue
        for place in range(index.indptr[word], index.indptr[word + 1]):
            name = index.names[place]
            if work.name_share[name] == 0:
                work.names[n_names] = name
                n_names += 1
            work.name_share[name] += index.shares[place]
            work.name_cosine[name] += index.cosines[place] * value
    n_labels = 0
    for number in range(n_names):
        name = work.names[number]
        label = index.owners[name]
        share, cosine = work.name_share[name], work.name_cosine[name]
        work.name_share[name] = work.name_cosine[name] = np.float32(0.0)
        if work.share[label] == 0:
            work.labels[n_labels] = label
            n_labels += 1
        work.share[label] = max(work.share[label], share)
        work.cosine[label] = max(work.cosine[label], cosine)
    return n_labels


@njit(cache=True, nogil=True)
def match_rows(rows, index, work, indptr):
    """Return the labels of which enough stands in every row, row by row, with share and cosine.

    ``indptr`` is written.
    """
    labels, values = np.empty(1024, np.int32), np.empty((2, 1024), np.float32)
    filled = 0
    for row in range(len(indptr) - 1):
        n_labels = match_row(row, rows, index, work)
        if filled + n_labels > len(labels):
            size = 2 * (filled + n_labels)
            longer, wider = np.empty(size, np.int32), np.empty((2, size), np.float32)
            longer[:filled], wider[:, :filled] = labels[:filled], values[:, :filled]
            labels, values = longer, wider
        for number in range(n_labels):
            label = work.labels[number]
            # Less is one word of many, or one that hardly ever stands in a text of the label.
            if work.share[label] >= LEAST_SHARE:
                labels[filled] = label
                values[0, filled], values[1, filled] = work.share[label], work.cosine[label]
                filled += 1
            work.share[label] = work.cosine[label] = np.float32(0.0)
        indptr[row + 1] = filled
    return labels[:filled], values[0, :filled], values[1, :filled]


@njit(cache=True, nogil=True)
def score_names(matches, n_labels, listed, out):
    """Write how the names of the listed labels match: five numbers a label.

    Any match, share of the name, whole name, cosine, cosine above 0.2.
    """
    # Where the match of a label is, and in which row that was.
    places, stamps = np.empty(n_labels, np.int64), np.full(n_labels, -1, np.int64)
    for row in range(len(listed)):
        for place in range(matches.indptr[row], matches.indptr[row + 1]):
            places[matches.labels[place]], stamps[matches.labels[place]] = place, row
        for number in range(listed.shape[1]):
            label, found = listed[row, number], out[row, number]
            if stamps[label] != row:
                found[:] = np.float32(0.0)
                continue
            share, cosine = matches.shares[places[label]], matches.cosines[places[label]]
            found[0], found[1], found[2] = 1.0, share, share > WHOLE
            found[3], found[4] = cosine, max(cosine - HIGH_COSINE, np.float32(0.0))


@njit(cache=True, nogil=True)
def best_matches(matches, out):
    """Write the labels whose names match best, in no order; -1 where there are no more."""
    size = out.shape[1]
    keys = np.empty(size, np.float32)
    for row in range(len(out)):
        found, filled, lowest = out[row], 0, 0
        found[:] = -1
        for place in range(matches.indptr[row], matches.indptr[row + 1]):
            key = matches.cosines[place] + matches.shares[place]
            if matches.shares[place] > WHOLE:
                key += np.float32(1.0)
            if filled < size:
                found[filled], keys[filled] = matches.labels[place], key
                if key < keys[lowest]:
                    lowest = filled
                filled += 1
            elif key > keys[lowest]:
                found[lowest], keys[lowest] = matches.labels[place], key
                lowest = int(np.argmin(keys))


@njit(cache=True, nogil=True)
def join_lists(labels, scores, found, joined):
    """Put found labels in the place of the listed ones with the lowest scores.

    ``joined`` marks the places that have changed. Labels that were found and listed stay.
    """
    size = labels.shape[1]
    keep = np.empty(size, np.bool_)
    for row in range(len(labels)):
        listed = labels[row]
        keep[:] = False
        n_new = 0
        for number in range(found.shape[1]):
            label = found[row, number]
            if label < 0:
                continue
            # Lists come in the order of the labels.
            place = np.searchsorted(listed, label)
            if place < size and listed[place] == label:
                keep[place] = True
                found[row, number] = -1
            else:
                n_new += 1
        if n_new == 0:
            continue
        for number in range(found.shape[1]):
            if found[row, number] < 0:
                continue
            # A few passes over a short list cost less than to sort it.
            weakest = -1
            for place in range(size):
                if not keep[place] and (weakest < 0 or scores[row, place] < scores[row, weakest]):
                    weakest = place
            if weakest < 0:
                break
            keep[weakest] = joined[row, weakest] = True
            labels[row, weakest] = found[row, number]


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
