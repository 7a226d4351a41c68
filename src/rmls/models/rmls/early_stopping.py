"""What early stopping watches: a metric of held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from rmls.decide import Cardinality
from rmls.metrics import get_metric
from rmls.models.rmls.sgd import Validation

if TYPE_CHECKING:
    from rmls.models.rmls.rmls import RMLS


def watch_held_out(model: RMLS, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Validation | None:
    """Return how held-out rows are measured after every pass, or None without early stopping.

    Sets are cut by the cardinality of these rows, whatever rule decides in the end.
    """
    if not model.early_stopping:
        return None
    metric = get_metric(model.validation_metric)

    def measure() -> float:
        if metric.needs == "ranking":
            return metric(Y, model._rank(X, metric.k or 5))
        everything = np.arange(X.shape[0])
        threshold = model._cardinality_threshold(X, Y, everything, np.ones(X.shape[0]))
        return metric(Y, model._decide(X, Cardinality(threshold)).to_sets())

    return Validation(measure, metric.greater_is_better, model.n_iter_no_change, model.tol)
