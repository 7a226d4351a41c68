"""What estimators share that fit another estimator and score with it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import Option, anything, read_seed
from rmls.models.rmls.rmls import RMLS
from rmls.models.shared.cross_fit import fit_part
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows, share_to_hold_out
from rmls.models.shared.nested import inner_fold_params, inner_state, make_inner, restore_inner
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.training_set import TrainingSet


class WrappingEstimator(GivesProbabilities, MultiLabelEstimator):
    """Base of estimators around another one, whose scores they calibrate and decide on.

    A subclass takes ``estimator`` and may define ``_prepare(data)``: the rows that the estimator
    inside is fitted to.
    """

    _options: ClassVar[dict[str, Option]] = {
        "estimator": anything("an estimator of rmls or the name of one").or_none()
    }

    estimator: Any
    estimator_: MultiLabelEstimator

    def _check_options(self) -> None:
        super()._check_options()
        self._make_inner()

    def _fit(self, data: TrainingSet) -> ScoredRows:
        model = self._make_inner()
        share = share_to_hold_out(self, data.n_rows)
        data = data.hold_out(share, read_seed(self.random_state))
        fit_part(model, self, self._prepare(data.kept))
        self.estimator_ = model
        return ScoredRows(self, data)

    def _prepare(self, data: TrainingSet) -> TrainingSet:
        return data

    def _fold_params(self) -> dict[str, Any]:
        return inner_fold_params(self.estimator_)

    def _make_inner(self) -> MultiLabelEstimator:
        if self.estimator is None:
            return RMLS(calibration=None)
        model = make_inner(self.estimator, self)
        return model.set_params(calibration=None) if "calibration" in model.get_params() else model

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return self.estimator_._score_block(self.estimator_._scaled(X))

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.estimator_._to_probabilities(scores)

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        manifest, arrays = inner_state(self.estimator_)
        return {"estimator": manifest}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        inner = restore_inner(fitted["estimator"], archive, int(self.n_features_in_))
        if inner._space.n_labels != self._space.n_labels:
            raise InputError("the estimator inside has other labels")
        self.estimator_ = inner
