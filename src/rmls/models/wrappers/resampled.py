"""An estimator fitted to resampled rows; what it says of new rows is left alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from rmls import imbalance
from rmls.core.errors import InputError
from rmls.core.options import Option, anything, check_choice, store_params
from rmls.decide import Rule
from rmls.imbalance import MLROS
from rmls.imbalance.resampling import Resampler
from rmls.models.shared.training_set import TrainingSet
from rmls.models.wrappers.foreign import repeat_rows
from rmls.models.wrappers.wrapper import WrappingEstimator


class Resampled(WrappingEstimator):
    """Fit an estimator to resampled rows; calibrate and decide on rows as they were given.

    scikit-learn's pipelines do not know resamplers, and rows must be resampled inside every fold of
    a cross-validation, never before. This estimator does both.

    Parameters
    ----------
    estimator : estimator, str or None, default=None
        By default ``RMLS()``; a name is that estimator of rmls with its defaults. A calibration of
        its own is switched off. Estimators of scikit-learn, LightGBM, XGBoost and the like may be
        given as well: anything with ``decision_function`` or ``predict_proba``. One that learns a
        single label is fitted to every label by ``OneVsRestClassifier``.
    resampler : resampler of `rmls.imbalance`, str or None, default=None
        By default ``MLROS()``; a name is that resampler with its defaults.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        See `rmls.decide.fit_calibration`. It sees rows that were neither trained on nor resampled,
        so that probabilities are those of the data and not of the resampled rows.
    calibration_folds : int or "auto", default="auto"
        Parts of the cross-fitting; 0 holds out 2,000 rows instead, at most
        ``validation_fraction``. ``"auto"`` is 3, and 0 above 30,000 distinct rows.
    decision : str, float or Rule, default="f1"
        How `predict` cuts.
    validation_fraction : float, default=0.1
        Maximum share of the rows held out for calibration, without folds.
    random_state : int, RandomState or None, default=0
        Of the folds; the estimator and the resampler have their own.
    n_jobs : int or None, default=None
        Threads of ranking; an `RMLSRanker` inside ranks with its own.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the resampled rows.

    Notes
    -----
    Whole sample weights are repetitions, as everywhere. Where some are not whole, every distinct
    row is resampled once and its weight goes with each of its copies. Rows that leave nothing to
    balance (a single row or label, no label at all) are not resampled.

    Examples
    --------
    >>> from rmls import MLSMOTE, PLST
    >>> kinds = np.array([0] * 30 + [1] * 20 + [2] * 10)
    >>> X = np.eye(3)[kinds] + np.random.default_rng(0).normal(0, 0.1, (60, 3))
    >>> Y = np.array([[1, 0], [1, 1], [0, 1]])[kinds]
    >>> model = Resampled(PLST(2), MLSMOTE(3)).fit(X, Y)
    >>> model.predict(np.eye(3)).tolist()
    [[1, 0], [1, 1], [0, 1]]
    """

    estimator: Any
    resampler: Any

    _options: ClassVar[dict[str, Option]] = {
        "resampler": anything("a resampler of rmls.imbalance or the name of one").or_none()
    }

    def __init__(
        self,
        estimator: Any = None,
        resampler: Any = None,
        *,
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        decision: str | float | Rule = "f1",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    def _check_options(self) -> None:
        super()._check_options()
        self._make_resampler()

    def _prepare(self, data: TrainingSet) -> TrainingSet:
        resampler = self._make_resampler()
        X, Y, weights = data.features, data.labels, data.weights
        if min(Y.shape) < 2 or not Y.nnz:
            return data
        if (weights == np.floor(weights)).all():
            X, Y = repeat_rows(X, Y, weights)
            weights = np.ones(int(X.shape[0]))
        X_new, Y_new = resampler.fit_resample(X, Y)
        places = np.arange(int(X_new.shape[0]))
        return TrainingSet(X_new, Y_new, places, weights[resampler.sample_indices_])

    def _make_resampler(self) -> Resampler:
        if self.resampler is None:
            return MLROS()
        made: Resampler
        if isinstance(self.resampler, str):
            check_choice("resampler", self.resampler, imbalance.RESAMPLERS)
            made = getattr(imbalance, self.resampler)()
            return made
        if not isinstance(self.resampler, Resampler):
            raise InputError(
                "Resampled takes a resampler of rmls.imbalance; "
                f"got {type(self.resampler).__name__}."
            )
        made = clone(self.resampler)
        return made
