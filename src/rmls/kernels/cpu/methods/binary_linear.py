"""Linear machines of two classes on some rows of a CSR matrix, and the confidence of many of them.

The machine minimises ``|w|²/2 + Σ c_i max(0, 1 - t_i (w·x_i + b))²`` with a regularised intercept,
by coordinate descent in the dual (Hsieh et al., 2008).
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.csr import add_row_product
from rmls.kernels.cpu.sgd.draw import GOLDEN, below, mix
from rmls.kernels.jit import njit


@njit(cache=True, nogil=True)
def train_machine(rows, picked, targets, costs, limits, key, w):
    """Write the weights of a machine to ``w``, the intercept last; return the passes it took.

    Parameters
    ----------
    rows : Csr
        All rows.
    picked : ndarray of int64
        The rows to learn from.
    targets, costs : ndarray of float64
        1 or -1, and the weight of the loss, of every picked row.
    limits : (int, float)
        Passes at most, and the largest violation of the optimality conditions that is tolerated.
    key : uint64
        Of the order in which rows are visited.
    w : ndarray of float64, shape (n_features + 1,)
        Zero on entry.
    """
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    count, last = len(picked), len(w) - 1
    # |x|^2 + 1: the intercept is the weight of a constant feature.
    squares, alpha = np.ones(count), np.zeros(count)
    for i in range(count):
        for place in range(indptr[picked[i]], indptr[picked[i] + 1]):
            squares[i] += data[place] * data[place]
    order, state = np.arange(count), key
    for n_passes in range(limits[0]):
        worst = 0.0
        for visit in range(count):
            # A fresh permutation in every pass, drawn as the pass goes (Fisher and Yates).
            state += GOLDEN
            other = visit + below(mix(state), count - visit)
            i = order[other]
            order[other], order[visit] = order[visit], i
            start, stop = indptr[picked[i]], indptr[picked[i] + 1]
            product = w[last]
            for place in range(start, stop):
                product += w[indices[place]] * data[place]
            # The slope of the dual in alpha_i, t_i (w·x_i + b) - 1 + alpha_i / (2 c_i); its
            # curvature is |x_i|^2 + 1 + 1 / (2 c_i), and alpha_i >= 0.
            soft = 0.5 / costs[i]
            slope = targets[i] * product - 1.0 + soft * alpha[i]
            if alpha[i] == 0.0 and slope > 0.0:
                continue
            worst = max(worst, abs(slope))
            changed = max(alpha[i] - slope / (squares[i] + soft), 0.0)
            step = (changed - alpha[i]) * targets[i]
            alpha[i] = changed
            for place in range(start, stop):
                w[indices[place]] += step * data[place]
            w[last] += step
        if worst <= limits[1]:
            return n_passes + 1
    return limits[0]


@njit(cache=True, nogil=True)
def clear_features(rows, picked, w):
    """Set the weights of the features of the picked rows, and the intercept, to zero."""
    indptr, indices = rows.indptr, rows.indices
    for i in range(len(picked)):
        for place in range(indptr[picked[i]], indptr[picked[i] + 1]):
            w[indices[place]] = 0.0
    w[-1] = 0.0


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def add_confidences(queries, weights, intercepts, machines, owners, bounds, out):
    """Add the confidence of every machine to the column of its label in ``out``.

    Parameters
    ----------
    queries : Csr
    weights : Csr
        One row per feature, one column per output.
    intercepts : ndarray of float32, shape (n_outputs,)
    machines : ndarray of int64, shape (n_machines + 1,)
        Machine i owns the outputs ``machines[i]:machines[i + 1]``, each the margin z by which its
        class beats another: its confidence is ``1 / (1 + Σ exp(-z))``.
    owners : ndarray of int64, shape (n_machines,)
        Column of every machine's label.
    bounds : (int, int)
        First and last query to process, the last one excluded.
    out : ndarray of float32, shape (n_queries, n_columns)
    """
    margins = np.empty(len(intercepts), np.float32)
    for row in range(bounds[0], bounds[1]):
        margins[:] = intercepts
        add_row_product(queries, row, weights, margins)
        for machine in range(len(owners)):
            total = np.float32(1.0)
            for output in range(machines[machine], machines[machine + 1]):
                total += np.exp(-margins[output])
            out[row, owners[machine]] += np.float32(1.0) / total


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def sum_confidences(rows, weights, machines, out):
    """Write the summed confidence of the machines of one label for every row to ``out``.

    As `add_confidences`, but ``weights`` has shape (n_features + 1, n_outputs), intercepts last.
    """
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    n_outputs = weights.shape[1]
    margins = np.empty(n_outputs, np.float32)
    for row in range(len(out)):
        for output in range(n_outputs):
            margins[output] = weights[-1, output]
        for position in range(indptr[row], indptr[row + 1]):
            feature, value = indices[position], data[position]
            for output in range(n_outputs):
                margins[output] += value * weights[feature, output]
        summed = np.float32(0.0)
        for machine in range(len(machines) - 1):
            total = np.float32(1.0)
            for output in range(machines[machine], machines[machine + 1]):
                total += np.exp(-margins[output])
            summed += np.float32(1.0) / total
        out[row] = summed
