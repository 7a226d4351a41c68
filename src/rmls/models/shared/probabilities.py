"""Probabilities of an estimator: calibrated on rows it was not trained on, or its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace
from rmls.core.options import read_seed
from rmls.decide import (
    Calibration,
    Rule,
    ScoreCounts,
    fit_calibration,
    fit_macro_f1,
    fit_micro_f1,
)
from rmls.models.shared.cross_fit import count_folds, count_scores, cross_fit_counts
from rmls.models.shared.progress import say

CALIBRATION_ROWS = 2_000
LEAST_ROWS = 30


class Calibrating:
    """What estimators share about probabilities; `rmls.models.shared.estimator` puts it to use."""

    calibration: str | None = None
    calibration_folds: int | str = "auto"
    validation_fraction: float = 0.1
    random_state: Any = 0

    _scores_all_labels: bool = True
    label_counts_: NDArray[np.int64]
    _space: LabelSpace
    _rules: dict[str, Rule]
    _calibration: Calibration | None

    def _share_to_calibrate(self, n_rows: int) -> float:
        """Return the share of rows to hold out of the training for the sake of calibration."""
        if self.calibration is None or self._space.is_single:
            return 0.0
        if count_folds(self.calibration_folds, n_rows):
            return 0.0
        return min(self.validation_fraction, CALIBRATION_ROWS / n_rows)

    def _was_interrupted(self) -> bool:
        """Tell whether the user ended the training early."""
        return False

    def _same_passes(self) -> dict[str, Any]:
        """Return the parameters that make a model of fewer rows train as long as this one."""
        inner = getattr(self, "estimator_", None)
        same = {} if inner is None else inner._same_passes()
        return {"estimator": clone(inner).set_params(**same)} if same else {}

    def _calibrate(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        held_out: NDArray[np.int64],
    ) -> None:
        """Fit the map to probabilities, and the thresholds on them, to rows not trained on."""
        if not len(held_out) and self._was_interrupted():
            return
        counts = self._count_held_out(X, Y, rows, weights, held_out)
        if self._scores_all_labels and (counts is None or not counts.positive.any()):
            # Too little to leave anything out: the scores of all rows are all there is.
            counts = count_scores(self, X, Y, rows, weights)
        if counts is None or not counts.positive.any():
            return
        self._calibration = fit_calibration(counts, str(self.calibration))
        self._rules |= {
            rule.name: rule
            for rule in (
                fit_micro_f1(counts, self._calibration),
                fit_macro_f1(counts, self._calibration),
            )
        }

    def _count_held_out(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        held_out: NDArray[np.int64],
    ) -> ScoreCounts | None:
        """Count the scores of rows that were held out, or else of cross-fitted models."""
        if len(held_out):
            of_row = np.zeros(X.shape[0])
            of_row[rows] = weights
            return count_scores(self, X, Y, held_out, of_row[held_out])
        if len(rows) < LEAST_ROWS:
            return None
        n_folds = count_folds(self.calibration_folds, len(rows))
        if getattr(self, "verbose", 0):
            say(f"calibrating: {n_folds} models on parts of the rows")
        seed = read_seed(self.random_state)
        return cross_fit_counts(self, X, Y, rows, weights, n_folds, seed)

    def _to_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return calibrated probabilities, or those of the method where it is not calibrated."""
        if not self.label_counts_.any():
            return np.zeros_like(scores)
        if self._calibration is not None:
            return self._calibration.probabilities(scores)
        return self._own_probabilities(scores)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the method itself takes for the probabilities of a block of scores."""
        name = type(self).__name__
        raise InputError(
            f"{name} gives scores and no probabilities; calibrate it: Calibrated({name}())."
        )
