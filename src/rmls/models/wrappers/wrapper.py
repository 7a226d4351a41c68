"""What estimators share that fit another estimator and score with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import read_seed
from rmls.models.rmls.objective import softmax
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.sgd import hold_out
from rmls.models.shared.cross_fit import fit_part
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.nested import inner_state, make_inner, restore_inner

Rows = tuple[sparse.csr_matrix, sparse.csr_matrix, NDArray[np.float64]]


class WrappingEstimator(MultiLabelEstimator):
    """Base of estimators around another one, whose scores they calibrate and decide on.

    A subclass takes ``estimator`` and may define ``_prepare(X, Y, weights)``: the rows, labels and
    weights that the estimator inside is fitted to.
    """

    estimator: Any
    estimator_: MultiLabelEstimator

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        model = self._make_inner()
        share = self._share_to_calibrate(len(rows))
        held_out, kept = hold_out(len(rows), share, read_seed(self.random_state))
        prepared = self._prepare(X[rows[kept]], Y[rows[kept]], weights[kept])
        fit_part(model, self, *prepared)
        self.estimator_ = model
        return rows[held_out]

    def _prepare(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float64]
    ) -> Rows:
        return X, Y, weights

    def _make_inner(self) -> MultiLabelEstimator:
        if self.estimator is None:
            return RMLS(calibration=None)
        model = make_inner(self.estimator, self)
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
        manifest, arrays = inner_state(self.estimator_)
        return {"estimator": manifest}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        inner = restore_inner(fitted["estimator"], archive, int(self.n_features_in_))
        if inner._space.n_labels != self._space.n_labels:
            raise InputError("the estimator inside has other labels")
        self.estimator_ = inner
