"""Byte kernels of the text readers: numbers, rows of ``labels index:value``, and ARFF rows.

The kernels report problems as a code with the byte and the line; `_text` makes the sentence.
A number they cannot round with certainty is left to Python: its slot and bytes are listed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

OK, BAD_LABEL, NO_COLON, BAD_VALUE, TOO_LARGE, FEATURE_RANGE, LABEL_RANGE = range(7)
NEGATIVE, HARD_VALUE, BAD_INDEX, NOT_FINITE, UNCLOSED, WIDTH, NO_COMMA, ROW_END = range(7, 15)

SURE, HARD, NO_NUMBER = range(3)
SKIP_NONE, SKIP_EMPTY, SKIP_BLANK = range(3)
INDEX_LIMIT = 2**31 - 1
MANTISSA_LIMIT = (2**63 - 10) // 10
FLOAT32_OVERFLOW = float.fromhex("0x1.ffffffp+127")
FLOAT32_NORMAL = float.fromhex("0x1p-126")
POWERS = np.array([float(f"1e{power}") for power in range(309)])

TAB, NEWLINE, RETURN, SPACE, QUOTE2, HASH, PERCENT = 9, 10, 13, 32, 34, 35, 37
QUOTE1, PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON = 39, 43, 44, 45, 46, 48, 57, 58
UPPER_E, BACKSLASH, LOWER_D, LOWER_E, LOWER_I, LOWER_Q = 69, 92, 100, 101, 105, 113
OPEN, CLOSE = 123, 125


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
def _is_space(byte):
    return byte in (SPACE, TAB, RETURN)


@njit(cache=True, nogil=True)
def _ends_token(byte):
    return byte in (SPACE, NEWLINE, TAB, RETURN)


@njit(cache=True, nogil=True)
def read_index(text, position):
    """Read digits; return (number, position behind them), number -1 when there are none."""
    start = position
    number = 0
    while ZERO <= text[position] <= NINE:
        if number <= INDEX_LIMIT:
            number = number * 10 + (int(text[position]) - ZERO)
        position += 1
    return (number if position > start else -1), position


@njit(cache=True, nogil=True)
def read_number(text, position):
    """Read a decimal number; return (value, position behind it, SURE, HARD or NO_NUMBER)."""
    negative = text[position] == MINUS
    if negative or text[position] == PLUS:
        position += 1
    mantissa, scale, digits, fraction = 0, 0, 0, 0
    while True:
        digit = int(text[position]) - ZERO
        if 0 <= digit <= 9:
            digits += 1
            if mantissa < MANTISSA_LIMIT:
                mantissa = mantissa * 10 + digit
                scale -= fraction
            else:
                scale += 1 - fraction
        elif digit == POINT - ZERO and fraction == 0:
            fraction = 1
        else:
            break
        position += 1
    if digits == 0:
        return 0.0, position, NO_NUMBER
    if text[position] == LOWER_E or text[position] == UPPER_E:
        down = text[position + 1] == MINUS
        position += 2 if down or text[position + 1] == PLUS else 1
        exponent, position = read_index(text, position)
        if exponent < 0:
            return 0.0, position, NO_NUMBER
        scale += -exponent if down else exponent
    value, status = _scaled(mantissa, scale)
    return (-value if negative else value), position, status


@njit(cache=True, nogil=True)
def _scaled(mantissa, scale):
    """Return mantissa · 10**scale, and whether its rounding to float32 is certain."""
    if mantissa == 0:
        return 0.0, SURE
    if scale > 308 or scale < -308:
        return 0.0, HARD
    value = np.float64(mantissa)
    value = value * POWERS[scale] if scale >= 0 else value / POWERS[-scale]
    if mantissa < 2**53 and -22 <= scale <= 22:
        return value, SURE
    if not FLOAT32_NORMAL <= value < FLOAT32_OVERFLOW:
        return value, HARD
    # Three roundings err by less than 2 units of the last double place; float32 drops 29 bits.
    fraction, _ = math.frexp(value)
    dropped = np.int64(fraction * 2.0**53) & (2**29 - 1)
    return value, (HARD if abs(dropped - 2**28) <= 4 else SURE)


@njit(cache=True, nogil=True)
def _note(hard, n_hard, slot, start, end):
    """List a slot with its bytes for Python; return the (possibly grown) list."""
    if n_hard == len(hard):
        grown = np.empty((2 * len(hard), 3), dtype=np.int64)
        grown[:n_hard] = hard
        hard = grown
    hard[n_hard, 0] = slot
    hard[n_hard, 1] = start
    hard[n_hard, 2] = end
    return hard, n_hard + 1


@njit(cache=True, nogil=True)
def _read_labels(text, position, limit, indices, n_read):
    """Read ``l1,l2``; return (code, position, labels read). A first ``index:`` is no label."""
    first = position
    while True:
        start = position
        number, position = read_index(text, position)
        if text[position] == COLON and start == first:
            return OK, start, n_read
        if number < 0:
            return (NEGATIVE if text[position] == MINUS else BAD_LABEL), start, n_read
        comma = text[position] == COMMA
        if not comma and not _ends_token(text[position]):
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
        while _is_space(text[position]):
            position += 1
        start = position
        if text[start] == NEWLINE:
            return OK, position, n_read, start
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
        if status == NO_NUMBER or not _ends_token(text[position]):
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
    if (
        text[position] == LOWER_Q
        and text[position + 1] == LOWER_I
        and text[position + 2] == LOWER_D
    ):
        while not _ends_token(text[position]):
            position += 1
        return position
    return -1


@njit(cache=True, nogil=True)
def _starts_row(text, position, rules):
    """Tell whether a line holds a row: not blank where those are skipped, not a comment."""
    if rules.skipped == SKIP_EMPTY:
        return text[position] != NEWLINE and text[position] != RETURN
    if rules.skipped == SKIP_BLANK:
        while _is_space(text[position]):
            position += 1
        return text[position] != NEWLINE and not (rules.comments and text[position] == HASH)
    return True


@njit(cache=True, nogil=True)
def parse_rows(text, start, first_line, rules, rows):
    """Fill ``rows``; return (code, byte, line, number of rows, hard numbers).

    ``text`` ends with a newline, so that no loop over a line can leave it.
    """
    position, line, n_rows, n_x, n_y, n_hard = start, first_line, 0, 0, 0, 0
    hard = np.empty((64, 3), dtype=np.int64)
    while position < len(text):
        if _starts_row(text, position, rules):
            code = OK
            if not _ends_token(text[position]):
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
                    hard, n_hard = _note(hard, n_hard, n_x - 1, value_start, position)
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
        while text[position] != NEWLINE:
            position += 1
        position += 1
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
        order = np.argsort(indices[low:high])
        indices[low:high] = indices[low:high][order]
        values[low:high] = values[low:high][order]
        for slot in range(low + 1, high):
            if indices[slot - 1] == indices[slot]:
                return row
    return -1


class Cells(NamedTuple):
    """What the ARFF kernel writes: the attribute and value of every cell, by row."""

    indptr: np.ndarray
    attributes: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    is_sparse: np.ndarray


@njit(cache=True, nogil=True)
def _ends_cell(byte):
    return byte in (COMMA, CLOSE) or _ends_token(byte)


@njit(cache=True, nogil=True)
def _read_cell(text, position, is_text):
    """Return (value, position, SURE or HARD); HARD leaves the bytes up to there to Python."""
    start = position
    quote = text[start]
    if quote in (QUOTE1, QUOTE2):
        position += 1
        while text[position] != quote and text[position] != NEWLINE:
            position += 2 if text[position] == BACKSLASH and text[position + 1] != NEWLINE else 1
        return 0.0, (position + 1 if text[position] == quote else position), HARD
    if not is_text:
        value, position, status = read_number(text, start)
        if status == SURE and _ends_cell(text[position]) and abs(value) < FLOAT32_OVERFLOW:
            return value, position, SURE
        position = start
    while not _ends_cell(text[position]):
        position += 1
    return 0.0, position, HARD


@njit(cache=True, nogil=True)
def _skip_spaces(text, position):
    while _is_space(text[position]):
        position += 1
    return position


@njit(cache=True, nogil=True)
def _start_cell(text, position, is_sparse, column, n_attributes):
    """Find the next cell; return (code, its attribute, its position), ROW_END behind ``}``."""
    position = _skip_spaces(text, position)
    if is_sparse:
        if text[position] == CLOSE:
            return ROW_END, column, _skip_spaces(text, position + 1)
        if text[position] == NEWLINE:
            return UNCLOSED, column, position
        column, behind = read_index(text, position)
        if column < 0 or not _is_space(text[behind]):
            return BAD_INDEX, column, position
        if column >= n_attributes:
            return FEATURE_RANGE, column, position
        position = _skip_spaces(text, behind)
    elif column >= n_attributes:
        return WIDTH, column, position
    return OK, column, position


@njit(cache=True, nogil=True)
def _end_cell(text, position, is_sparse):
    """Step over what follows a cell; return (code, position, whether the dense row is over)."""
    position = _skip_spaces(text, position)
    if text[position] == COMMA:
        return OK, position + 1, False
    if is_sparse:
        code = OK if text[position] == CLOSE else UNCLOSED
        return code, position, False
    return (OK if text[position] == NEWLINE else NO_COMMA), position, True


@njit(cache=True, nogil=True)
def parse_arff(text, start, first_line, is_text, cells):
    """Fill ``cells``; return (code, byte, line, number of rows, cells left to Python)."""
    position, line, n_rows, n_cells, n_hard = start, first_line, 0, 0, 0
    hard = np.empty((64, 3), dtype=np.int64)
    while position < len(text):
        position = _skip_spaces(text, position)
        if text[position] != NEWLINE and text[position] != PERCENT:
            is_sparse = text[position] == OPEN
            position += 1 if is_sparse else 0
            column, done = 0, False
            while not done:
                code, column, position = _start_cell(
                    text, position, is_sparse, column, len(is_text)
                )
                if code == ROW_END:
                    break
                if code != OK:
                    return code, position, line, n_rows, hard[:n_hard]
                cell_start = position
                value, position, status = _read_cell(text, position, is_text[column])
                if status == HARD:
                    hard, n_hard = _note(hard, n_hard, n_cells, cell_start, position)
                cells.attributes[n_cells] = column
                cells.values[n_cells] = value
                n_cells += 1
                column += 1
                code, position, done = _end_cell(text, position, is_sparse)
                if code != OK:
                    return code, position, line, n_rows, hard[:n_hard]
            if text[position] != NEWLINE or (not is_sparse and column != len(is_text)):
                return WIDTH, position, line, n_rows, hard[:n_hard]
            cells.lines[n_rows] = line
            cells.is_sparse[n_rows] = is_sparse
            n_rows += 1
            cells.indptr[n_rows] = n_cells
        while text[position] != NEWLINE:
            position += 1
        position += 1
        line += 1
    return OK, position, line, n_rows, hard[:n_hard]
