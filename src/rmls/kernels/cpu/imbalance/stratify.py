"""Kernels of stratified folds: the rarest-first assignment and the swaps that even it out.

A label with c rows is *even* when every fold of share s holds floor(s c) or ceil(s c) of them.
``Spread`` keeps, for every label and fold, how far the count is from that, and the kernels keep
it up to date with every row they move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.jit import njit

NONE = -1
LONG = 16


class Labels(NamedTuple):
    """The label matrix by rows and by labels; every row has a label, every label has a row.

    ``weights`` holds what a label counts, ``row_weights`` the sum over the labels of a row.
    """

    row_start: np.ndarray
    row_labels: np.ndarray
    label_start: np.ndarray
    label_rows: np.ndarray
    weights: np.ndarray
    row_weights: np.ndarray


class Spread(NamedTuple):
    """Which fold a row is in, and what that means for every label (rows) and fold (columns).

    ``excess`` is twice the distance of the count from the middle of what is even:
    2 count - floor - ceil. It is odd where floor and ceil differ, and an even label has -1, 0
    or 1 everywhere.
    """

    fold: np.ndarray
    excess: np.ndarray


class Queue(NamedTuple):
    """Labels sorted by how many rows they have left: ``order[start[c]]`` is the first with c.

    One row fewer is a swap with the first label of the same count, so the order is kept in
    constant time per step (Batagelj and Zaversnik, 2003, do the same with degrees).
    """

    left: np.ndarray
    order: np.ndarray
    position: np.ndarray
    start: np.ndarray


def make_queue(counts: np.ndarray) -> Queue:
    """Return the queue of labels with all their rows left; ``counts`` must be ascending."""
    order = np.arange(len(counts))
    start = np.searchsorted(counts, np.arange(counts[-1] + 2))
    return Queue(counts.copy(), order, order.copy(), start)


@njit(cache=True, nogil=True)
def _take_one(queue, label):
    """Note that ``label`` has one row fewer left."""
    # To the front of the labels with as many rows; the group then begins behind it, and it is the
    # last of those with one row fewer.
    left, order, position, start = queue
    first = start[left[label]]
    other = order[first]
    order[position[label]], position[other] = other, position[label]
    order[first], position[label] = label, first
    start[left[label]] += 1
    left[label] -= 1


@njit(cache=True, nogil=True)
def _choose_fold(excess, room, sizes):
    """Return the fold that lacks a label most; among equals the one with most of it still empty."""
    best = NONE
    for fold in range(len(room)):
        if room[fold] == 0:
            continue
        # room / size of two folds compared without a division.
        if (
            best == NONE
            or excess[fold] < excess[best]
            or (
                excess[fold] == excess[best] and room[fold] * sizes[best] > room[best] * sizes[fold]
            )
        ):
            best = fold
    return best


@njit(cache=True, nogil=True)
def assign_rarest_first(labels, spread, queue, room):
    """Fill ``spread.fold`` label by label, always the one with the fewest rows left.

    Sechidis, Tsoumakas and Vlahavas (2011), algorithm 1, with folds that cannot be overfilled.
    On entry no row has a fold; ``room`` counts down from the sizes of the folds. Takes time in
    O(nnz + rows * folds + labels).
    """
    row_start, row_labels, label_start, label_rows, _, _ = labels
    fold_of, excess = spread
    sizes, start, order = room.copy(), queue.start, queue.order
    # Labels without a row left stand in front of start[1].
    while start[1] < len(order):
        rarest = order[start[1]]
        for slot in range(label_start[rarest], label_start[rarest + 1]):
            row = label_rows[slot]
            if fold_of[row] != NONE:
                continue
            fold = _choose_fold(excess[rarest], room, sizes)
            fold_of[row] = fold
            room[fold] -= 1
            for place in range(row_start[row], row_start[row + 1]):
                excess[row_labels[place], fold] += 2
                _take_one(queue, row_labels[place])


@njit(cache=True, nogil=True)
def measure_unevenness(labels, spread):
    """Return the weighted sum of squared distances less its minimum: 0 when all labels are even."""
    total = 0.0
    for label in range(len(spread.excess)):
        squares = 0
        for fold in range(spread.excess.shape[1]):
            excess = spread.excess[label, fold]
            # An odd excess is at best 1 or -1: that much cannot be avoided.
            squares += excess * excess - (excess & 1)
        total += labels.weights[label] * squares
    return total / 4


@njit(cache=True, nogil=True)
def _price_move(labels, excess, row, source, target):
    """Return what moving ``row`` alone adds to the unevenness.

    For every label a quarter of (x + 2)² - x² in the target and of (x - 2)² - x² in the source.
    """
    total = 0.0
    for place in range(labels.row_start[row], labels.row_start[row + 1]):
        label = labels.row_labels[place]
        total += labels.weights[label] * (2 + excess[label, target] - excess[label, source])
    return total


@njit(cache=True, nogil=True)
def _weigh_shared(labels, row, other):
    """Return the summed weights of the labels that both rows have."""
    place, stop = labels.row_start[row], labels.row_start[row + 1]
    place2, stop2 = labels.row_start[other], labels.row_start[other + 1]
    total = 0.0
    # Both lists ascend: step in the one that is behind, in both where they meet.
    while place < stop and place2 < stop2:
        label, label2 = labels.row_labels[place], labels.row_labels[place2]
        if label == label2:
            total += labels.weights[label]
        place += label <= label2
        place2 += label2 <= label
    return total


@njit(cache=True, nogil=True)
def _price_swap(labels, excess, swap, price, limit):
    """Return what a swap adds to the unevenness, or ``limit`` where it is at least that.

    ``swap`` is (row, its fold, other row, its fold) and ``price`` that of moving ``row`` alone.
    A label that both rows have stays as it is, but counts 2 + x - y and 2 + y - x in the moves.
    """
    row, fold, other, other_fold = swap
    price += _price_move(labels, excess, other, other_fold, fold)
    # The shared labels can weigh no more than those of either row: often enough to say no.
    if price - 4 * min(labels.row_weights[row], labels.row_weights[other]) >= limit:
        return limit
    return min(price - 4 * _weigh_shared(labels, row, other), limit)


@njit(cache=True, nogil=True)
def _move(labels, spread, row, target):
    for place in range(labels.row_start[row], labels.row_start[row + 1]):
        label = labels.row_labels[place]
        spread.excess[label, spread.fold[row]] -= 2
        spread.excess[label, target] += 2
    spread.fold[row] = target


@njit(cache=True, nogil=True)
def _visit(labels, spread, waiting, row, may_wait, tolerance):
    """Swap ``row`` with the best of the rows that wait for its fold, if that is cheap enough.

    Notes in ``waiting`` where it is the better one to wait. A row that waits may meanwhile have
    gone by way of another pair of folds; its place is then free.
    """
    fold_of, excess = spread
    fold, partner, lowest = fold_of[row], NONE, tolerance
    for target in range(len(waiting)):
        if target == fold:
            continue
        price = _price_move(labels, excess, row, fold, target)
        other, rival = waiting[target, fold], waiting[fold, target]
        if other != NONE and fold_of[other] == target:
            added = _price_swap(labels, excess, (row, fold, other, target), price, lowest)
            if added < lowest:
                partner, lowest = other, added
        # Whoever could go from here to there at the lower price waits for a partner from there.
        if may_wait and (
            rival == NONE
            or fold_of[rival] != fold
            or price <= _price_move(labels, excess, rival, fold, target)
        ):
            waiting[fold, target] = row
    if partner != NONE:
        _move(labels, spread, row, fold_of[partner])
        _move(labels, spread, partner, fold)


@njit(cache=True, nogil=True)
def swap_rows(labels, spread, waiting, tolerance):
    """Visit every row once, swap it where that adds less than ``tolerance`` to the unevenness.

    ``waiting[f, g]`` is the row of fold f that would be moved to g at the lowest price, kept from
    pass to pass. A row of g that fits is swapped with it. Rows with more than ``LONG`` times the
    mean number of labels never wait: a visit reads the labels of the rows that wait, so a pass
    takes time in O(nnz * folds).
    """
    row_start, n_rows = labels.row_start, len(spread.fold)
    longest = LONG * row_start[n_rows] / n_rows
    for row in range(n_rows):
        may_wait = row_start[row + 1] - row_start[row] <= longest
        _visit(labels, spread, waiting, row, may_wait, tolerance)
