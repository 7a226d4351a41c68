"""A small problem, and the objective of RMLS written down slowly in float64."""

import numpy as np

from rmls.kernels.arrays import UNIFORM, LabelledRows, Objective, Params, Sampler
from rmls.kernels.cpu.sgd import visits as sgd
from rmls.kernels.cpu.sgd.alias import build_alias
from rmls.kernels.cpu.sgd.visits import make_scratch
from rmls.models.rmls.sampling import count_tries

N_FEATURES, N_LABELS, K = 6, 9, 4
FEATURES = np.array([0, 2, 5], np.int32)
VALUES = np.array([0.7, -0.4, 0.5], np.float32)
RELEVANT = np.array([1, 6], np.int32)
# Focus on relevant and irrelevant labels, and margin, of the focal and asymmetric losses.
FOCUS = (np.float32(1.5), np.float32(2.5), np.float32(0.1))


def make_params(seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((N_FEATURES, K), (K,), (N_LABELS, K), (N_LABELS,))
    return Params(*(rng.normal(0, 0.6, shape).astype(np.float32) for shape in shapes))


def make_accumulators(width=1, start=0.5):
    shapes = ((N_FEATURES, width), (K,), (N_LABELS, width), (N_LABELS,))
    return Params(*(np.full(shape, start, np.float32) for shape in shapes))


def make_rows():
    return LabelledRows(
        np.array([0, len(FEATURES)]), FEATURES, VALUES, np.array([0, len(RELEVANT)]), RELEVANT
    )


def make_sampler(
    kind=UNIFORM, shares=None, *, distinct=False, union=False, log_q=False, leave_out=1
):
    shares = np.full(N_LABELS, 1 / N_LABELS) if shares is None else np.asarray(shares, float)
    return Sampler(
        kind=kind,
        distinct=distinct,
        union=union,
        log_q=log_q,
        leave_out=leave_out,
        label_shift=np.log(shares).astype(np.float32),
        alias=build_alias(shares),
        tries=count_tries(shares),
    )


def make_objective(**changes):
    values = {
        "loss": 0,
        "activation": 0,
        "focus": FOCUS,
        "negatives_per_positive": 2.0,
        "min_negatives": 0,
        "all_negatives": False,
        "sampler": make_sampler(),
        "l2": np.float32(0),
        "max_label_norm": np.zeros(0, np.float32),
        "gradient_floor": np.float32(0),
        "label_weight": np.ones(N_LABELS, np.float32),
        "elementwise": False,
        "intercept": True,
    }
    return Objective(**{**values, **changes})


def kernel_gradient(params, objective, key, weight=1.0):
    """Return the gradients that one visit collects, as dense arrays, and its loss."""
    scratch = make_scratch((N_FEATURES, N_LABELS, K), 2, len(FEATURES), N_LABELS)
    weight = np.float32(weight)
    visit = sgd.Visit(np.uint64(key), 1, weight, weight, False, True)
    loss = sgd.visit_row(
        make_rows(), 0, visit, params, make_accumulators(), objective, np.float32(0), scratch
    )
    gradient = Params(*(np.zeros_like(array, dtype=np.float64) for array in params))
    for slot in range(scratch.label_rows[0]):
        label = scratch.label_rows[slot + 1]
        gradient.L[label] = scratch.label_grad[slot, :K]
        gradient.c[label] = scratch.label_grad[slot, K]
    for slot in range(scratch.feature_rows[0]):
        gradient.W[scratch.feature_rows[slot + 1]] = scratch.feature_grad[slot]
    gradient.b[:] = scratch.feature_grad[-1]
    return gradient, loss


def slow_scores(params, activation):
    z = sum(v * params.W[f].astype(float) for f, v in zip(FEATURES, VALUES, strict=True)) + params.b
    h = {0: np.tanh(z), 1: z, 2: np.maximum(z, 0)}[activation]
    return params.L.astype(float) @ h + params.c


def slow_loss(params, labels, weights, loss, activation, shift=0.0):
    """Return the weighted loss of the given labels; relevant ones count as positive."""
    scores = (slow_scores(params, activation) - shift)[labels]
    target = np.where(np.isin(labels, RELEVANT), 1.0, -1.0)
    values = {
        0: np.logaddexp(0, -target * scores),
        1: (scores - (target + 1) / 2) ** 2 / 2,
        2: np.maximum(0, 1 - target * scores) ** 2,
    }
    return float(weights @ (values[loss] if loss in values else slow_focus(scores, target, FOCUS)))


def slow_focus(scores, target, focus):
    """Return the asymmetric loss of every score, as it is written in the paper."""
    p = 1 / (1 + np.exp(-scores))
    u = np.maximum(p - focus[2], 0)
    relevant = (1 - p) ** float(focus[0]) * np.log(p)
    irrelevant = u ** float(focus[1]) * np.log(1 - u)
    return -np.where(target > 0, relevant, irrelevant)


def finite_differences(params, labels, weights, loss, activation, shift=0.0, step=1e-5):
    """Return the gradient of the slow loss by every parameter, from both sides."""
    wide = Params(*(array.astype(np.float64) for array in params))
    gradient = Params(*(np.zeros_like(array) for array in wide))
    for array, out in zip(wide, gradient, strict=True):
        for index in np.ndindex(array.shape):
            kept = array[index]
            values = []
            for sign in (1, -1):
                array[index] = kept + sign * step
                values.append(slow_loss(wide, labels, weights, loss, activation, shift))
            array[index] = kept
            out[index] = (values[0] - values[1]) / (2 * step)
    return gradient
