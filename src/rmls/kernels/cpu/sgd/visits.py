"""One pass of stochastic gradient descent on the sampled RMLS objective.

Model, equations (4) and (5) of the paper: ``h = theta(x W + b)``, ``s_j = h . l_j + c_j``. A visit
of a row adds the loss of its relevant labels and of a fresh sample of irrelevant ones, equation
(11), and takes the step at once: every label vector is read once, for its score, its part of the
gradient in h and its own update. Everything is float32; the functions write to the parameter and
accumulator arrays they are given and to nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.arrays import IN_BATCH
from rmls.kernels.cpu.linalg.prefetch import AHEAD, prefetch_number, prefetch_row
from rmls.kernels.cpu.linalg.rows import add_scaled_row, add_to_row, dot_row, mean_square
from rmls.kernels.cpu.sgd.arithmetic import (
    adagrad_number,
    adagrad_row,
    adagrad_vector,
    represent,
    shrink_row,
    slope_of_loss,
    times_activation_slope,
    value_of_loss,
)
from rmls.kernels.cpu.sgd.draw import GOLDEN, mix
from rmls.kernels.cpu.sgd.sampler import choose_labels
from rmls.kernels.jit import njit


class Visit(NamedTuple):
    """One visit of a row: its random key, its mark in ``seen``, weights, and what to do.

    Online the parameters move at once; a measured visit also computes its loss.
    """

    key: np.uint64
    stamp: int
    weight: np.float32
    irrelevant_weight: np.float32
    online: bool
    measured: bool


class Scratch(NamedTuple):
    """Working memory of one thread; see `make_scratch`.

    A batch keeps one gradient per touched row of ``L`` (its last column is that of the bias) and of
    ``W`` (the last row is that of the bias). ``*_slot`` maps a row to its gradient, -1 for none;
    ``*_rows[0]`` counts the gradients in use and ``*_rows[1:]`` names their rows. ``batch`` does
    the same for the training rows of the batch. ``shift`` belongs to ``labels``.
    """

    seen: np.ndarray
    labels: np.ndarray
    shift: np.ndarray
    batch: np.ndarray
    h: np.ndarray
    grad_h: np.ndarray
    label_slot: np.ndarray
    label_rows: np.ndarray
    label_grad: np.ndarray
    feature_slot: np.ndarray
    feature_rows: np.ndarray
    feature_grad: np.ndarray


def make_scratch(shape, batch_size, max_features, max_labels):
    """Return working memory for models of ``shape`` = (n_features, n_labels, n_components).

    ``max_features`` and ``max_labels`` bound what one row touches.
    """
    d, m, k = shape
    longest = max(m, max_labels)
    online = batch_size == 1
    # A batch touches no more rows than its visits do together, and no row twice.
    label_slots = 0 if online else min(m, batch_size * max_labels)
    feature_slots = 0 if online else min(d, batch_size * max_features)
    return Scratch(
        seen=np.zeros(m, np.int64),
        labels=np.zeros(longest, np.int32),
        shift=np.zeros(longest, np.float32),
        batch=np.zeros(batch_size + 1, np.int64),
        h=np.zeros(k, np.float32),
        grad_h=np.zeros(k, np.float32),
        label_slot=np.full(0 if online else m, -1, np.int32),
        label_rows=np.zeros(label_slots + 1, np.int32),
        label_grad=np.zeros((label_slots, k + 1), np.float32),
        feature_slot=np.full(0 if online else d, -1, np.int32),
        feature_rows=np.zeros(feature_slots + 1, np.int32),
        feature_grad=np.zeros((feature_slots + 1, k), np.float32),
    )


# Of the labels whose slope is rounded to 0 one in 2^4 pays the penalty, that of 2^4 visits.
HALVINGS = 4
SELDOM = np.uint64((1 << HALVINGS) - 1)


@njit(cache=True, inline="always")
def thin_slope(slope, floor, key, position):
    """Round a small slope at random to 0 or ``floor``, keeping its mean; also returns 40 bits.

    Most sampled labels are already right and hardly move anything; this skips most of their work.
    With a slope of size g it returns ``floor`` with probability g / floor: g on average. The bits
    are those of the draw that were not used, 0 where nothing was drawn.
    """
    size = abs(slope)
    if size >= floor:
        return slope, np.uint64(0)
    # The 24 bits that a float32 holds, from a draw of its own: not one that chose the label.
    draw = mix(key ^ (np.uint64(position + 1) * GOLDEN))
    uniform = np.float32(draw >> np.uint64(40)) * np.float32(2.0**-24)
    if uniform * floor >= size:
        return np.float32(0.0), draw
    return (floor if slope > 0 else -floor), draw


@njit(cache=True, fastmath=True)
def pay_penalty(theta, acc, row, rate, decay, bits, elementwise):
    """Take the step of the penalty alone on ``theta[row]``.

    AdaGrad by row takes ``2**HALVINGS`` steps at once, because it is asked as seldom; a single one
    where ``bits`` are 0, which says that nothing was drawn.
    """
    if elementwise:
        for q in range(theta.shape[1]):
            gradient = decay * theta[row, q]
            acc[row, q] += gradient * gradient
            theta[row, q] -= rate * gradient / np.sqrt(acc[row, q])
        return
    left = max(np.float32(1.0) - rate / np.sqrt(acc[row, 0]) * decay, np.float32(0.0))
    if bits != 0:
        for _ in range(HALVINGS):
            left *= left
    for q in range(theta.shape[1]):
        theta[row, q] *= left


@njit(cache=True, fastmath=True, error_model="numpy")
def step_labels(labels, n_relevant, visit, params, acc, objective, rate, scratch):
    """Score the chosen labels of one row, add the gradient in h and move or collect the labels.

    Returns the loss, 0 where it is not measured. Tuples are taken apart before the loop: touching
    them inside would count references at every label.
    """
    key, online, measured = visit.key, visit.online, visit.measured
    relevant_weight, irrelevant_weight = visit.weight, visit.irrelevant_weight
    L, c, acc_L, acc_c = params.L, params.c, acc.L, acc.c
    h, grad_h = scratch.h, scratch.grad_h
    slots, touched, gradients = scratch.label_slot, scratch.label_rows, scratch.label_grad
    loss_kind, focus, floor = objective.loss, objective.focus, objective.gradient_floor
    label_weight, max_norm = objective.label_weight, objective.max_label_norm
    decay, bounded = np.float32(2.0) * objective.l2, len(objective.max_label_norm) > 0
    corrected, shift = objective.sampler.log_q, scratch.shift
    elementwise, intercept = objective.elementwise, objective.intercept
    # The mean squared gradient of a label is its squared slope times this: one pass for all labels.
    square = mean_square(h)
    loss = 0.0
    for position in range(len(labels)):
        label = labels[position]
        # Labels are scattered over L: ask for a row, which will be written too, two labels ahead.
        if position + AHEAD < len(labels):
            following = labels[position + AHEAD]
            prefetch_row(L, following)
            prefetch_number(acc_L, following)
            prefetch_number(c, following)
            prefetch_number(acc_c, following)
        score = dot_row(L, label, h) + c[label]
        # Trained on s - log r, the score s is a logit of the label without the effect of sampling.
        if corrected:
            score -= shift[position]
        if position < n_relevant:
            target, scale = np.float32(1.0), relevant_weight * label_weight[label]
        else:
            target, scale = np.float32(-1.0), irrelevant_weight
        if measured:
            loss += scale * value_of_loss(loss_kind, score, target, focus)
        slope = scale * slope_of_loss(loss_kind, score, target, focus)
        slope, bits = thin_slope(slope, scale * floor, key, position)
        if slope == 0:
            # The penalty is due all the same; a call for every label would cost what is saved.
            if decay > 0 and not online:
                slot_of(label, slots, touched)
            elif decay > 0 and (elementwise or bits & SELDOM == 0):
                pay_penalty(L, acc_L, label, rate, decay, bits, elementwise)
            continue
        # Before the label moves: the gradient in h belongs to the vector that gave the score.
        add_scaled_row(grad_h, slope, L, label)
        if online:
            adagrad_row(L, acc_L, label, slope, h, square, rate, decay, elementwise)
            if intercept:
                adagrad_number(c, acc_c, label, slope, rate)
            if bounded:
                shrink_row(L, label, max_norm[label])
        else:
            slot = slot_of(label, slots, touched)
            add_to_row(gradients, slot, slope, h)
            gradients[slot, len(h)] += slope
    return loss


@njit(cache=True, fastmath=True, error_model="numpy")
def step_features(indices, data, params, acc, objective, rate, scratch, online):
    """Move the rows of ``W`` of one instance and the bias, or collect their gradients."""
    # dloss/dW[f] = x_f grad_h: the rows of W of one instance differ by a factor alone.
    W, acc_W, grad_h = params.W, acc.W, scratch.grad_h
    slots, touched, gradients = scratch.feature_slot, scratch.feature_rows, scratch.feature_grad
    decay, elementwise = np.float32(2.0) * objective.l2, objective.elementwise
    square = mean_square(grad_h)
    for position in range(len(indices)):
        feature, value = indices[position], data[position]
        if position + AHEAD < len(indices):
            prefetch_number(acc_W, indices[position + AHEAD])
        if online:
            adagrad_row(W, acc_W, feature, value, grad_h, square, rate, decay, elementwise)
        else:
            add_to_row(gradients, slot_of(feature, slots, touched), value, grad_h)
    if not objective.intercept:
        return
    if online:
        adagrad_vector(params.b, acc.b, grad_h, rate)
    else:
        add_to_row(gradients, len(gradients) - 1, np.float32(1.0), grad_h)


@njit(cache=True, error_model="numpy")
def visit_row(rows, row, visit, params, acc, objective, rate, scratch):
    """Process one row; returns its loss on the chosen labels if it is measured.

    Online, the parameters move at once. Otherwise the gradients are added to the batch buffers of
    ``scratch`` and `apply_batch` moves the parameters.
    """
    relevant = rows.y_indices[rows.y_indptr[row] : rows.y_indptr[row + 1]]
    start, stop = rows.x_indptr[row], rows.x_indptr[row + 1]
    indices, data = rows.x_indices[start:stop], rows.x_data[start:stop]
    count, share = choose_labels(rows, row, visit, objective, scratch)
    # share is 1, or 1/C of equation (8) where all irrelevant labels are there.
    visit = Visit(
        visit.key,
        visit.stamp,
        visit.weight,
        visit.weight * share,
        visit.online,
        visit.measured,
    )
    represent(params.W, params.b, indices, data, objective.activation, scratch.h)
    scratch.grad_h[:] = np.float32(0.0)
    labels = scratch.labels[:count]
    loss = step_labels(labels, len(relevant), visit, params, acc, objective, rate, scratch)
    # Back through the activation: all labels have added to the gradient in h by now.
    times_activation_slope(objective.activation, scratch.h, scratch.grad_h)
    step_features(indices, data, params, acc, objective, rate, scratch, visit.online)
    return loss


@njit(cache=True, inline="always")
def slot_of(row, slots, touched):
    """Return the gradient slot of ``row`` in this batch, taking the next free one if none.

    So gradients of a batch lie side by side, and clearing them costs what was touched, not m or d.
    """
    if slots[row] < 0:
        slots[row] = touched[0]
        touched[0] += 1
        touched[touched[0]] = row
    return slots[row]


@njit(cache=True, error_model="numpy")
def apply_batch(params, acc, objective, rate, scratch):
    """Move every touched row once against its summed gradient, then clear the buffers."""
    L, c, W, gradients = params.L, params.c, params.W, scratch.label_grad
    # The derivative of l2 |l|^2 is 2 l2 l; rows that no visit touches do not decay.
    k, max_norm = W.shape[1], objective.max_label_norm
    decay, one = np.float32(2.0) * objective.l2, np.float32(1.0)
    elementwise, intercept = objective.elementwise, objective.intercept
    for slot in range(scratch.label_rows[0]):
        label = scratch.label_rows[slot + 1]
        gradient = gradients[slot, :k]
        square = mean_square(gradient)
        adagrad_row(L, acc.L, label, one, gradient, square, rate, decay, elementwise)
        if intercept:
            adagrad_number(c, acc.c, label, gradients[slot, k], rate)
        if len(max_norm) > 0:
            shrink_row(L, label, max_norm[label])
        gradients[slot] = np.float32(0.0)
        scratch.label_slot[label] = -1
    for slot in range(scratch.feature_rows[0]):
        feature = scratch.feature_rows[slot + 1]
        gradient = scratch.feature_grad[slot]
        square = mean_square(gradient)
        adagrad_row(W, acc.W, feature, one, gradient, square, rate, decay, elementwise)
        gradient[:] = np.float32(0.0)
        scratch.feature_slot[feature] = -1
    adagrad_vector(params.b, acc.b, scratch.feature_grad[-1], rate)
    scratch.feature_grad[-1] = np.float32(0.0)
    scratch.label_rows[0] = 0
    scratch.feature_rows[0] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def run_visits(rows, params, acc, objective, visits, scratch, start, stop):
    """Process visits ``start`` to ``stop`` in order, in batches.

    Moves ``params`` and ``acc`` in place. Several threads may run on them at once, each with its
    own ``scratch``: updates are lock-free and may overwrite one another. Returns the summed loss of
    the measured visits and their summed weight.
    """
    online, in_batch = visits.batch_size == 1, objective.sampler.kind == IN_BATCH
    slowdown = (visits.first_rate - visits.last_rate) / len(visits.rows)
    loss, total = 0.0, 0.0
    # A visit marks labels with its own number: nothing is cleared between visits.
    scratch.seen[:] = 0
    for number in range(start, stop):
        rate = np.float32(visits.first_rate - slowdown * number)
        weight = visits.weights[number]
        measured = number % visits.loss_stride == 0
        done = number - start + 1
        visit = Visit(visits.keys[number], done, weight, weight, online, measured)
        if in_batch and (done - 1) % visits.batch_size == 0:
            batch = visits.rows[number : min(number + visits.batch_size, stop)]
            scratch.batch[0] = len(batch)
            scratch.batch[1 : len(batch) + 1] = batch
        loss += visit_row(rows, visits.rows[number], visit, params, acc, objective, rate, scratch)
        if measured:
            total += weight
        if not online and (done % visits.batch_size == 0 or number == stop - 1):
            apply_batch(params, acc, objective, rate, scratch)
    return loss, total
