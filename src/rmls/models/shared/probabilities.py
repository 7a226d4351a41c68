"""Probabilities that a method has of its own, of all labels or of those on short lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.lean.learn import check_is_fitted
from rmls.core.numeric import sigmoid, softmax
from rmls.core.ranking import Ranking
from rmls.core.resources import keeps_to_n_jobs
from rmls.decide import Rule
from rmls.models.shared.training_set import read_features

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator as Base
else:
    Base = object


class GivesProbabilities(Base):
    """Mixin of estimators that can be asked for probabilities without a wrapper around them."""

    @keeps_to_n_jobs
    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``."""
        check_is_fitted(self)
        to_probabilities = (
            self._class_probabilities if self._space.is_single else self._to_probabilities
        )
        return self._dense(read_features(self, X), to_probabilities)

    def _has_probabilities(self) -> bool:
        return hasattr(self, "predict_proba")

    def _will_have_probabilities(self) -> bool:
        return hasattr(self, "predict_proba")

    def _described(self, X: sparse.csr_matrix, ranking: Ranking) -> Ranking:
        ranking = super()._described(X, ranking)
        if ranking.probabilities is not None or not self._has_probabilities():
            return ranking
        if self._space.is_single:
            return ranking.described(self._look_up_classes(X, ranking))
        return ranking.described(self._entry_probabilities(ranking.scores, ranking.labels))

    def _entry_probabilities(
        self, scores: NDArray[np.float32], labels: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return what `_to_probabilities` gives, of a few scores, each with its label."""
        if not self.label_counts_.any():
            return np.zeros_like(scores)
        if self._calibration is not None:
            return self._calibration.of_entries(scores, labels)
        return self._own_entry_probabilities(scores, labels)

    def _own_entry_probabilities(
        self, scores: NDArray[np.float32], labels: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return what `_own_probabilities` gives; redefined where that depends on the label."""
        return self._own_probabilities(scores)

    def _look_up_classes(self, X: sparse.csr_matrix, ranking: Ranking) -> NDArray[np.float32]:
        # The probability of a class depends on the scores of all, which are not in the ranking.
        rows, labels, found = ranking.rows, ranking.labels, np.empty_like(ranking.scores)
        for block, scores in self._score_blocks(X):
            entries = slice(*ranking.indptr[[block.start, block.stop]])
            dense = self._class_probabilities(scores)
            found[entries] = dense[rows[entries] - block.start, labels[entries]]
        return found

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probabilities of the classes of a 1-d ``y``."""
        return softmax(scores)


class GivesLists(GivesProbabilities):
    """Mixin of estimators that score a short list of labels for every row, and no others.

    What ranks may be boosted: probabilities come from scores without the boost. A wrapper around
    such an estimator decides by its lists, too.
    """

    _gives_lists = True
    unlisted_: float

    def _takes_plain_rows(self) -> bool:
        # Scaling makes new matrices.
        return self._normalizer is None or self._normalizer.mode == "none"

    @property
    def _boost(self) -> NDArray[np.float32]:
        """What the scores that rank have above those that probabilities come from."""
        raise NotImplementedError

    def _list_scores(self, X: sparse.csr_matrix, *, boosted: bool) -> Ranking:
        """Return the listed labels, by the scores that rank or that probabilities come from."""
        raise NotImplementedError

    def _decide(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        if rule.needs_probabilities:
            return rule.keep(self._list_probabilities(X))
        if rule.top is not None:
            return super()._decide(X, rule)
        return rule.keep(self._list_scores(X, boosted=True))

    def _list_probabilities(self, X: sparse.csr_matrix) -> Ranking:
        """Return the listed labels with their probabilities, and the mass of the others."""
        listed = self._list_scores(X, boosted=True)
        chances = self._entry_probabilities(listed.scores, listed.labels)
        # Expected F counts relevant labels beyond the list by their mean number on held-out rows.
        rest = np.full(listed.n_samples, self.unlisted_, np.float32)
        return replace(listed, rest=rest, probabilities=chances)

    def _entry_probabilities(
        self, scores: NDArray[np.float32], labels: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        # Without the boost, which would inflate the probabilities of rare labels.
        return super()._entry_probabilities(scores - self._boost[labels], labels)

    def _to_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return super()._to_probabilities(scores - self._boost)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return sigmoid(scores)

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return super()._class_probabilities(scores - self._boost)
