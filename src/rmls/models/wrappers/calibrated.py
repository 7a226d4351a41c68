"""Probabilities and decisions for any estimator: calibration around it."""

from __future__ import annotations

from typing import Any

from rmls.core.options import store_params
from rmls.decide import Rule
from rmls.models.wrappers.wrapper import WrappingEstimator


class Calibrated(WrappingEstimator):
    """Give any estimator probabilities, and the decisions that need them.

    Parameters
    ----------
    estimator : estimator, str or None, default=None
        By default ``RMLS()``; a name is that estimator of rmls with its defaults. A calibration of
        its own is switched off. Estimators of scikit-learn, LightGBM, XGBoost and the like may be
        given as well: anything with ``decision_function`` or ``predict_proba``. One that learns a
        single label is fitted to every label by ``OneVsRestClassifier``.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        See `rmls.decide.fit_calibration`.
    calibration_folds : int or "auto", default="auto"
        Parts of the cross-fitting; 0 holds out 2,000 rows instead, at most
        ``validation_fraction``. ``"auto"`` is 3, and 0 above 30,000 distinct rows.
    decision : str, float or Rule, default="f1"
        How `predict` cuts; see `rmls.decide.make_rule`.
    validation_fraction : float, default=0.1
        Maximum share of the rows held out for calibration, without folds.
    random_state : int, RandomState or None, default=0
        Of the folds; the estimator has its own.
    n_jobs : int or None, default=None
        Threads of ranking; an `RMLSRanker` inside ranks with its own.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows, or to those that were not held out.

    Notes
    -----
    The score of an estimator of another library is the log-odds of its probabilities or, where it
    has none, its ``decision_function``. Labels that all training rows have, or none, get a
    constant. Such a model is kept by ``joblib.dump``: a model folder holds no code, and `save`
    refuses it.

    Examples
    --------
    >>> import numpy as np
    >>> from rmls.models import PLST
    >>> kinds = np.arange(60) % 3
    >>> X = np.eye(3)[kinds] + np.random.default_rng(0).normal(0, 0.1, (60, 3))
    >>> Y = np.array([[1, 0], [0, 1], [1, 1]])[kinds]
    >>> model = Calibrated(PLST(2)).fit(X, Y)
    >>> model.predict(np.eye(3)).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    estimator: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        decision: str | float | Rule = "f1",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())
