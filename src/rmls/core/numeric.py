"""The logistic function, softmax, logistic regression by Newton's method, rising curves."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.resources import for_blocks

# Numbers looked at together: they stay in the cache between the two looks.
LOOK = 1 << 16
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


def are_finite(values: NDArray[Any]) -> bool:
    """Tell whether all numbers of an array are finite, without a copy of it.

    Examples
    --------
    >>> are_finite(np.ones(3)), are_finite(np.array([0.0, np.inf]))
    (True, False)
    """
    flat = values.reshape(-1)
    # Both extremes are nan where any number is.
    return all(
        np.isfinite(part.min()) and np.isfinite(part.max())
        for part in (flat[start : start + LOOK] for start in range(0, len(flat), LOOK))
    )


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
    diagonal = max(ridge, MIN_CURVATURE) * np.eye(len(theta))
    known = np.broadcast_to(np.asarray(offset), (len(design),))

    def bend(start: int, stop: int) -> tuple[Floats, Floats]:
        part = slice(start, stop)
        X, n = design[part], total[part]
        p = sigmoid(X @ theta.astype(X.dtype) + known[part])
        # Slope Xᵀ (n p - y), curvature Xᵀ diag(n p (1 - p)) X.
        curved = (X * (n * p * (1 - p))[:, None]).T @ X
        return (X.T @ (n * p - positive[part])).astype(np.float64), curved.astype(np.float64)

    for _ in range(steps.max_steps):
        # Blocks that stay in the cache; their sums do not depend on the number of threads.
        slopes, curvatures = zip(*for_blocks(bend, len(design), BLOCK_ROWS, n_threads), strict=True)
        slope = sum(slopes) + ridge * theta
        move = np.linalg.solve(sum(curvatures) + diagonal, slope)
        length = float(np.abs(move).max())
        theta -= move * min(1.0, steps.max_move / max(length, 1e-12))
        if length < steps.tolerance:
            break
    return theta


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
