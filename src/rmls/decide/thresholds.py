"""Thresholds on probabilities: one for micro-F, one a label for macro-F."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide.calibration import Calibration, Floats, ScoreCounts
from rmls.decide.rules import Rule, _Cut

N_CUTS = 200
# Geometric: the best threshold is half of the best F, which is small for rare labels.
CUTS = np.geomspace(1e-3, 0.95, N_CUTS)
# Bounds the tables: 512 labels x 201 cuts.
LABELS_AT_ONCE = 512
# Positives that the common threshold is worth: the best cut of three positives is their noise.
SHRINKAGE = 10.0


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
    counts: ScoreCounts, calibration: Calibration, shrinkage: float = SHRINKAGE
) -> MacroF1:
    """Return thresholds with the best F of every label on the rows that were counted.

    Parameters
    ----------
    counts : ScoreCounts
    calibration : Calibration
    shrinkage : float, default=10
        ``t_j = (n_j best_j + shrinkage t) / (n_j + shrinkage)`` with n_j positives of the label
        and t the one threshold for all labels that has the best macro-F.
    """
    n_positive = counts.positive.sum(axis=1, dtype=np.float64)
    summed, best = np.zeros(N_CUTS), np.zeros(counts.n_labels)
    # Labels without positives get the common threshold and have an F of 0 at all of them.
    for labels, tp, taken in _cumulate(counts, calibration, n_positive > 0):
        values = 2 * tp / (taken + n_positive[labels, None])
        summed += values.sum(axis=0)
        best[labels] = CUTS[np.argmax(values, axis=1)]
    common = CUTS[int(np.argmax(summed))]
    # t_j = (n_j best_j + c t) / (n_j + c).
    share = n_positive / np.maximum(n_positive + shrinkage, 1e-12)
    mixed = share * best + (1 - share) * common
    return MacroF1(mixed.astype(np.float32))


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
