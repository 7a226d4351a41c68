"""What estimators share that fit another estimator and score with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import Option, anything, read_seed
from rmls.core.ranking import Ranking
from rmls.decide import Rule
from rmls.models.rmls.rmls import RMLS
from rmls.models.shared.cross_fit import fit_part
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows, share_to_hold_out
from rmls.models.shared.probabilities import GivesLists, GivesProbabilities
from rmls.models.shared.training_set import TrainingSet
from rmls.models.wrappers.foreign import Foreign
from rmls.models.wrappers.listed import ListedScores
from rmls.models.wrappers.nested import (
    HoldsEstimator,
    inner_fold_params,
    inner_state,
    make_inner,
    restore_inner,
)


class WrappingEstimator(HoldsEstimator, GivesProbabilities, MultiLabelEstimator):
    """Base of estimators around another one, whose scores they calibrate and decide on.

    A subclass takes ``estimator`` and may define ``_prepare(data)``: the rows that the estimator
    inside is fitted to.
    """

    _options: ClassVar[dict[str, Option]] = {
        "estimator": anything("an estimator or the name of one").or_none()
    }

    estimator: Any

    def _check_options(self) -> None:
        super()._check_options()
        self._make_inner()

    def _fit(self, data: TrainingSet) -> ScoredRows:
        model = self._make_inner()
        share = share_to_hold_out(self, data.n_rows)
        data = data.hold_out(share, read_seed(self.random_state))
        fit_part(model, self, self._prepare(data.kept))
        self._inner = model
        return ListedScores(self, data) if self._gives_lists else ScoredRows(self, data)

    def _prepare(self, data: TrainingSet) -> TrainingSet:
        return data

    def _fold_params(self) -> dict[str, Any]:
        return inner_fold_params(self._inner)

    def _was_interrupted(self) -> bool:
        return self._inner._was_interrupted()

    def _make_inner(self) -> MultiLabelEstimator:
        if self.estimator is None:
            return RMLS(calibration=None)
        model = make_inner(self.estimator, self)
        return model.set_params(calibration=None) if "calibration" in model.get_params() else model

    # -- scores and decisions: by the lists of the estimator inside, where it makes some ----------

    @property
    def _gives_lists(self) -> bool:
        return bool(getattr(self._inner, "_gives_lists", False))

    @property
    def _lister(self) -> GivesLists:
        return cast(GivesLists, self._inner)

    @property
    def _boost(self) -> NDArray[np.float32]:
        return self._lister._boost if self._gives_lists else np.zeros(1, np.float32)

    def _score_blocks(self, X: sparse.csr_matrix) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        # An estimator of another library has a block size of its own, however deep it is inside.
        if isinstance(self._inner, Foreign | WrappingEstimator):
            return self._inner._score_blocks(X)
        return super()._score_blocks(X)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return self._inner._score_block(self._inner._scaled(X))

    def _list_scores(self, X: sparse.csr_matrix, *, boosted: bool) -> Ranking:
        return self._lister._list_scores(X, boosted=boosted)

    def _list_probabilities(self, X: sparse.csr_matrix) -> Ranking:
        listed = self._lister._list_probabilities(X)
        chances = self._entry_probabilities(listed.scores, listed.labels)
        return replace(listed, probabilities=chances)

    def _entry_probabilities(
        self, scores: NDArray[np.float32], labels: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        # The estimator inside takes its boost back itself.
        if self._gives_lists and self._calibration is not None:
            scores = scores - self._boost[labels]
        return super()._entry_probabilities(scores, labels)

    def _rank(self, X: sparse.csr_matrix, k: int) -> Ranking:
        return self._inner._rank(X, k) if self._gives_lists else super()._rank(X, k)

    def _decide(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        if not self._gives_lists or (rule.top is not None and not rule.needs_probabilities):
            return super()._decide(X, rule)
        if rule.needs_probabilities:
            return rule.keep(self._list_probabilities(X))
        return rule.keep(self._list_scores(X, boosted=True))

    def _to_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        # The estimator inside takes its boost back itself.
        boost = np.float32(0) if self._calibration is None else self._boost
        return super()._to_probabilities(scores - boost)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        try:
            return self._inner._to_probabilities(scores)
        except InputError:
            if self.calibration is None:
                raise
            raise InputError(
                f"this {type(self).__name__} was interrupted before it was calibrated; fit it "
                "again, or predict with decision='cardinality'."
            ) from None

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return super()._class_probabilities(scores - self._boost)

    def _own_entry_probabilities(
        self, scores: NDArray[np.float32], labels: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        inner = cast(GivesProbabilities, self._inner)
        return inner._entry_probabilities(scores, labels)

    def _has_probabilities(self) -> bool:
        calibrated = self._calibration is not None or self._space.is_single
        return calibrated or self._inner._has_probabilities()

    def _will_have_probabilities(self) -> bool:
        return self.calibration is not None or self._make_inner()._will_have_probabilities()

    def _no_probabilities(self) -> InputError:
        return self._make_inner()._no_probabilities()

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        manifest, arrays = inner_state(self._inner)
        return {"estimator": manifest}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        inner = restore_inner(fitted["estimator"], archive, int(self.n_features_in_))
        if inner._space.n_labels != self._space.n_labels:
            raise InputError("the estimator inside has other labels")
        self._inner = inner
