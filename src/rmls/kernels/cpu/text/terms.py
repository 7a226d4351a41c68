"""Counts of terms: every word stands for one or several of them."""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.rows import doubled
from rmls.kernels.jit import njit

NO_CALL = 2**31 - 1


@njit(cache=True, nogil=True)
def count_words(tokens, ends, field_weights, n_words):
    """Count the words of every row.

    Parameters
    ----------
    tokens : ndarray of int32
        Numbers below ``n_words``.
    ends : ndarray of int64, shape (n_rows * n_fields + 1,)
        The tokens of every field of every row.
    field_weights : ndarray of float32, shape (n_fields,)
        What a word counts in every field.
    n_words : int

    Returns
    -------
    indptr, indices, counts
        Arrays of a CSR matrix; the words of a row stand in the order of their appearance.
    """
    n_fields = len(field_weights)
    n_rows = (len(ends) - 1) // n_fields
    indptr = np.zeros(n_rows + 1, np.int64)
    indices = np.empty(len(tokens), np.int32)
    counts = np.empty(len(tokens), np.float32)
    # A place before the beginning of a row belongs to an earlier one.
    place_of = np.full(n_words, -1, np.int64)
    used = 0
    for row in range(n_rows):
        begin = used
        for field in range(n_fields):
            piece = row * n_fields + field
            for token in range(ends[piece], ends[piece + 1]):
                word = tokens[token]
                if place_of[word] < begin:
                    place_of[word] = used
                    indices[used] = word
                    counts[used] = 0
                    used += 1
                counts[place_of[word]] += field_weights[field]
        indptr[row + 1] = used
    return indptr, indices[:used].copy(), counts[:used].copy()


@njit(cache=True, nogil=True)
def count_terms(rows, starts, terms, columns):
    """Count the columns of every row from the words in it.

    Parameters
    ----------
    rows : tuple of indptr, indices and counts
        The words of every row, as from `count_words`.
    starts : ndarray of int64, shape (n_words + 1,)
    terms : ndarray of int32
        Word ``w`` stands for the terms ``terms[starts[w]:starts[w + 1]]``.
    columns : ndarray of int32, shape (n_terms,)
        Column of every term, -1 for those that do not count.

    Returns
    -------
    indptr, indices, counts
        Arrays of a CSR matrix; the columns of a row are sorted.
    """
    word_ptr, words, weights = rows
    indptr = np.zeros(len(word_ptr), np.int64)
    indices = np.empty(max(len(words), 1024), np.int32)
    counts = np.empty(len(indices), np.float32)
    place_of = np.full(len(columns), -1, np.int64)
    # Signed, as the keys of `linalg.select`: one compiled sort serves both.
    keys = np.empty(1024, np.int64)
    sums = np.empty(1024, np.float32)
    used = 0
    first = 0
    for row in range(len(word_ptr) - 1):
        size = 0
        for at in range(word_ptr[row], word_ptr[row + 1]):
            word = words[at]
            for place in range(starts[word], starts[word + 1]):
                term = terms[place]
                if columns[term] < 0:
                    continue
                if place_of[term] < first:
                    if size == len(keys):
                        keys, sums = doubled(keys), doubled(sums)
                    place_of[term] = first + size
                    keys[size] = (np.int64(columns[term]) << np.int64(32)) | np.int64(size)
                    sums[size] = 0
                    size += 1
                sums[place_of[term] - first] += weights[at]
        # Places of the next row lie above all of this one.
        first += size
        keys[:size].sort()
        while used + size > len(indices):
            indices, counts = doubled(indices), doubled(counts)
        begin = used
        for at in range(size):
            column = np.int32(keys[at] >> np.int64(32))
            count = sums[keys[at] & np.int64(0xFFFFFFFF)]
            # Where columns are chosen by a hash, two terms may have the same one.
            if used > begin and indices[used - 1] == column:
                counts[used - 1] += count
            else:
                indices[used] = column
                counts[used] = count
                used += 1
        indptr[row + 1] = used
    return indptr, indices[:used].copy(), counts[:used].copy()


@njit(cache=True, nogil=True)
def weigh_rows(indptr, indices, counts, weights):
    """Turn counts into tf-idf rows of length 1, in place.

    Returns
    -------
    scales : ndarray of float32, shape (n_rows,)
        What every row was multiplied by, 0 where it has no term.
    """
    scales = np.zeros(len(indptr) - 1, np.float32)
    for row in range(len(indptr) - 1):
        total = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            counts[at] = _damp(counts[at]) * weights[indices[at]]
            total += counts[at] * counts[at]
        if total > 0:
            scale = np.float32(1 / np.sqrt(total))
            for at in range(indptr[row], indptr[row + 1]):
                counts[at] *= scale
            scales[row] = scale
    return scales


@njit(cache=True, nogil=True, inline="always")
def _damp(count):
    # The tenth time says less than the first. Below one, in a field of little weight, the count
    # itself: both are 1 there, and so is the slope.
    return count if count < 1 else 1 + np.log(count)


@njit(cache=True, nogil=True)
def weigh_late_rows(rows, weights, calls, scales):
    """Turn counts of late terms into tf-idf, in place, by the scales of the terms before them.

    A row without a scale gets length 1 by its terms of the first call: those of later calls then
    change nothing for them.

    Parameters
    ----------
    rows : tuple of indptr, indices and counts
    weights : ndarray of float32, shape (n_terms,)
    calls : ndarray of int32, shape (n_terms,)
        Which call added the term; rising, so that the first term of a row is of the first call.
    scales : ndarray of float32, shape (n_rows,)
        As from `weigh_rows`.

    Returns
    -------
    firsts : ndarray of int32, shape (n_rows,)
        The call whose terms set the scale: 0 where it was given, `NO_CALL` where there is no term.
    """
    indptr, indices, counts = rows
    firsts = np.zeros(len(scales), np.int32)
    for row in range(len(scales)):
        begin, end = indptr[row], indptr[row + 1]
        for at in range(begin, end):
            counts[at] = _damp(counts[at]) * weights[indices[at]]
        scale = scales[row]
        if scale == 0:
            firsts[row] = calls[indices[begin]] if begin < end else NO_CALL
            total = 0.0
            for at in range(begin, end):
                if calls[indices[at]] == firsts[row]:
                    total += counts[at] * counts[at]
            scale = np.float32(1 / np.sqrt(total)) if total > 0 else np.float32(1)
        for at in range(begin, end):
            counts[at] *= scale
    return firsts
