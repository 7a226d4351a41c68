"""The rows of one label in slots, as its classifier visits them: see `dual`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.arrays import DUAL_LOSSES
from rmls.kernels.cpu.linalg.entries import add_sparse, copy_columns, room_like
from rmls.kernels.jit import njit

SQUARED_HINGE, LOGISTIC = range(len(DUAL_LOSSES))
START = np.float32(1e-3)  # of the cost, for the variables of the logistic loss
# Entries of the rows of a label that are laid out side by side: they stay in the second cache.
ENTRIES_AT_HAND = 1 << 18


class Room(NamedTuple):
    """Memory for the rows of one label; see `make_room`.

    Rows that have a say stand in slots: ``begins`` and ``ends`` are those of a row among the
    entries, ``norms``, ``costs`` and ``duals`` its part of the problem, ``places`` its place among
    the rows of the label. ``active`` are the slots to visit. ``w`` are the weights, 0 between two
    labels.
    """

    begins: np.ndarray
    ends: np.ndarray
    norms: np.ndarray
    costs: np.ndarray
    duals: np.ndarray
    places: np.ndarray
    active: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    w: np.ndarray


@njit(cache=True, nogil=True)
def make_room(problem, longest, n_features):
    """Return memory for labels of up to ``longest`` rows."""
    n_entries = min(ENTRIES_AT_HAND, len(problem.x_data))
    return Room(
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.float32),
        np.empty(longest, np.float32),
        np.empty(longest, np.float32),
        np.empty(longest, np.int32),
        np.empty(longest, np.int32),
        room_like(problem.x_indices, n_entries),
        np.empty(n_entries, np.float32),
        np.zeros(n_features, np.float32),
    )


@njit(cache=True, nogil=True)
def choose_rows(problem, rows, duals, order):
    """Write the places of the rows that have a say to ``order``, those that may move in front.

    Returns the number of rows whose variables may move, and of all that have a say: the others
    belong to the solution so far and cost nothing now. All variables may move where none is above
    0: the label was left out of the last solution.
    """
    costs, added = problem.costs, problem.added
    everything = len(added) == 0 or not np.any(duals > 0)
    count = 0
    for place in range(len(rows)):
        row = rows[place]
        if costs[row] > 0 and (everything or added[row] or duals[place] > 0):
            order[count] = place
            count += 1
    n_rows = count
    for place in range(len(rows)):
        if duals[place] > 0 and costs[rows[place]] <= 0:
            order[n_rows] = place
            n_rows += 1
    return count, n_rows


@njit(cache=True, nogil=True)
def spread_relevant(order, n_relevant, count, n_rows, places):
    """Copy ``order`` to ``places`` with the relevant rows at even distances among the others.

    Visited slot by slot, rows then pull the bias to both sides by turns. The first rows of many of
    one side would take all that it has to give.
    """
    n_ones = np.int64(0)
    while n_ones < count and order[n_ones] < n_relevant:
        n_ones += 1
    one, other, due = np.int64(0), n_ones, np.int64(0)
    for slot in range(count):
        due += n_ones
        if due >= count:
            due -= count
            places[slot] = order[one]
            one += 1
        else:
            places[slot] = order[other]
            other += 1
    for slot in range(count, n_rows):
        places[slot] = order[slot]


@njit(cache=True, nogil=True)
def find_rows(problem, rows, factor, duals, n_rows, room):
    """Write where the rows that have a say stand, and what they cost; returns their entries.

    The variables of the logistic loss lie between 0 and the cost: new ones start a little above 0,
    those of a solution with larger costs a little below the cost.
    """
    n_entries = 0
    for slot in range(n_rows):
        row, dual = rows[room.places[slot]], duals[room.places[slot]]
        room.begins[slot], room.ends[slot] = problem.x_indptr[row], problem.x_indptr[row + 1]
        n_entries += room.ends[slot] - room.begins[slot]
        # norm is Q_ii: the slope grows by that much when a_i grows by 1 and the others rest.
        room.norms[slot] = problem.squares[row] + np.float32(1.0)
        cost = factor * problem.costs[row]
        room.costs[slot] = cost
        if problem.loss == LOGISTIC and cost > 0:
            if dual <= 0:
                dual = START * cost
            elif dual >= cost:
                dual = cost - START * cost
        room.duals[slot] = dual
    return n_entries


@njit(cache=True, nogil=True)
def bring_rows(problem, n_rows, room):
    """Lay the rows that have a say out side by side, in the order of their slots.

    Scattered over all rows, each would come from afar in every epoch.
    """
    filled, indices, data = np.int64(0), room.indices, room.data
    x_indices, x_data = problem.x_indices, problem.x_data
    for slot in range(n_rows):
        begin, size = room.begins[slot], room.ends[slot] - room.begins[slot]
        # Two plain copies, which become vector code.
        copy_columns(x_indices, begin, size, indices, filled)
        for position in range(np.uint64(size)):
            data[np.uint64(filled) + position] = x_data[np.uint64(begin) + position]
        room.begins[slot] = filled
        filled += size
        room.ends[slot] = filled


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def restore_weights(n_relevant, n_rows, indices, data, room):
    """Set ``w`` to the sum ``sum_i a_i y_i x_i`` of the given variables and return its bias."""
    bias = np.float32(0.0)
    for slot in range(n_rows):
        dual = room.duals[slot]
        if dual > 0:
            signed = dual if room.places[slot] < n_relevant else -dual
            add_sparse(indices, data, room.begins[slot], room.ends[slot], signed, room.w)
            bias += signed
    return bias
