"""Rows of ``labels index:value``: the texts of svmlight, of extreme classification and of RMLS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.cpu.parse.codes import (
    BAD_LABEL,
    BAD_VALUE,
    COLON,
    COMMA,
    FEATURE_RANGE,
    HARD,
    HARD_VALUE,
    HASH,
    LABEL_RANGE,
    LOWER_D,
    LOWER_I,
    LOWER_Q,
    MINUS,
    NEGATIVE,
    NEWLINE,
    NINE,
    NO_COLON,
    NO_NUMBER,
    OK,
    RETURN,
    SKIP_BLANK,
    SKIP_EMPTY,
    TOO_LARGE,
    ZERO,
)
from rmls.kernels.cpu.parse.tokens import (
    FLOAT32_OVERFLOW,
    INDEX_LIMIT,
    ends_token,
    next_line,
    note_hard,
    read_index,
    read_number,
    skip_spaces,
)
from rmls.kernels.jit import njit


class Rules(NamedTuple):
    """What the row kernel checks: column limits and the liberties of svmlight."""

    n_features: int
    n_labels: int
    comments: bool
    skipped: int


class Rows(NamedTuple):
    """What the kernels write: two CSR patterns, the values, the line of every row."""

    x_indptr: np.ndarray
    x_indices: np.ndarray
    values: np.ndarray
    y_indptr: np.ndarray
    y_indices: np.ndarray
    lines: np.ndarray


@njit(cache=True, nogil=True)
def _read_labels(text, position, limit, indices, n_read):
    """Read ``l1,l2``; return (code, position, labels read). A first ``index:`` is no label."""
    first = position
    while True:
        start = position
        number, position = read_index(text, position)
        # The row has no labels: its first token is a feature already.
        if text[position] == COLON and start == first:
            return OK, start, n_read
        if number < 0:
            return (NEGATIVE if text[position] == MINUS else BAD_LABEL), start, n_read
        comma = text[position] == COMMA
        if not comma and not ends_token(text[position]):
            return BAD_LABEL, start, n_read
        if number >= limit:
            return LABEL_RANGE, start, n_read
        indices[n_read] = number
        n_read += 1
        if not comma:
            return OK, position, n_read
        position += 1


@njit(cache=True, nogil=True)
def _read_features(text, position, limit, rows, n_read):
    """Read ``index:value`` pairs up to the line end or to the first thing that needs care.

    Return (code, position, pairs read, start of the last value); HARD comes after its pair.
    """
    indices, values = rows.x_indices, rows.values
    while True:
        position = start = skip_spaces(text, position)
        if text[start] == NEWLINE:
            return OK, position, n_read, start
        # Unlike `read_index` this stops behind the limit: out of range, whatever follows.
        index = 0
        while ZERO <= text[position] <= NINE and index <= INDEX_LIMIT:
            index = index * 10 + (int(text[position]) - ZERO)
            position += 1
        if index >= limit:
            return FEATURE_RANGE, start, n_read, start
        if position == start or text[position] != COLON:
            return NO_COLON, start, n_read, start
        start = position + 1
        value, position, status = read_number(text, start)
        if status == NO_NUMBER or not ends_token(text[position]):
            return BAD_VALUE, start, n_read, start
        if abs(value) >= FLOAT32_OVERFLOW:
            return TOO_LARGE, start, n_read, start
        indices[n_read] = index
        values[n_read] = value
        n_read += 1
        if status == HARD:
            return HARD_VALUE, position, n_read, start


@njit(cache=True, nogil=True)
def _skip_aside(text, position):
    """Return the position behind a ``# comment`` or ``qid:`` token, or -1 if it is neither."""
    if text[position] == HASH:
        while text[position] != NEWLINE:
            position += 1
        return position
    # The newline at the end of the text differs from each of these letters.
    if (
        text[position] == LOWER_Q
        and text[position + 1] == LOWER_I
        and text[position + 2] == LOWER_D
        and text[position + 3] == COLON
    ):
        while not ends_token(text[position]):
            position += 1
        return position
    return -1


@njit(cache=True, nogil=True)
def _starts_row(text, position, rules):
    """Tell whether a line holds a row: not blank where those are skipped, not a comment."""
    # A line of blanks may be a row without labels and features: it depends on the format.
    if rules.skipped == SKIP_EMPTY:
        at_end = position + 1 if text[position] == RETURN else position
        return text[at_end] != NEWLINE
    if rules.skipped == SKIP_BLANK:
        position = skip_spaces(text, position)
        return text[position] != NEWLINE and not (rules.comments and text[position] == HASH)
    return True


@njit(cache=True, nogil=True)
def parse_rows(text, start, first_line, rules, rows):
    """Fill ``rows``; return (code, byte, line, number of rows, hard numbers).

    ``text`` ends with a newline, so that no loop over a line can leave it.
    """
    # The fast loop is that of `_read_features`; this one sees what it could not go on with.
    position, line, n_rows, n_x, n_y, n_hard = start, first_line, 0, 0, 0, 0
    hard = np.empty((64, 3), dtype=np.int64)
    while position < len(text):
        if _starts_row(text, position, rules):
            code = OK
            if not ends_token(text[position]):
                code, position, n_y = _read_labels(
                    text, position, rules.n_labels, rows.y_indices, n_y
                )
            while code == OK:
                code, position, n_x, value_start = _read_features(
                    text, position, rules.n_features, rows, n_x
                )
                if code == OK:
                    break
                if code == HARD_VALUE:
                    hard, n_hard = note_hard(hard, n_hard, n_x - 1, value_start, position)
                    code = OK
                elif rules.comments and code == NO_COLON and _skip_aside(text, position) >= 0:
                    position = _skip_aside(text, position)
                    code = OK
            if code != OK:
                return code, position, line, n_rows, hard[:n_hard]
            rows.lines[n_rows] = line
            n_rows += 1
            rows.x_indptr[n_rows] = n_x
            rows.y_indptr[n_rows] = n_y
        position = next_line(text, position)
        line += 1
    return OK, position, line, n_rows, hard[:n_hard]


@njit(cache=True, nogil=True)
def sort_rows(indptr, indices, values):
    """Sort every row by index in place; return the first row with an index twice, or -1."""
    for row in range(len(indptr) - 1):
        low, high = indptr[row], indptr[row + 1]
        increasing = True
        for slot in range(low + 1, high):
            increasing &= indices[slot - 1] < indices[slot]
        if increasing:
            continue
        # Rows that are sorted, as most files have them, never come here.
        order = np.argsort(indices[low:high])
        indices[low:high] = indices[low:high][order]
        values[low:high] = values[low:high][order]
        for slot in range(low + 1, high):
            if indices[slot - 1] == indices[slot]:
                return row
    return -1
