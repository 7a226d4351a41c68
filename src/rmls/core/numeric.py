"""The logistic function, logistic regression by Newton's method, rising curves, their biases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.resources import for_blocks

F = TypeVar("F", bound=np.floating[Any])
Floats = NDArray[np.float64]

# Keeps the Hessian invertible where all rows are far out on the curve.
MIN_CURVATURE = 1e-9
BLOCK_ROWS = 8192


def sigmoid(logits: NDArray[F]) -> NDArray[F]:
    """Return ``1 / (1 + exp(-x))`` of every logit, in its type.

    By way of tanh, which overflows nowhere.

    Examples
    --------
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)), dtype=logits.dtype)


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of positive numbers that sum to 1, in the order of the scores.

    Examples
    --------
    >>> softmax(np.float32([[0.0, 0.0], [900.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    # The largest power is exp(0) = 1, so that none overflows.
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)


class NewtonSteps(NamedTuple):
    """How many steps are taken at the most, how far one goes, and which one is the last.

    Attributes
    ----------
    max_steps : int
    max_move : float
        No coefficient moves further in one step; longer steps are shortened, in their direction.
    tolerance : float
        A step in which no coefficient would move further is the last one.
    """

    max_steps: int = 100
    max_move: float = 2.0
    tolerance: float = 1e-8


# Five frequencies of labels have numbers of their own; labels in between get the mean of two.
N_BANDS = 5
# Groups of labels by their rows: 1, 1.4, 2, 2.8, 4, … up to 2^40.
N_GROUPS = 81
# Curves follow nine frequencies: labels differ over shorter ranges than five can tell apart.
N_CURVE_BANDS = 9
# Where a curve may bend: at probabilities of 1%, 5%, 18%, 50% and 82%.
BENDS = (-5.0, -3.0, -1.5, 0.0, 1.5)
# A priori: how far a curve is moved, and by how much its slope changes, in all and at a bend.
MOVE_DEVIATION, SLOPE_DEVIATION = 1.0, 0.25
# Of these, how far one frequency is from the next: what few positives say is shared by many.
STEP_DEVIATION = 0.2
# Of the common curve: what keeps another one from being level.
LEAST_RISE = 1e-3
# Numbers of a block of labels x points: 512 kB of float64, which stays in the cache.
CHUNK = 1 << 16
BIAS_STEPS = NewtonSteps(25, 1.0, 1e-4)
# A probability of 3e-7, or 1 minus that.
MAX_LOGIT = 15.0
# In units of the deviation of the scores: a curve that keeps rising keeps their order.
MIN_SLOPE = 0.01
TO_THE_END = NewtonSteps()


def fit_logistic(
    design: NDArray[Any],
    total: NDArray[Any],
    positive: NDArray[Any],
    *,
    start: ArrayLike | None = None,
    offset: Any = 0.0,
    ridge: float = 0.0,
    steps: NewtonSteps = TO_THE_END,
    n_threads: int = 1,
) -> Floats:
    """Return the coefficients of a logistic regression on counted or weighted rows.

    Minimises ``Σ_i total_i log(1 + exp(z_i)) - positive_i z_i + ridge |θ|² / 2`` over θ, with
    ``z = design θ + offset``.

    Parameters
    ----------
    design : ndarray of float32 or float64, shape (n_rows, n_coefficients)
        Sums over rows are taken in its type.
    total, positive : ndarray, shape (n_rows,)
        Weight of a row, and the part of it that is relevant.
    start : array-like of shape (n_coefficients,), optional
        Where the steps begin; zeros by default.
    offset : ndarray of shape (n_rows,) or float, default=0.0
        The part of the logits that is known.
    ridge : float, default=0.0
    steps : NewtonSteps, optional
    n_threads : int, default=1
        The result does not depend on it.

    Notes
    -----
    The loss is flat far from its minimum: a plain Newton step from there divides a large slope by
    a curvature near 0 and can go further out each time. Bounded steps come back.

    Examples
    --------
    >>> one = np.ones((2, 1))
    >>> theta = fit_logistic(one, np.array([3.0, 1.0]), np.array([2.0, 1.0]))
    >>> sigmoid(theta).round(3).tolist()
    [0.75]
    """
    theta = np.zeros(design.shape[1]) if start is None else np.array(start, dtype=np.float64)
    known = np.broadcast_to(np.asarray(offset), (len(design),))
    # Blocks that stay in the cache; their sums do not depend on the number of threads.
    blocks = for_blocks(
        lambda start, stop: _NewtonBlock.of(
            *(x[start:stop] for x in (design, total, positive, known))
        ),
        len(design),
        BLOCK_ROWS,
        n_threads,
    )

    def bend(number: int, _: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return blocks[number].bend(theta)

    for _ in range(steps.max_steps):
        slope, curvature = ridge * theta, max(ridge, MIN_CURVATURE) * np.eye(len(theta))
        bent = for_blocks(bend, len(blocks), 1, n_threads)
        for block, (own_slope, own_curvature) in zip(blocks, bent, strict=True):
            slope[block.used] += own_slope
            curvature[np.ix_(block.used, block.used)] += own_curvature
        move = np.linalg.solve(curvature, slope)
        length = float(np.abs(move).max())
        theta -= move * min(1.0, steps.max_move / max(length, 1e-12))
        if length < steps.tolerance:
            break
    return theta


class _NewtonBlock(NamedTuple):
    """Some rows of a logistic regression, with the columns that are not 0 in all of them."""

    design: NDArray[Any]
    used: NDArray[np.int64]
    total: NDArray[Any]
    positive: NDArray[Any]
    known: NDArray[Any]

    @classmethod
    def of(cls, design: NDArray[Any], *rows: NDArray[Any]) -> _NewtonBlock:
        """Return rows and what is known of them."""
        used = np.flatnonzero(design.any(axis=0))
        return cls(np.ascontiguousarray(design[:, used]), used, *rows)

    def bend(self, theta: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the slope of the loss in the coefficients of the columns, and its curvature."""
        X, n = self.design, self.total
        p = sigmoid(X @ theta[self.used].astype(X.dtype) + self.known)
        # Slope Xᵀ (n p - y), curvature Xᵀ diag(n p (1 - p)) X.
        return X.T @ (n * p - self.positive), (X * (n * p * (1 - p))[:, None]).T @ X


def fit_line(scores: Floats, total: Floats, positive: Floats) -> tuple[float, float]:
    """Return slope and offset of the logits, by logistic regression.

    A slope below 0.01 of the scale of the scores, where scores say nothing, is not taken; the
    offset is then the best for that slope.
    """
    middle = float(np.average(scores, weights=total))
    spread = float(np.sqrt(np.average((scores - middle) ** 2, weights=total)))
    # At least one bin, where all scores are nearly equal.
    spread = max(spread, float(scores[1] - scores[0]))
    scaled = (scores - middle) / spread
    rate = np.clip(positive.sum() / total.sum(), 1e-9, 1 - 1e-9)
    start, one = float(np.log(rate / (1 - rate))), np.ones_like(scaled)
    line = np.stack([scaled, one], axis=1)
    slope, offset = fit_logistic(line, total, positive, start=[0.0, start])
    if slope < MIN_SLOPE:
        slope, known = MIN_SLOPE, MIN_SLOPE * scaled
        (offset,) = fit_logistic(one[:, None], total, positive, start=[start], offset=known)
    return float(slope / spread), float(offset - slope * middle / spread)


def fit_curve(scores: Floats, total: Floats, positive: Floats, line: Floats) -> Floats:
    """Return rising logits at the scores: pooled adjacent violators, straight in between.

    Up to one pair on the ``line`` is added to every bin, a hundredth of what it holds, which keeps
    the logits finite and the curve defined where there are no pairs. Beyond the outermost means
    the curve rises with a tenth of the slope of the line, so that no two scores become equal.
    """
    weight = total + 1e-3 + np.minimum(1.0, 0.01 * total)
    right = positive + (weight - total) * sigmoid(line)
    blocks: list[tuple[float, float, float]] = []
    # Pooled adjacent violators: a bin joins the ones before while its share is not above theirs.
    # Every bin is pooled once: linear time.
    for block in zip(scores * weight, right, weight, strict=True):
        x, y, w = block
        while blocks and blocks[-1][1] * w >= y * blocks[-1][2]:
            last = blocks.pop()
            x, y, w = x + last[0], y + last[1], w + last[2]
        blocks.append((x, y, w))
    pooled = np.asarray(blocks)
    share = np.clip(pooled[:, 1] / pooled[:, 2], 1e-7, 1 - 1e-7)
    logits = np.clip(np.log(share / (1 - share)), -MAX_LOGIT, MAX_LOGIT)
    # The mean score of a block: straight lines between them rise where steps would tie scores.
    knots = pooled[:, 0] / pooled[:, 2]
    slope = 0.1 * (line[-1] - line[0]) / (scores[-1] - scores[0])
    beyond = scores - np.clip(scores, knots[0], knots[-1])
    return np.asarray(np.interp(scores, knots, logits) + slope * beyond, dtype=np.float64)


def bands(counts: NDArray[Any], top: float, n_bands: int = N_BANDS) -> Floats:
    """Return how near every count is to each of some frequencies from 1 to ``top``; rows sum to 1.

    Examples
    --------
    >>> bands(np.array([1.0, 4.0, 256.0]), 256.0).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    logs = np.log2(np.clip(counts, 1.0, max(top, 1.0)))
    # Hat functions: linear interpolation between the two nearest points in the log count.
    place = logs / max(np.log2(max(top, 1.0)), 1.0) * (n_bands - 1)
    return np.asarray(np.maximum(1 - np.abs(place[:, None] - np.arange(n_bands)), 0.0))


def half_octaves(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of counts among 1, 1.4, 2, 2.8, 4, …, the nearest in the logarithm.

    Examples
    --------
    >>> half_octaves(np.array([0, 1, 2, 3, 100])).tolist()
    [0, 0, 2, 3, 13]
    """
    logs = np.log2(np.clip(counts, 1.0, 2.0 ** (N_GROUPS // 2)))
    return np.asarray(np.rint(2 * logs), dtype=np.int64)


def curve_bands(places: NDArray[np.int64], top: float) -> Floats:
    """Return how near the frequencies at some half octaves are to those that curves follow."""
    return bands(np.exp2(places / 2), top, N_CURVE_BANDS)


def bend_curve(curve: Floats, counts: Floats, near: Floats, wanted: Floats) -> Floats:
    """Return rising curves near a common one, whose difference from it follows a frequency.

    Every band of frequencies moves the curve, stretches it, and bends it at five places. Their mean
    has a normal prior around 0 and a band one around the band before: with few positives bands do
    what their neighbours do. One logistic regression finds all numbers.

    Parameters
    ----------
    curve : ndarray of shape (n_points,)
        Logits.
    counts : ndarray of shape (2, n_groups, n_points)
        Pairs of every group at the points, and the relevant ones.
    near : ndarray of shape (n_groups, n_bands)
        How near the frequency of a group is to each band; `bands`.
    wanted : ndarray of shape (n_curves, n_bands)
        How near the frequencies are whose curves are returned.

    Examples
    --------
    >>> curve, one = np.array([-2.0, 0.0, 2.0]), np.ones((1, 1))
    >>> total = np.full((1, 3), 1000.0)
    >>> counts = np.stack([total, total * sigmoid(curve + 1)])
    >>> bend_curve(curve, counts, one, one).round(1).tolist()
    [[-1.0, 1.0, 3.0]]
    """
    above = [SLOPE_DEVIATION * np.maximum(curve - bend, 0) for bend in BENDS]
    stretch = SLOPE_DEVIATION * curve
    terms = np.stack([np.full_like(curve, MOVE_DEVIATION), stretch, *above], axis=1)
    # In steps from band to band, all numbers have the same prior.
    steps = _steps(near.shape[1])
    near, wanted = near @ steps, wanted @ steps
    # Only groups and points with pairs: most have none.
    groups, points = np.nonzero(counts[0])
    shape = (len(groups), near.shape[1] * terms.shape[1])
    design = (near[groups, :, None] * terms[points, None, :]).reshape(shape)
    total, positive = counts[:, groups, points]
    theta = fit_logistic(design, total, positive, offset=curve[points], ridge=1.0)
    found = curve + wanted @ theta.reshape(near.shape[1], -1) @ terms.T
    # A curve that falls would turn the order of the scores.
    return np.asarray(np.maximum.accumulate(found, axis=1) + LEAST_RISE * (curve - curve[0]))


def _steps(n_bands: int) -> Floats:
    """Return how bands come of their mean, the first number, and the steps between them."""
    steps = STEP_DEVIATION * np.tri(n_bands)
    # Steps leave the mean where it is.
    steps -= steps.mean(axis=0)
    steps[:, 0] = 1.0
    return np.asarray(steps)


def fit_biases(
    curve: Floats, total: NDArray[Any], positive: NDArray[Any], deviation: float
) -> Floats:
    """Return for each label what to add to the curve, the most probable under a normal prior.

    Parameters
    ----------
    curve : ndarray of shape (n_points,)
    total, positive : ndarray of shape (n_labels, n_points)
    deviation : float
        Of the prior.

    Examples
    --------
    >>> total = np.full((2, 1), 1000.0)
    >>> fit_biases(np.zeros(1), total, total * [[0.5], [0.9]], 10.0).round(1).tolist()
    [0.0, 2.2]
    """
    bias = np.zeros(len(total))
    precision = 1.0 / deviation**2
    for part in _parts(total):
        observed = positive[part].sum(axis=1, dtype=np.float64)
        for _ in range(BIAS_STEPS.max_steps):
            expected, curvature = _expect(curve + bias[part, None], total[part])
            # d/db of the log loss: expected minus observed positives, and the pull of the prior.
            gradient = expected - observed + precision * bias[part]
            most = BIAS_STEPS.max_move
            move = np.clip(gradient / (curvature + precision), -most, most)
            bias[part] -= move
            if np.abs(move).max(initial=0.0) < BIAS_STEPS.tolerance:
                break
    return bias


def measure_misfit(
    curve: Floats, total: NDArray[Any], positive: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Return how many positives labels have beyond those expected, and what chance varies them."""
    extra, variance = np.zeros((2, len(total)))
    for part in _parts(total):
        expected, variance[part] = _expect(curve[None, :], total[part])
        extra[part] = positive[part].sum(axis=1, dtype=np.float64) - expected
    return extra, variance


def estimate_deviation(extra: Floats, variance: Floats, most: float) -> float:
    """Return the deviation of the biases of labels that explains their misfit best.

    With v positives of variance by chance and biases of deviation s, the number of positives
    beyond those expected varies by ``v + v² s²``.

    Examples
    --------
    >>> extra, variance = np.array([30.0, -30.0] * 50), np.full(100, 100.0)
    >>> round(estimate_deviation(extra, variance, 0.5), 1)
    0.3
    """
    tried = most * np.arange(1, 21) / 20
    spread = variance[:, None] * (1 + variance[:, None] * tried**2)
    some = variance > 0
    loss = (np.log(spread[some]) + extra[some, None] ** 2 / spread[some]).sum(axis=0)
    return float(tried[int(np.argmin(loss))])


def _parts(rows: NDArray[Any]) -> Iterator[slice]:
    step = max(1, CHUNK // max(rows.shape[1], 1))
    return (slice(start, start + step) for start in range(0, len(rows), step))


def _expect(logits: Floats, total: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the expected number of positives of every row of counts, and its variance."""
    p = np.broadcast_to(sigmoid(logits), total.shape)
    expected = np.einsum("ij,ij->i", total, p)
    return expected, np.einsum("ij,ij->i", total, p * (1 - p))
