"""Held-out rows: which they are, and early stopping by a metric of them after every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rmls.core.options import read_seed
from rmls.decide import Cardinality, Threshold, make_rule
from rmls.kernels.arrays import Params
from rmls.metrics import get_metric
from rmls.models.shared.evidence import ScoredRows, share_to_hold_out
from rmls.models.shared.training_set import TrainingSet

if TYPE_CHECKING:
    from rmls.models.rmls.rmls import RMLS


@dataclass
class Validation:
    """Early stopping: measure held-out rows after every pass, keep the best parameters.

    Attributes
    ----------
    measure : callable
        Returns the metric of the current parameters.
    greater_is_better : bool
    patience : int
        Passes without a rise after which training ends.
    tol : float
        Rise that counts as one.
    """

    measure: Callable[[], float]
    greater_is_better: bool
    patience: int
    tol: float
    values: list[float] = field(default_factory=list)
    _best: float = -np.inf
    _best_params: Params | None = None
    _stalled: int = 0

    def end_pass(self, params: Params) -> bool:
        """Measure once; returns whether to go on."""
        self.values.append(self.measure())
        return self._compare(self.values[-1], params)

    def resume(self, params: Params) -> None:
        """Take the parameters of an earlier run as the ones to beat."""
        self._compare(self.measure(), params)

    def _compare(self, measured: float, params: Params) -> bool:
        value = measured if self.greater_is_better else -measured
        if value > self._best + self.tol:
            self._best, self._stalled = value, 0
            self._best_params = Params(*(array.copy() for array in params))
        else:
            self._stalled += 1
        return self._stalled < self.patience

    def restore_best(self, params: Params) -> None:
        """Copy the best parameters seen back into ``params``."""
        if self._best_params is not None:
            for array, best in zip(params, self._best_params, strict=True):
                array[...] = best


def set_aside(model: RMLS, data: TrainingSet) -> TrainingSet:
    """Return the set with the rows held out that the passes do not see, if any."""
    rule = make_rule(model.decision)
    tunes = isinstance(rule, Threshold) and not rule.is_fitted
    share = model.validation_fraction
    if not (model.early_stopping or tunes):
        share = share_to_hold_out(model, data.n_rows)
    # One part serves early stopping, thresholds and calibration: no row is held out twice.
    return data.hold_out(share, read_seed(model.random_state))


def watch_held_out(model: RMLS, data: TrainingSet) -> Validation | None:
    """Return how held-out rows are measured after every pass, or None without early stopping.

    Sets are cut by the cardinality of these rows, whatever rule decides in the end.
    """
    if not model.early_stopping:
        return None
    metric = get_metric(model.validation_metric)
    # The metrics count every held-out row once, so that the cut must do so too.
    rows = replace(data.compact(), weights=np.ones(data.n_rows))
    evidence = ScoredRows(model, rows, sample_rows=rows.n_rows)

    def measure() -> float:
        if metric.needs == "ranking":
            return metric(rows.Y, model._rank(rows.X, metric.depth(rows.n_labels)))
        rule = Cardinality(evidence.cardinality_threshold())
        return metric(rows.Y, model._decide(rows.X, rule).to_sets())

    return Validation(measure, metric.greater_is_better, model.n_iter_no_change, model.tol)
