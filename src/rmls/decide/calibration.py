"""From scores to probabilities: one curve, a bias for each label, own curves for frequent ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError
from rmls.core.options import check_choice
from rmls.core.ranking import Ranking
from rmls.decide.counts import Floats, ScoreCounts

METHODS = ("auto", "temperature", "platt", "isotonic")
OWN_CURVE_POSITIVES = 100
BIAS_DEVIATION = 1.0
NEWTON_STEPS = 25
MOST_LOGIT = 15.0
CHUNK = 1 << 16
LEAST_SLOPE = 0.01


@dataclass(frozen=True)
class Calibration:
    """A map from the scores of a model to probabilities.

    Attributes
    ----------
    low, step : float
        Grid of scores on which the curves are given.
    slope : float
        How curves go on beyond the grid.
    curves : ndarray of float32, shape (n_curves, n_points)
        Logits; the first curve serves every label without one of its own.
    curve_of : ndarray of int32, shape (n_labels,)
    bias : ndarray of float32, shape (n_labels,)
        Added to the logit.

    Examples
    --------
    >>> counts = ScoreCounts.covering([[-3.0], [3.0]])
    >>> counts.add([[-1.0]] * 8 + [[1.0]] * 8, [[0]] * 6 + [[1]] * 2 + [[0]] * 2 + [[1]] * 6)
    >>> calibration = fit_calibration(counts, "platt")
    >>> calibration.probabilities([[-1.0], [1.0]]).round(2).ravel().tolist()
    [0.25, 0.75]
    """

    low: float
    step: float
    slope: float
    curves: NDArray[np.float32]
    curve_of: NDArray[np.int32]
    bias: NDArray[np.float32]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.bias)

    def probabilities(
        self, scores: ArrayLike, labels: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return the probabilities of a dense block of scores, (n_rows, n_labels).

        ``labels`` are the numbers of the columns, where they are not all labels.
        """
        from rmls.kernels.cpu.decide.blocks import to_probabilities

        block = np.ascontiguousarray(scores, dtype=np.float32)
        columns = np.arange(self.n_labels) if labels is None else labels
        if block.ndim != 2 or block.shape[1] != len(columns):
            raise InputError(
                f"scores have shape {block.shape}, but the calibration is for "
                f"{len(columns)} labels."
            )
        out = np.empty_like(block)
        arguments = (block, columns, *self._numbers(), out)
        to_probabilities(*arguments)
        return out

    def apply(self, ranking: Ranking) -> Ranking:
        """Return a ranking with probabilities for scores, sorted anew."""
        from rmls.kernels.cpu.decide.blocks import entries_to_probabilities, order_rows

        if ranking.n_labels != self.n_labels:
            raise InputError(
                f"the ranking is of {ranking.n_labels} labels, but the calibration is for "
                f"{self.n_labels} labels."
            )
        out = np.empty(len(ranking.scores), dtype=np.float32)
        arguments = (ranking.scores, ranking.labels, *self._numbers(), out)
        entries_to_probabilities(*arguments)
        order = np.empty(len(out), dtype=np.int64)
        order_rows(ranking.indptr, ranking.labels, out, order)
        return Ranking(ranking.indptr, ranking.labels[order], out[order], ranking.n_labels)

    def _numbers(self) -> tuple[Any, ...]:
        scalars = (np.float32(self.low), np.float32(self.step))
        return (*scalars, self.curves, self.curve_of, self.bias, np.float32(self.slope))


def fit_calibration(counts: ScoreCounts, method: str = "auto") -> Calibration:
    """Fit the map from scores to probabilities to counts of held-out scores.

    Parameters
    ----------
    counts : ScoreCounts
        Of rows that the model was not trained on.
    method : {"auto", "temperature", "platt", "isotonic"}, default="auto"
        ``"platt"``: a straight line, in logits, for all labels. ``"temperature"``: a line, and a
        bias for each label, shrunk the more the fewer rows tell about it. ``"isotonic"``: any
        rising curve instead of the line, and one of its own for every label with at least 100
        held-out positives. ``"auto"``: the rising curve and the biases.

    Notes
    -----
    The bias of a label has a normal prior of deviation 1, so that a label without positives
    keeps the common curve. Rising curves are centred isotonic regression in logits: straight
    between the means of the pooled blocks, so that they keep the order of the scores.
    """
    check_choice("calibration", method, METHODS)
    centres = counts.centres
    total, positive = (_sum_labels(c) for c in (counts.total, counts.positive))
    if not positive.any():
        raise InputError("calibration needs held-out rows with labels; there are none.")
    slope, offset = fit_line(centres, total, positive)
    line = slope * centres + offset
    rising = method in ("auto", "isotonic")
    curve = fit_curve(centres, total, positive, line) if rising else line
    bias = np.zeros(counts.n_labels)
    if method != "platt":
        bias = fit_biases(curve, counts.total, counts.positive)
    curves, curve_of = [curve], np.zeros(counts.n_labels, dtype=np.int32)
    if method == "isotonic":
        for label in np.flatnonzero(counts.positive.sum(axis=1) >= OWN_CURVE_POSITIVES):
            own = (counts.total[label].astype(float), counts.positive[label].astype(float))
            curve_of[label] = len(curves)
            curves.append(fit_curve(centres, *own, curve + bias[label]))
            bias[label] = 0.0
    return Calibration(
        float(centres[0]),
        counts.step,
        float(slope),
        np.asarray(curves, dtype=np.float32),
        curve_of,
        bias.astype(np.float32),
    )


def _sum_labels(counts: NDArray[np.float32]) -> Floats:
    return np.asarray(counts.sum(axis=0, dtype=np.float64))


def fit_line(scores: Floats, total: Floats, positive: Floats) -> tuple[float, float]:
    """Return slope and offset of the logits, by logistic regression.

    A slope below 0.01 of the scale of the scores, where scores say nothing, is not taken; the
    offset is then the best for that slope.
    """
    middle = float(np.average(scores, weights=total))
    spread = float(np.sqrt(np.average((scores - middle) ** 2, weights=total)))
    spread = max(spread, float(scores[1] - scores[0]))
    scaled = (scores - middle) / spread
    rate = np.clip(positive.sum() / total.sum(), 1e-9, 1 - 1e-9)
    start, one = float(np.log(rate / (1 - rate))), np.ones_like(scaled)
    slope, offset = _regress(np.stack([scaled, one]), total, positive, [0.0, start], 0 * one)
    if slope < LEAST_SLOPE:
        slope = LEAST_SLOPE
        (offset,) = _regress(one[None], total, positive, [start], slope * scaled)
    return float(slope / spread), float(offset - slope * middle / spread)


def _regress(
    design: Floats, total: Floats, positive: Floats, start: list[float], known: Floats
) -> Floats:
    """Return the coefficients of a logistic regression whose logits have a ``known`` part."""
    theta = np.asarray(start)
    for _ in range(4 * NEWTON_STEPS):
        p = _sigmoid(theta @ design + known)
        gradient = design @ (total * p - positive)
        hessian = (design * (total * p * (1 - p))) @ design.T + 1e-9 * np.eye(len(theta))
        move = np.linalg.solve(hessian, gradient)
        theta = theta - move * min(1.0, 2.0 / max(float(np.abs(move).max()), 1e-12))
        if np.abs(move).max() < 1e-8:
            break
    return theta


def fit_curve(scores: Floats, total: Floats, positive: Floats, line: Floats) -> Floats:
    """Return rising logits at the scores: pooled adjacent violators, straight in between.

    Up to one pair on the ``line`` is added to every bin, a hundredth of what it holds, which keeps
    the logits finite and the curve defined where there are no pairs. Beyond the outermost means
    the curve rises with a tenth of the slope of the line, so that no two scores become equal.
    """
    weight = total + 1e-3 + np.minimum(1.0, 0.01 * total)
    right = positive + (weight - total) * _sigmoid(line)
    blocks: list[tuple[float, float, float]] = []
    for block in zip(scores * weight, right, weight, strict=True):
        x, y, w = block
        while blocks and blocks[-1][1] * w >= y * blocks[-1][2]:
            last = blocks.pop()
            x, y, w = x + last[0], y + last[1], w + last[2]
        blocks.append((x, y, w))
    pooled = np.asarray(blocks)
    share = np.clip(pooled[:, 1] / pooled[:, 2], 1e-7, 1 - 1e-7)
    logits = np.clip(np.log(share / (1 - share)), -MOST_LOGIT, MOST_LOGIT)
    knots = pooled[:, 0] / pooled[:, 2]
    slope = 0.1 * (line[-1] - line[0]) / (scores[-1] - scores[0])
    beyond = scores - np.clip(scores, knots[0], knots[-1])
    return np.asarray(np.interp(scores, knots, logits) + slope * beyond, dtype=np.float64)


def fit_biases(curve: Floats, total: NDArray[Any], positive: NDArray[Any]) -> Floats:
    """Return for each label what to add to the curve, the most probable under a normal prior."""
    bias = np.zeros(len(total))
    step = max(1, CHUNK // len(curve))
    for start in range(0, len(total), step):
        part = slice(start, start + step)
        bias[part] = _fit_biases(curve, total[part], positive[part])
    return bias


def _fit_biases(curve: Floats, total: NDArray[Any], positive: NDArray[Any]) -> Floats:
    """Find the biases of some labels by Newton's method, each step at most 1."""
    bias = np.zeros(len(total))
    observed = positive.sum(axis=1, dtype=np.float64)
    precision = 1.0 / BIAS_DEVIATION**2
    for _ in range(NEWTON_STEPS):
        p = _sigmoid(curve + bias[:, None])
        gradient = np.einsum("ij,ij->i", total, p) - observed + precision * bias
        hessian = np.einsum("ij,ij->i", total, p * (1 - p)) + precision
        move = np.clip(gradient / hessian, -1.0, 1.0)
        bias -= move
        if np.abs(move).max(initial=0.0) < 1e-4:
            break
    return bias


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
