"""Thresholds on probabilities: one for micro-F, one a label for macro-F."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError
from rmls.core.numeric import sigmoid
from rmls.core.ranking import Ranking
from rmls.decide.calibration import Calibration, Floats, ScoreCounts
from rmls.decide.rules import Rule, _Cut

N_CUTS = 200
# Geometric: small thresholds need small steps.
CUTS = np.geomspace(1e-3, 0.95, N_CUTS)
# Bounds the tables: 512 labels x 201 cuts.
LABELS_AT_ONCE = 512
# Positives that the thresholds of other labels are worth: the best cut of three positives is noise.
SHRINKAGE = 30.0
# Of half the F that a label's probabilities promise, against the common line (docs/decisions.md).
PROMISE_SHARE = 0.4
# Logits of the most frequent label's threshold; what a rarer one's falls by with its log count.
LEVELS = np.arange(-9.0, 3.01, 0.15)
SLOPES = np.arange(0.0, 1.21, 0.1)


@dataclass(frozen=True)
class MicroF1(_Cut):
    """One threshold on the probabilities, the best for micro-F on held-out rows.

    Examples
    --------
    >>> MicroF1(0.3).select(Ranking.from_dense([[0.9, 0.35, 0.1]])).toarray().tolist()
    [[1, 1, 0]]
    """

    name: ClassVar[str] = "micro_f1"
    needs_probabilities: ClassVar[bool] = True


@dataclass(frozen=True)
class MacroF1(Rule):
    """A threshold for every label, the best for its F on held-out rows, shrunk for rare labels.

    Parameters
    ----------
    thresholds : array of float32, shape (n_labels,), optional
        Probabilities; found by `fit_macro_f1`.

    Examples
    --------
    >>> rule = MacroF1(np.float32([0.5, 0.2]))
    >>> rule.select(Ranking.from_dense([[0.4, 0.3], [0.6, 0.1]])).toarray().tolist()
    [[0, 1], [1, 0]]
    """

    name: ClassVar[str] = "macro_f1"
    needs_probabilities: ClassVar[bool] = True
    thresholds: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.thresholds is not None:
            values = np.asarray(self.thresholds)
            if values.ndim != 1 or values.dtype.kind not in "iuf" or np.isnan(values).any():
                raise InputError("thresholds must be 1-d, one number for every label.")
            object.__setattr__(self, "thresholds", values.astype(np.float32, copy=False))

    @property
    def is_fitted(self) -> bool:
        """Whether there are thresholds."""
        return self.thresholds is not None

    def lowest(self, block: NDArray[np.float32]) -> Any:
        """Return the thresholds of the labels."""
        return self._checked(block.shape[1])[None, :]

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries reach the threshold of their label."""
        return ranking.scores >= self._checked(ranking.n_labels)[ranking.labels]

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, without its array."""
        return {"name": self.name}

    def _checked(self, n_labels: int) -> NDArray[np.float32]:
        if self.thresholds is None:
            raise InputError("the rule 'macro_f1' has no thresholds yet; fit it first.")
        if len(self.thresholds) != n_labels:
            raise InputError(
                f"the rule 'macro_f1' has {len(self.thresholds)} thresholds for {n_labels} labels."
            )
        return self.thresholds


def fit_micro_f1(counts: ScoreCounts, calibration: Calibration) -> MicroF1:
    """Return the threshold with the best micro-F on the rows that were counted."""
    hits, sizes = np.zeros(N_CUTS), np.zeros(N_CUTS)
    counted = np.asarray(counts.total.any(axis=1))
    for _, tp, taken in _cumulate(counts, calibration, counted):
        hits, sizes = hits + tp.sum(axis=0), sizes + taken.sum(axis=0)
    # F = 2 tp / (predicted + true), at all cuts at once.
    values = 2 * hits / (sizes + counts.positive.sum(dtype=np.float64))
    return MicroF1(float(CUTS[int(np.argmax(values))]))


def fit_macro_f1(
    counts: ScoreCounts,
    calibration: Calibration,
    shrinkage: float = SHRINKAGE,
    label_counts: ArrayLike | None = None,
) -> MacroF1:
    """Return thresholds with a good F of every label, from the rows that were counted.

    Parameters
    ----------
    counts : ScoreCounts
    calibration : Calibration
    shrinkage : float, default=30
        Positives that what is known without a label's own hits is worth.
    label_counts : array-like of shape (n_labels,), optional
        Training rows of every label; without them, its positives in ``counts``.

    Notes
    -----
    In logits of the curve that all labels share, without their biases,
    ``t_j = (n_j best_j + c prior_j) / (n_j + c)`` with n_j counted positives of the label, its best
    cut on them and the shrinkage c. ``prior_j`` is 0.6 times a line in the logarithm of the label's
    frequency, the one with the best macro-F, plus 0.4 times the logit of F/2, where F is what the
    label's probabilities promise: a cut at half of the best F is the best.
    """
    n_positive = counts.positive.sum(axis=1, dtype=np.float64)
    known = n_positive if label_counts is None else np.asarray(label_counts, dtype=np.float64)
    if known.shape != n_positive.shape:
        raise InputError(f"label_counts must be {counts.n_labels} numbers, one for every label.")
    logs = np.log1p(known)
    rarity = logs.max(initial=0.0) - logs
    # Lower edge and centre of every bin in turn: the curve is straight between two of them.
    points = counts.low + counts.step / 2 * np.arange(2 * counts.total.shape[1])
    logits = _common_logits(calibration, points)
    level, slope = _best_line(counts, logits[::2], rarity)
    line = level - slope * rarity
    best, promised = _own_cuts(counts, logits[::2], logits[1::2])
    prior = line + PROMISE_SHARE * np.where(np.isfinite(promised), promised - line, 0.0)
    share = n_positive / np.maximum(n_positive + shrinkage, 1e-12)
    mixed = share * best + (1 - share) * prior
    # From the common curve back to scores, and on to the probabilities that the rule will see.
    scores = np.interp(mixed, logits, points).astype(np.float32)
    return MacroF1(calibration.of_entries(scores, np.arange(counts.n_labels, dtype=np.int32)))


def _common_logits(calibration: Calibration, scores: Floats) -> Floats:
    """Return logits by the curve that all labels share, without their biases."""
    curve = calibration.curves[0].astype(np.float64)
    grid = calibration.low + calibration.step * np.arange(len(curve))
    beyond = scores - np.clip(scores, grid[0], grid[-1])
    return np.asarray(np.interp(scores, grid, curve) + calibration.slope * beyond)


def _best_line(counts: ScoreCounts, edges: Floats, rarity: Floats) -> tuple[float, float]:
    """Return level and slope of the line of thresholds with the best macro-F.

    ``edges`` are logits at the lower edges of the bins.
    """
    summed = np.zeros((len(SLOPES), len(LEVELS)))
    # Labels without positives have an F of 0 on every line.
    for labels, values in _f_values(counts, np.asarray(counts.positive.any(axis=1))):
        for number, slope in enumerate(SLOPES):
            cuts = LEVELS - slope * rarity[labels, None]
            places = np.minimum(np.searchsorted(edges, cuts), len(edges) - 1)
            summed[number] += np.take_along_axis(values, places, axis=1).sum(axis=0)
    slope_at, level_at = np.unravel_index(int(np.argmax(summed)), summed.shape)
    return float(LEVELS[level_at]), float(SLOPES[slope_at])


def _own_cuts(counts: ScoreCounts, edges: Floats, centres: Floats) -> tuple[Floats, Floats]:
    """Return for each label the best cut on its positives, and half the F that it promises.

    All are logits. The second is minus infinity for a label that was counted nowhere.
    """
    best, promised = np.zeros(counts.n_labels), np.full(counts.n_labels, -np.inf)
    chances = sigmoid(centres)
    for labels, values in _f_values(counts, np.ones(counts.n_labels, dtype=bool)):
        # Of equally good cuts the highest: nothing is known of the scores between it and the next.
        best[labels] = edges[::-1][np.argmax(values[:, ::-1], axis=1)]
        # 2 Σ p / (predicted + Σ p over all): F with expected hits in place of the hits.
        total = counts.total[labels]
        hits, taken = _from_above(total * chances), _from_above(total)
        half = (hits / np.maximum(taken + hits[:, :1], 1e-12)).max(axis=1)
        seen = half > 0
        promised[labels[seen]] = np.log(half[seen]) - np.log1p(-half[seen])
    return best, promised


def _f_values(
    counts: ScoreCounts, wanted: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Yield some labels, and for each of them its F at the lower edge of every bin."""
    chosen = np.flatnonzero(wanted)
    for start in range(0, len(chosen), LABELS_AT_ONCE):
        some = chosen[start : start + LABELS_AT_ONCE]
        hits, taken = _from_above(counts.positive[some]), _from_above(counts.total[some])
        yield some, 2 * hits / np.maximum(taken + hits[:, :1], 1e-12)


def _from_above(binned: NDArray[Any]) -> Floats:
    """Return the sums of every bin and those above it."""
    return np.asarray(np.cumsum(binned[:, ::-1], axis=1, dtype=np.float64)[:, ::-1])


def _cumulate(
    counts: ScoreCounts, calibration: Calibration, wanted: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
    """Yield some labels, and for each of them and each cut the relevant and all pairs above it."""
    chosen = np.flatnonzero(wanted)
    centres = counts.centres.astype(np.float32)[:, None]
    for start in range(0, len(chosen), LABELS_AT_ONCE):
        some = chosen[start : start + LABELS_AT_ONCE]
        # A bin is taken as a whole, at the probability of its centre: no score is needed again.
        probabilities = calibration.probabilities(np.repeat(centres, len(some), axis=1), some)
        places = np.searchsorted(CUTS, probabilities.T, side="right")
        n_labels = len(places)
        index = np.arange(n_labels)[:, None] * (N_CUTS + 1) + places
        sums: list[Floats] = []
        for weights in (counts.positive[some], counts.total[some]):
            binned = np.bincount(index.ravel(), weights.ravel(), n_labels * (N_CUTS + 1))
            table = binned.reshape(n_labels, N_CUTS + 1)
            # Summed from the largest cut down; the first column lies below every cut.
            sums.append(np.cumsum(table[:, ::-1], axis=1, dtype=np.float64)[:, ::-1][:, 1:])
        yield some, sums[0], sums[1]
