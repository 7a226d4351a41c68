"""New rows for linear classifiers that were learned from others, which are not there any more.

What the old rows said of a label is replaced by a parabola around the weights they led to:

    min over w, b of  sum_j h_j (w_j - v_j)^2 / 2 + h (b - b_0)^2 / 2 + sum_i C_i loss(...)

with the old weights v and b_0, the curvature h of the old loss in the bias, and its curvature h_j
in every weight, about ``1 + (h - 1) q_j + max(v_j, 0)``: q_j is the mean square of the feature in
all rows, and features that speak for the label stand in its rows more often than elsewhere. So a
frequent label moves little, and so does the weight of a frequent word. The dual is solved one
variable at a time, as in `rmls.kernels.cpu.ranker.dual`; ``w = v + sum_i a_i y_i x_i / h``.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.entries import sparse_dot
from rmls.kernels.cpu.linalg.rows import doubled
from rmls.kernels.cpu.ranker.dual import logistic_step, shuffle
from rmls.kernels.cpu.ranker.slots import LOGISTIC, START
from rmls.kernels.jit import njit


@njit(cache=True, nogil=True, fastmath=True)
def softness(problem, row, certainty, squares, w, seen, touched, count, soft):
    """Set ``soft[j] = 1 / h_j`` for the new features of a row; returns how many are known now."""
    for position in range(problem.x_indptr[row], problem.x_indptr[row + 1]):
        feature = problem.x_indices[position]
        if not seen[feature]:
            seen[feature] = True
            touched[count] = feature
            count += 1
            firm = (certainty - np.float32(1.0)) * squares[feature]
            firm += np.float32(1.0) + max(w[feature], np.float32(0.0))
            soft[feature] = np.float32(1.0) / firm
    return count


@njit(cache=True, nogil=True, fastmath=True)
def move_weights(problem, row, change, soft, w):
    """Add a multiple of a row to the weights, each as far as it gives way."""
    for position in range(problem.x_indptr[row], problem.x_indptr[row + 1]):
        feature = problem.x_indices[position]
        w[feature] += change * np.float32(problem.x_data[position]) * soft[feature]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def update_label(problem, rows, n_relevant, factor, offsets, bias, certainty, soft, w, state):
    """Move one label's weights until its variables are optimal; returns its bias and certainty."""
    n_rows = len(rows)
    duals, norms = np.zeros(n_rows, np.float32), np.zeros(n_rows, np.float32)
    order = np.arange(n_rows).astype(np.int32)
    give = np.float32(1.0) / certainty
    for place in range(n_rows):
        row, total = rows[place], give
        for position in range(problem.x_indptr[row], problem.x_indptr[row + 1]):
            value = np.float32(problem.x_data[position])
            total += value * value * soft[problem.x_indices[position]]
        norms[place] = total
        cost = factor * problem.costs[row]
        if problem.loss == LOGISTIC and cost > 0:
            # Its variables lie between 0 and the cost, without either.
            duals[place] = START * cost
            signed = duals[place] if place < n_relevant else -duals[place]
            move_weights(problem, row, signed, soft, w)
            bias += signed * give
    for epoch in range(problem.max_epochs):
        if epoch > 0:
            state = shuffle(order, n_rows, state)
        steepest = np.float32(0.0)
        for position in range(n_rows):
            place = order[position]
            row = rows[place]
            cost, dual = factor * problem.costs[row], duals[place]
            if cost <= 0:
                continue
            target = np.float32(1.0) if place < n_relevant else np.float32(-1.0)
            start, stop = problem.x_indptr[row], problem.x_indptr[row + 1]
            margin = sparse_dot(problem.x_indices, problem.x_data, start, stop, w) + bias
            if len(offsets):
                margin += offsets[place]
            margin *= target
            if problem.loss == LOGISTIC:
                moved = logistic_step(dual, cost, norms[place], margin)
                slope = (dual - moved) * norms[place]
            else:
                diagonal = np.float32(0.5) / cost
                slope = margin - np.float32(1.0) + dual * diagonal
                if dual <= 0:
                    slope = min(slope, np.float32(0.0))
                moved = max(dual - slope / (norms[place] + diagonal), np.float32(0.0))
            steepest = max(steepest, abs(slope))
            if moved != dual:
                duals[place] = moved
                change = (moved - dual) * target
                move_weights(problem, row, change, soft, w)
                bias += change * give
        if steepest <= problem.tolerance:
            break
    for place in range(n_rows):
        cost, dual = factor * problem.costs[rows[place]], duals[place]
        if dual > 0 and problem.loss == LOGISTIC:
            certainty += dual * (np.float32(1.0) - min(dual / cost, np.float32(1.0)))
        elif dual > 0:
            certainty += np.float32(2.0) * cost
    return bias, certainty


@njit(cache=True, nogil=True)
def update_labels(problem, pairs, old, labels, squares, bias, certainty):
    """Update ``labels``, one after another, from the rows of their pairs.

    ``old`` are the weights of all labels as a CSR matrix by label. ``bias`` and ``certainty``, one
    number a label, are written in place.

    Returns
    -------
    lengths, indices, values : ndarrays of int64, int32 and float32
        The weights, label by label, in the order of ``labels``. Those that no new row has are what
        they were; others are left out where they are smaller than ``problem.prune``.
    """
    n_features = len(squares)
    w, soft = np.zeros(n_features, np.float32), np.zeros(n_features, np.float32)
    seen, touched = np.zeros(n_features, np.bool_), np.empty(n_features, np.int32)
    indices, values = np.empty(n_features, np.int32), np.empty(n_features, np.float32)
    lengths = np.zeros(len(labels), np.int64)
    filled = 0
    for number in range(len(labels)):
        label = labels[number]
        rows = pairs.rows[pairs.indptr[label] : pairs.indptr[label + 1]]
        own = slice(pairs.indptr[label], pairs.indptr[label + 1])
        offsets = problem.offsets[own] if len(problem.offsets) else problem.offsets
        # The outputs grow by doubling, with room for one more label.
        if filled + n_features > len(indices):
            indices, values = doubled(indices), doubled(values)
        first, last = old.indptr[label], old.indptr[label + 1]
        for place in range(first, last):
            w[old.indices[place]] = old.data[place]
        count = 0
        for row in rows:
            count = softness(problem, row, certainty[label], squares, w, seen, touched, count, soft)
        bias[label], certainty[label] = update_label(
            problem,
            rows,
            pairs.n_relevant[label],
            problem.label_costs[label],
            offsets,
            bias[label],
            certainty[label],
            soft,
            w,
            np.uint64(label + 1) * np.uint64(0x9E3779B97F4A7C15),
        )
        before = filled
        for place in range(first, last):
            feature = old.indices[place]
            if not seen[feature]:
                indices[filled], values[filled] = feature, w[feature]
                filled += 1
                w[feature] = np.float32(0.0)
        for feature in touched[:count]:
            if abs(w[feature]) >= problem.prune and w[feature] != 0:
                indices[filled], values[filled] = feature, w[feature]
                filled += 1
            w[feature] = np.float32(0.0)
            seen[feature] = False
        lengths[number] = filled - before
    return lengths, indices[:filled].copy(), values[:filled].copy()
