"""Merging what nodes have learned: only rows of the parameters that moved, in one sweep each.

The rule is that of `rmls.kernels.cpu.sgd.passes.merge_copies`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.jit import njit

# Visits of a row between two merges, at which adding up and averaging weigh the same. Copies that
# have seen a row so often agree on where it belongs: the sum of their moves would go past it
# (docs/reference/scale.md).
CROWD = 10.0


class Sums(NamedTuple):
    """What the copies have done to the rows that any of them has moved.

    ``slots`` maps a row to its place here, -1 for none, and ``rows`` a place to its row. ``moves``
    and ``growth`` are summed over the copies, ``apart`` is the distance that AdaGrad went in each
    of them, ``copies`` counts them and ``visits`` their visits.
    """

    slots: np.ndarray
    rows: np.ndarray
    moves: np.ndarray
    growth: np.ndarray
    apart: np.ndarray
    copies: np.ndarray
    visits: np.ndarray


@njit(cache=True, nogil=True, inline="always")
def crowd_share(visits, copies):
    """Return the share of summed moves that is taken, after so many visits to each of the copies.

    Copies that visited a row often agree on it, and are averaged; else their moves add up.
    """
    crowd = visits / (visits + CROWD)
    return np.float64(1.0) - crowd + crowd / copies


@njit(cache=True, nogil=True)
def find_moved(theta, acc, was, acc_was, marks, out):
    """Write the rows to ``out`` that are not what they were; returns how many.

    Rows with a mark of 0 are not looked at; no marks at all ask for every row.
    """
    n_moved = 0
    for row in range(len(theta)):
        if len(marks) > 0 and marks[row] == 0:
            continue
        # Most rows that moved have moved their accumulator: the penalty alone does not.
        moved = False
        for column in range(acc.shape[1]):
            moved = moved or acc[row, column] != acc_was[row, column]
        column = 0
        while not moved and column < theta.shape[1]:
            moved = theta[row, column] != was[row, column]
            column += 1
        if moved:
            out[n_moved] = row
            n_moved += 1
    return n_moved


@njit(cache=True, nogil=True)
def count_columns(indptr, indices, rows, counts):
    """Count how often every column stands in the given rows."""
    counts[:] = 0
    for row in rows:
        for position in range(indptr[row], indptr[row + 1]):
            counts[indices[position]] += 1


@njit(cache=True, nogil=True)
def put_rows(theta, acc, rows, new_theta, new_acc):
    """Set some rows."""
    for place in range(len(rows)):
        row = rows[place]
        for column in range(theta.shape[1]):
            theta[row, column] = new_theta[place, column]
        for column in range(acc.shape[1]):
            acc[row, column] = new_acc[place, column]


@njit(cache=True, nogil=True)
def take_back(theta, acc, rows, was, acc_was):
    """Set some rows to what they were."""
    for row in rows:
        for column in range(theta.shape[1]):
            theta[row, column] = was[row, column]
        for column in range(acc.shape[1]):
            acc[row, column] = acc_was[row, column]


@njit(cache=True, nogil=True)
def add_copy(theta, acc, rows, moved, grown, visits, sums, n_rows):
    """Add one copy to the sums of ``n_rows`` rows; returns how many there are then."""
    slots, moves, growth, apart = sums.slots, sums.moves, sums.growth, sums.apart
    for place in range(len(rows)):
        row = rows[place]
        slot = slots[row]
        if slot < 0:
            slot = n_rows
            slots[row], sums.rows[slot] = slot, row
            moves[slot] = np.float32(0.0)
            growth[slot], apart[slot] = 0.0, 0.0
            sums.copies[slot], sums.visits[slot] = 0.0, 0.0
            n_rows += 1
        sums.copies[slot] += 1.0
        if len(visits) > 0:
            sums.visits[slot] += visits[place]
        for column in range(acc.shape[1]):
            start = np.float64(acc[row, column])
            more = grown[place, column] - start
            growth[slot, column] += more
            apart[slot, column] += np.sqrt(start + more) - np.sqrt(start)
        for column in range(theta.shape[1]):
            moves[slot, column] += moved[place, column] - theta[row, column]
    return n_rows


@njit(cache=True, nogil=True)
def move_rows(theta, acc, sums, n_rows, new_theta, new_acc):
    """Move rows by the sums of all copies, and write what they are then; clears ``slots``.

    A row that one copy alone has moved takes its move whole. Others go the distance that AdaGrad
    would have gone with all gradients, divided among the copies as far as these are a crowd.
    """
    k, width = theta.shape[1], acc.shape[1]
    for slot in range(n_rows):
        row, copies = sums.rows[slot], sums.copies[slot]
        share = crowd_share(sums.visits[slot] / copies, copies)
        factor = np.float32(share)
        for column in range(width):
            start = np.float64(acc[row, column])
            total, apart = sums.growth[slot, column], sums.apart[slot, column]
            if apart > 0:
                far = np.sqrt(start + total) - np.sqrt(start)
                factor = np.float32(share * far / apart)
            else:
                factor = np.float32(share)
            acc[row, column] = np.float32(start + total)
            new_acc[slot, column] = acc[row, column]
            if width > 1:
                theta[row, column] += factor * sums.moves[slot, column]
        if width == 1:
            for column in range(k):
                theta[row, column] += factor * sums.moves[slot, column]
        for column in range(k):
            new_theta[slot, column] = theta[row, column]
        sums.slots[row] = -1
