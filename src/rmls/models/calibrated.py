"""Probabilities and decisions for any estimator: calibration around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import read_seed
from rmls.decide import Rule
from rmls.models.base import MultiLabelEstimator
from rmls.models.cross_fit import fit_part
from rmls.models.objective import softmax
from rmls.models.rmls import RMLS
from rmls.models.training import hold_out

INNER = "inner_"


class Calibrated(MultiLabelEstimator):
    """Give any estimator of this package probabilities, and the decisions that need them.

    Parameters
    ----------
    estimator : estimator, optional
        By default ``RMLS()``. A calibration of its own is switched off.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        See `rmls.decide.fit_calibration`.
    calibration_folds : int or "auto", default="auto"
        Parts of the cross-fitting; 0 holds out 2,000 rows instead, at most
        ``validation_fraction``. ``"auto"`` is 3, and 0 above 30,000 distinct rows.
    decision : str or Rule, default="f1"
    validation_fraction : float, default=0.1
    random_state : int, RandomState or None, default=0
        Of the folds; the estimator has its own.
    n_jobs : int or None, default=None
        Threads of ranking.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows, or to those that were not held out.

    Examples
    --------
    >>> from rmls.models import PLST
    >>> kinds = np.arange(60) % 3
    >>> X = np.eye(3)[kinds] + np.random.default_rng(0).normal(0, 0.1, (60, 3))
    >>> Y = np.array([[1, 0], [0, 1], [1, 1]])[kinds]
    >>> model = Calibrated(PLST(2)).fit(X, Y)
    >>> model.predict(np.eye(3)).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    estimator_: MultiLabelEstimator

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        decision: str | Rule = "f1",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.calibration_folds = calibration_folds
        self.decision = decision
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        share = self._share_to_calibrate(len(rows))
        held_out, kept = hold_out(len(rows), share, read_seed(self.random_state))
        model = self._make_inner()
        fit_part(model, self, X[rows[kept]], Y[rows[kept]], weights[kept])
        self.estimator_ = model
        return rows[held_out]

    def _make_inner(self) -> MultiLabelEstimator:
        if self.estimator is None:
            return RMLS(calibration=None)
        if not isinstance(self.estimator, MultiLabelEstimator):
            raise InputError(
                f"Calibrated takes an estimator of rmls; got {type(self.estimator).__name__}."
            )
        model: MultiLabelEstimator = clone(self.estimator)
        return model.set_params(calibration=None) if "calibration" in model.get_params() else model

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return self.estimator_._score_block(X)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``."""
        check_is_fitted(self)
        X = self._read_features(X)
        return self._dense(X, softmax if self._space.is_single else self._to_probabilities)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.estimator_._own_probabilities(scores)

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        from rmls.models.storage import describe_model

        manifest, arrays = describe_model(self.estimator_)
        return {"estimator": manifest}, {f"{INNER}{name}": a for name, a in arrays.items()}

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        from rmls.models.storage import build_model

        arrays = {
            name.removeprefix(INNER): array
            for name, array in archive.arrays.items()
            if name.startswith(INNER)
        }
        inner = build_model(Archive(archive.path, fitted["estimator"], arrays))
        if inner._space.n_labels != self._space.n_labels:
            raise InputError("the estimator inside has other labels")
        if inner.n_features_in_ != self.n_features_in_:
            raise InputError("the estimator inside has other features")
        self.estimator_ = inner
