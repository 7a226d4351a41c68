"""Linear classifiers of many labels, each on few rows, by dual coordinate descent.

For one label with rows i, targets y_i = 1 or -1, costs C_i and offsets o_i the problem is

    min over w, b of  (|w|^2 + b^2) / 2 + sum_i C_i loss(y_i (w . x_i + b + o_i))

with the squared hinge ``max(0, 1 - z)^2`` or the logistic loss ``log(1 + exp(-z))``. Its dual has
one variable a_i >= 0 a row, ``w = sum_i a_i y_i x_i``, and is minimised one variable at a time
(Hsieh et al., 2008; Yu, Huang and Lin, 2011). With ``Q_ij = y_i y_j (x_i . x_j + 1)`` it is

    squared hinge:  a'Qa / 2 + sum_i a_i^2 / (4 C_i) - (1 - y_i o_i) a_i,           0 <= a_i
    logistic:       a'Qa / 2 + sum_i y_i o_i a_i + a_i log a_i
                                     + (C_i - a_i) log(C_i - a_i),           0 < a_i < C_i

Its slope in a_i needs only the margin ``y_i (w . x_i + b + o_i)``, so that a step costs one pass
over the row. The variables stay with the caller: after rows were added, a second call starts from
the first solution and moves only the variables of new rows and those above 0.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.entries import add_sparse, column_of, sparse_dot
from rmls.kernels.cpu.linalg.functions import sigmoid
from rmls.kernels.cpu.linalg.rows import doubled
from rmls.kernels.cpu.ranker.slots import (
    LOGISTIC,
    SQUARED_HINGE,
    bring_rows,
    choose_rows,
    find_rows,
    make_room,
    restore_weights,
    spread_relevant,
)
from rmls.kernels.jit import njit

INNER_STEPS = 30
# Epochs that begin with all variables. In between those that rest at 0 are left out, two thirds of
# them: the objective after ten epochs is the same within 0.4%, for 0.6 of the time.
SECOND_LOOKS = (2, 6)
# A label of no more variables looks at all of them in every epoch: that takes no time.
FEW = 64
_HALF = np.uint64(32)


@njit(cache=True, nogil=True, inline="always")
def next_random(state):
    """Return the next state of a xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit(cache=True, nogil=True)
def shuffle(order, size, state):
    """Shuffle the first ``size`` entries in place; returns the generator's state."""
    for last in range(size - 1, 0, -1):
        state = next_random(state)
        # A division takes longer than the rest; 32 random bits times the size hit every place.
        other = np.int64(((state >> np.uint64(32)) * np.uint64(last + 1)) >> np.uint64(32))
        order[last], order[other] = order[other], order[last]
    return state


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def logistic_step(dual, cost, curvature, margin):
    """Return the best value of one variable in (0, cost) with the others fixed.

    Solves ``log(a / (cost - a)) + margin + curvature (a - dual) = 0`` by Newton's method in the
    logit of ``a / cost``, which cannot leave the interval. The left side rises at least as fast as
    the logit, so the solution lies between the first logit and ``-margin``. A step out of what is
    left of that range halves it instead: plain steps can swing from side to side for ever.
    """
    share = dual / cost
    logit = np.log(share / (np.float32(1.0) - share))
    low, high = min(logit, -margin), max(logit, -margin)
    for _ in range(INNER_STEPS):
        share = sigmoid(logit)
        value = logit + margin + curvature * (share * cost - dual)
        if value > 0:
            high = logit
        else:
            low = logit
        slope = np.float32(1.0) + curvature * cost * share * (np.float32(1.0) - share)
        moved = logit - value / slope
        if moved < low or moved > high:
            moved = np.float32(0.5) * (low + high)
        move, logit = logit - moved, moved
        if abs(move) < np.float32(1e-4):
            break
    # From a logit of 17 on a float32 share is 1, and the next epoch would start at infinity.
    logit = min(max(logit, np.float32(-15.0)), np.float32(15.0))
    return cost / (np.float32(1.0) + np.exp(-logit))


@njit(cache=True, nogil=True)
def list_slots(places, n_relevant, count, active):
    """Write the slots that may move to ``active``, those of the relevant rows in front."""
    listed = 0
    for slot in range(count):
        if places[slot] < n_relevant:
            active[listed] = slot
            listed += 1
    for slot in range(count):
        if places[slot] >= n_relevant:
            active[listed] = slot
            listed += 1


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def solve_label(problem, n_relevant, count, n_rows, offsets, indices, data, room, state):
    """Move the first ``count`` variables of one label until they are optimal; returns the bias.

    ``w`` is zero at first and holds the weights at the end. Variables that rest at 0 wait until the
    active ones are optimal, or until all are looked at again.
    """
    begins, ends, places, active = room.begins, room.ends, room.places, room.active
    w, duals = room.w, room.duals
    loss, tolerance, shifted = problem.loss, problem.tolerance, len(offsets) > 0
    bias = restore_weights(n_relevant, n_rows, indices, data, room)
    list_slots(places, n_relevant, count, active)
    n_active, looks_at_all, few = count, True, count <= FEW
    for epoch in range(problem.max_epochs):
        looks_at_all = looks_at_all or few or epoch in SECOND_LOOKS
        # Random orders converge faster (Hsieh et al.). Rows stand in a random one (fingerprints):
        # when most of them only have to be looked at, that is as good, and memory comes in turn.
        in_turn, size, slot = looks_at_all and not few and epoch > 0, n_active, np.int64(0)
        if in_turn:
            state = next_random(state)
            size, slot = count, np.int64(((state >> np.uint64(32)) * np.uint64(count)) >> _HALF)
        elif epoch > 0:
            state = shuffle(active, n_active, state)
        largest, smallest, n_active = np.float32(0.0), np.float32(0.0), 0
        for position in range(size):
            if in_turn:
                slot = slot + 1 if slot + 1 < count else np.int64(0)
            else:
                slot = np.int64(active[position])
            dual = duals[slot]
            target = np.float32(1.0) if places[slot] < n_relevant else np.float32(-1.0)
            margin = sparse_dot(indices, data, begins[slot], ends[slot], w) + bias
            if shifted:
                margin += offsets[places[slot]]
            margin *= target
            # At 0 only a negative slope moves a variable: leave it out for now.
            rests = loss == SQUARED_HINGE and dual <= 0 and margin > np.float32(1.0)
            if few or not rests:
                active[n_active] = slot
                n_active += 1
            if rests:
                continue
            cost, norm = room.costs[slot], room.norms[slot]
            if loss == LOGISTIC:
                moved = logistic_step(dual, cost, norm, margin)
                slope = (dual - moved) * norm
            else:
                diagonal = np.float32(0.5) / cost
                slope = margin - np.float32(1.0) + dual * diagonal
                # The minimum of a parabola of curvature Q_ii + 1 / (2 C_i), cut off at 0.
                moved = max(dual - slope / (norm + diagonal), np.float32(0.0))
            largest, smallest = max(largest, slope), min(smallest, slope)
            if moved != dual:
                duals[slot] = moved
                change = (moved - dual) * target
                add_sparse(indices, data, begins[slot], ends[slot], change, w)
                bias += change
        is_optimal = largest - smallest <= tolerance
        if is_optimal and looks_at_all:
            break
        # The active variables are optimal: look at those left out once more.
        looks_at_all = is_optimal
    return bias


@njit(cache=True, nogil=True)
def gather_weights(indices, n_rows, n_entries, prune, room, indices_out, values_out, filled):
    """Move the weights of one label that are large enough to the outputs, in any order; clear them.

    Returns how many weights the outputs hold. All features are looked at, or those of the rows
    where these are fewer.
    """
    w = room.w
    if len(w) <= n_entries:
        for feature in range(len(w)):
            value = w[feature]
            if abs(value) >= prune and value != 0:
                indices_out[filled] = feature
                values_out[filled] = value
                filled += 1
        w[:] = np.float32(0.0)
        return filled
    for slot in range(n_rows):
        for position in range(room.begins[slot], room.ends[slot]):
            feature = column_of(indices, room.begins[slot], position)
            value = w[feature]
            if abs(value) >= prune and value != 0:
                indices_out[filled] = feature
                values_out[filled] = value
                filled += 1
            # Seen: the next row that has the feature passes it over.
            w[feature] = np.float32(0.0)
    return filled


@njit(cache=True, nogil=True)
def solve_labels(problem, pairs, duals, labels, n_features, bias_out):
    """Solve the problems of ``labels``, one after another.

    ``duals`` (one number a pair) and ``bias_out`` (one a label) are written in place. Labels
    without a relevant row of positive cost get no weights and the bias -1.

    Returns
    -------
    lengths, indices, values : ndarrays of int64, of the type of ``x_indices``, and of float32
        The weights, label by label, in the order of ``labels``.
    """
    longest = np.int64(0)
    for label in labels:
        longest = max(longest, pairs.indptr[label + 1] - pairs.indptr[label])
    room = make_room(problem, longest, n_features)
    indices = np.empty(n_features, problem.x_indices.dtype)
    values = np.empty(n_features, np.float32)
    lengths = np.zeros(len(labels), np.int64)
    filled = np.int64(0)
    for number in range(len(labels)):
        label = labels[number]
        start, stop, n_relevant = (
            pairs.indptr[label],
            pairs.indptr[label + 1],
            pairs.n_relevant[label],
        )
        if not np.any(problem.costs[pairs.rows[start : start + n_relevant]] > 0):
            bias_out[label] = np.float32(-1.0)
            continue
        # Room for one more label, whatever its weights: the outputs grow by doubling.
        if filled + n_features > len(indices):
            indices, values = doubled(indices), doubled(values)
        rows, own = pairs.rows[start:stop], duals[start:stop]
        offsets = problem.offsets[start:stop] if len(problem.offsets) else problem.offsets
        # Random orders belong to the label: a solution does not depend on who else is solved.
        state = np.uint64(label + 1) * np.uint64(0x9E3779B97F4A7C15)
        # The room for slots to visit holds the order until there are slots.
        count, n_rows = choose_rows(problem, rows, own, room.active)
        spread_relevant(room.active, n_relevant, count, n_rows, room.places)
        n_entries = find_rows(problem, rows, problem.label_costs[label], own, n_rows, room)
        given = (problem, n_relevant, count, n_rows, offsets)
        before = filled
        # Twice the same, as a choice between arrays would hide from the compiler what they are.
        if n_entries <= len(room.data):
            bring_rows(problem, n_rows, room)
            bias_out[label] = solve_label(*given, room.indices, room.data, room, state)
            found = (room.indices, n_rows, n_entries, problem.prune, room)
        else:
            bias_out[label] = solve_label(*given, problem.x_indices, problem.x_data, room, state)
            found = (problem.x_indices, n_rows, n_entries, problem.prune, room)
        for slot in range(count):
            own[room.places[slot]] = room.duals[slot]
        filled = gather_weights(*found, indices, values, filled)
        lengths[number] = filled - before
    return lengths, indices[:filled].copy(), values[:filled].copy()
