"""One pass of WARP, the weighted approximate-rank pairwise loss (Weston et al., 2011).

Model: ``h = x W``, ``s_j = h . l_j``. For a relevant label y irrelevant labels are drawn until one
of them, v, violates the margin, ``s_v + 1 > s_y``; N draws estimate the rank of y as
``r = floor(|irrelevant| / N)``. The pair adds ``L(r) (1 - s_y + s_v)`` with
``L(r) = 1 + 1/2 + … + 1/r``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.cpu.linalg.prefetch import prefetch_row
from rmls.kernels.cpu.linalg.rows import add_scaled_row, add_to_row, dot_row
from rmls.kernels.cpu.sgd.arithmetic import represent, shrink_row
from rmls.kernels.cpu.sgd.draw import GOLDEN, below, mix
from rmls.kernels.cpu.sgd.visits import Visit, slot_of
from rmls.kernels.jit import njit

LINEAR = 1


class Warp(NamedTuple):
    """What is minimised and how: ``L(r)`` for r from 0, penalty and bound on norms, the draws.

    ``decay`` is 2 l2, the slope of the penalty ``l2 |v|^2`` for a vector v.
    """

    rank_weight: np.ndarray
    decay: np.float32
    max_square: np.float32
    max_tries: int
    all_negatives: bool


def rank_weights(n_labels: int) -> np.ndarray:
    """Return ``L(r)`` for r from 0 to ``n_labels``.

    Examples
    --------
    >>> rank_weights(2).tolist()
    [0.0, 1.0, 1.5]
    """
    harmonic = np.cumsum(1.0 / np.arange(1, n_labels + 1))
    return np.concatenate([[0.0], harmonic]).astype(np.float32)


@njit(cache=True, inline="always")
def next_irrelevant(state, seen, stamp):
    """Return a uniform label that is not marked with ``stamp``, and the new state of the draws."""
    while True:
        state += GOLDEN
        label = below(mix(state), len(seen))
        if seen[label] != stamp:
            return label, state


@njit(cache=True, fastmath=True)
def find_violator(L, h, bound, state, seen, stamp, limit):
    """Draw irrelevant labels until one scores more than ``bound``.

    Returns the label (-1 where ``limit`` draws found none), its score, the number of draws and the
    state of the draws. At least one label must be free of ``stamp``.
    """
    # The vector of the next candidate is on its way while the present one is scored.
    label, state = next_irrelevant(state, seen, stamp)
    for tries in range(1, limit + 1):
        following, state = next_irrelevant(state, seen, stamp)
        prefetch_row(L, following)
        score = dot_row(L, label, h)
        if score > bound:
            return label, score, tries, state
        label = following
    return -1, np.float32(0.0), limit, state


@njit(cache=True, fastmath=True)
def list_violators(L, h, bound, seen, stamp, out):
    """Write all irrelevant labels that score more than ``bound`` to ``out``.

    Returns their number and the sum of their scores.
    """
    count, total = 0, 0.0
    for label in range(len(seen)):
        if seen[label] != stamp:
            score = dot_row(L, label, h)
            if score > bound:
                out[count] = label
                count += 1
                total += score
    return count, total


@njit(cache=True, fastmath=True)
def move_row(theta, row, step, direction, max_square):
    """Add ``step * direction`` to ``theta[row]`` and bring it back to a norm that is allowed."""
    add_to_row(theta, row, step, direction)
    shrink_row(theta, row, max_square)


@njit(cache=True, fastmath=True)
def decay_row(theta, row, step):
    """Take the step of the penalty: shorten ``theta[row]`` by the share ``step``, at most to 0."""
    left = np.float32(1.0) - min(step, np.float32(1.0))
    for q in range(theta.shape[1]):
        theta[row, q] *= left


@njit(cache=True)
def push_label(label, slope, L, warp, rate, scratch, online):
    """Add a label's part to the gradient in h; move the label at once or collect its gradient."""
    add_scaled_row(scratch.grad_h, slope, L, label)
    if online:
        if warp.decay > 0 and slope > 0:
            decay_row(L, label, rate * warp.decay)
        move_row(L, label, -rate * slope, scratch.h, warp.max_square)
    else:
        slot = slot_of(label, scratch.label_slot, scratch.label_rows)
        add_to_row(scratch.label_grad, slot, slope, scratch.h)


@njit(cache=True)
def step_labels(relevant, visit, L, warp, rate, scratch):
    """Take the WARP step of every relevant label of one row; returns the loss."""
    h, seen, labels = scratch.h, scratch.seen, scratch.labels
    stamp, weight, online = visit.stamp, visit.weight, visit.online
    n_irrelevant = len(seen) - len(relevant)
    limit = min(warp.max_tries, n_irrelevant)
    state, loss, one = visit.key, 0.0, np.float32(1.0)
    for y in relevant:
        seen[y] = stamp
    if n_irrelevant == 0:
        return loss
    for y in relevant:
        # A relevant label pays whether or not it is ranked right; a violator when it is pushed.
        if warp.decay > 0 and online:
            decay_row(L, y, rate * warp.decay)
        elif warp.decay > 0:
            slot_of(y, scratch.label_slot, scratch.label_rows)
        score = dot_row(L, y, h)
        # With all irrelevant labels the rank is the number of violators, and each pushes its share;
        # else one violator stands for them.
        if warp.all_negatives:
            rank, total = list_violators(L, h, score - one, seen, stamp, labels)
            count, sum_of_hinges = rank, rank * (one - score) + total
        else:
            # N tries for one violator: about |irrelevant| / N of them rank above y.
            found, other, tries, state = find_violator(L, h, score - one, state, seen, stamp, limit)
            rank, count, sum_of_hinges = n_irrelevant // tries, int(found >= 0), one - score + other
            labels[0] = found
        if count == 0:
            continue
        # The slope of L(r) (1 - s_y + s_v): L(r) on s_v, -L(r) on s_y.
        pull = weight * warp.rank_weight[rank]
        push = pull / np.float32(count)
        loss += push * sum_of_hinges
        for position in range(count):
            push_label(labels[position], push, L, warp, rate, scratch, online)
        push_label(y, -pull, L, warp, rate, scratch, online)
    return loss


@njit(cache=True)
def step_features(indices, data, W, warp, rate, scratch, online):
    """Move the rows of ``W`` of one instance against the gradient in h, or collect theirs."""
    grad_h = scratch.grad_h
    if warp.decay == 0 and not grad_h.any():
        return
    for position in range(len(indices)):
        feature, value = indices[position], data[position]
        if online:
            if warp.decay > 0:
                decay_row(W, feature, rate * warp.decay)
            move_row(W, feature, -rate * value, grad_h, warp.max_square)
        else:
            slot = slot_of(feature, scratch.feature_slot, scratch.feature_rows)
            add_to_row(scratch.feature_grad, slot, value, grad_h)


@njit(cache=True)
def apply_rows(theta, touched, slots, gradients, rate, warp):
    """Move every touched row of ``theta`` against its summed gradient, then clear the buffers."""
    k = theta.shape[1]
    for slot in range(touched[0]):
        row, gradient = touched[slot + 1], gradients[slot, :k]
        if warp.decay > 0:
            decay_row(theta, row, rate * warp.decay)
        move_row(theta, row, -rate, gradient, warp.max_square)
        gradient[:] = np.float32(0.0)
        slots[row] = -1
    touched[0] = 0


@njit(cache=True)
def visit_row(rows, row, visit, params, warp, rate, scratch):
    """Take the steps of one row, or collect its gradients; returns its loss."""
    relevant = rows.y_indices[rows.y_indptr[row] : rows.y_indptr[row + 1]]
    start, stop = rows.x_indptr[row], rows.x_indptr[row + 1]
    indices, data = rows.x_indices[start:stop], rows.x_data[start:stop]
    # A pair needs a relevant label; a row without one says nothing here.
    if len(relevant) == 0:
        return 0.0
    represent(params.W, params.b, indices, data, LINEAR, scratch.h)
    scratch.grad_h[:] = np.float32(0.0)
    loss = step_labels(relevant, visit, params.L, warp, rate, scratch)
    step_features(indices, data, params.W, warp, rate, scratch, visit.online)
    return loss


@njit(cache=True, nogil=True)
def run_warp(rows, params, warp, visits, scratch, start, stop):
    """Process visits ``start`` to ``stop`` in order, in batches.

    Moves ``params.W`` and ``params.L`` in place, lock-free as `run_visits` does. Returns the summed
    loss and the summed weight of the visits.
    """
    W, L, online = params.W, params.L, visits.batch_size == 1
    slowdown = (visits.first_rate - visits.last_rate) / len(visits.rows)
    loss, total = 0.0, 0.0
    scratch.seen[:] = 0
    for number in range(start, stop):
        rate = np.float32(visits.first_rate - slowdown * number)
        weight, done = visits.weights[number], number - start + 1
        visit = Visit(visits.keys[number], done, weight, weight, online, True)
        loss += visit_row(rows, visits.rows[number], visit, params, warp, rate, scratch)
        total += weight
        if not online and (done % visits.batch_size == 0 or number == stop - 1):
            slots, touched, gradients = scratch.label_slot, scratch.label_rows, scratch.label_grad
            apply_rows(L, touched, slots, gradients, rate, warp)
            slots, touched, gradients = (
                scratch.feature_slot,
                scratch.feature_rows,
                scratch.feature_grad,
            )
            apply_rows(W, touched, slots, gradients, rate, warp)
    return loss, total
