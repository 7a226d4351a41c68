"""Choose parameters of a method on inner folds of the training rows of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rmls.bench.run.records import Tuning
from rmls.bench.study.data import Parts, Rows
from rmls.bench.study.grid import Fit
from rmls.bench.study.methods import NO_RULE
from rmls.core.errors import InputError

METRIC = "example_f1"


def tune(fit: Fit, parts: Parts, make: Callable[..., Any]) -> Tuning:
    """Return the candidate with the best example F on inner folds, under the first rule.

    Parameters
    ----------
    fit : Fit
        Its method says what is tuned.
    parts : Parts
        Only the training rows are looked at.
    make : callable
        Returns the estimator of a fit with parameters changed.

    Notes
    -----
    Every candidate meets the same folds. Of equal ones the first is taken; one that cannot be
    trained is never chosen.
    """
    started = time.process_time()
    candidates = list(fit.method.candidates())
    folds = list(_inner_folds(fit, len(parts.Y_train.indptr) - 1))
    found = [_score(fit, parts, folds, make, candidate) for candidate in candidates]
    scores = [None if isinstance(one, InputError) else one for one in found]
    known = [-1.0 if score is None else score for score in scores]
    if max(known) < 0:
        reasons = " ".join(dict.fromkeys(str(one) for one in found))
        raise InputError(f"{fit.method.label}: no candidate can be trained: {reasons}")
    chosen = candidates[int(np.argmax(known))]
    return Tuning(chosen=chosen, scores=scores, cpu_seconds=time.process_time() - started)


def _inner_folds(fit: Fit, n_rows: int) -> Iterator[tuple[Rows, Rows]]:
    from sklearn.model_selection import KFold

    # Keyed by seed and fold: all methods of a run choose on the same rows.
    state = fit.seed * fit.study.n_folds + fit.fold
    folds = KFold(fit.study.inner_folds, shuffle=True, random_state=state)
    yield from folds.split(np.zeros(n_rows))


def _score(
    fit: Fit,
    parts: Parts,
    folds: list[tuple[Rows, Rows]],
    make: Callable[..., Any],
    candidate: dict[str, Any],
) -> float | InputError:
    """Return the mean example F of a candidate, or why it cannot be trained."""
    from rmls.metrics import get_metric

    decision = fit.method.decisions[0]
    rule, X, Y = None if decision == NO_RULE else decision, parts.X_train, parts.Y_train
    found = []
    try:
        for train, test in folds:
            model = make(fit, **candidate).fit(X[train], Y[train])
            found.append(get_metric(METRIC)(Y[test], model.rank_sets(X[test], rule).to_sets()))
    except InputError as error:
        return error
    return float(np.mean(found))
