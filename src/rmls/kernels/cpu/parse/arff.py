"""Rows of ARFF, sparse (``{index value, …}``) or dense (``value, …``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.cpu.parse.codes import (
    BACKSLASH,
    BAD_INDEX,
    CLOSE,
    COMMA,
    FEATURE_RANGE,
    HARD,
    NEWLINE,
    NO_COMMA,
    OK,
    OPEN,
    PERCENT,
    QUOTE1,
    QUOTE2,
    ROW_END,
    SURE,
    UNCLOSED,
    WIDTH,
)
from rmls.kernels.cpu.parse.tokens import (
    FLOAT32_OVERFLOW,
    ends_token,
    is_space,
    next_line,
    note_hard,
    read_index,
    read_number,
    skip_spaces,
)
from rmls.kernels.jit import njit


class Cells(NamedTuple):
    """What the ARFF kernel writes: the attribute and value of every cell, by row."""

    indptr: np.ndarray
    attributes: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    is_sparse: np.ndarray


@njit(cache=True, nogil=True)
def _ends_cell(byte):
    return byte in (COMMA, CLOSE) or ends_token(byte)


@njit(cache=True, nogil=True)
def _read_cell(text, position, is_text):
    """Return (value, position, SURE or HARD); HARD leaves the bytes up to there to Python."""
    start = position
    quote = text[start]
    if quote in (QUOTE1, QUOTE2):
        # Python takes quotes and backslashes off; only the closing quote is looked for.
        position += 1
        while text[position] != quote and text[position] != NEWLINE:
            position += 2 if text[position] == BACKSLASH and text[position + 1] != NEWLINE else 1
        return 0.0, (position + 1 if text[position] == quote else position), HARD
    if not is_text:
        value, position, status = read_number(text, start)
        if status == SURE and _ends_cell(text[position]) and abs(value) < FLOAT32_OVERFLOW:
            return value, position, SURE
        # Not a plain number, such as ?: from the start of the cell on it is Python's.
        position = start
    while not _ends_cell(text[position]):
        position += 1
    return 0.0, position, HARD


@njit(cache=True, nogil=True)
def _start_cell(text, position, is_sparse, column, n_attributes):
    """Find the next cell; return (code, its attribute, its position), ROW_END behind ``}``."""
    position = skip_spaces(text, position)
    if is_sparse:
        if text[position] == CLOSE:
            return ROW_END, column, skip_spaces(text, position + 1)
        if text[position] == NEWLINE:
            return UNCLOSED, column, position
        column, behind = read_index(text, position)
        if column < 0 or not is_space(text[behind]):
            return BAD_INDEX, column, position
        if column >= n_attributes:
            return FEATURE_RANGE, column, position
        position = skip_spaces(text, behind)
    elif column >= n_attributes:
        return WIDTH, column, position
    return OK, column, position


@njit(cache=True, nogil=True)
def _end_cell(text, position, is_sparse):
    """Step over what follows a cell; return (code, position, whether the dense row is over)."""
    position = skip_spaces(text, position)
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
        position = skip_spaces(text, position)
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
                # Its value stays 0 until Python has read the bytes that are noted.
                if status == HARD:
                    hard, n_hard = note_hard(hard, n_hard, n_cells, cell_start, position)
                cells.attributes[n_cells] = column
                cells.values[n_cells] = value
                n_cells += 1
                # The next column of a dense row; a sparse one names its columns.
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
        position = next_line(text, position)
        line += 1
    return OK, position, line, n_rows, hard[:n_hard]
