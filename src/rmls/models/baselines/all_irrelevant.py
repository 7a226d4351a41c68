"""The baseline of the paper: no label at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide import Rule
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.training_set import TrainingSet


class AllIrrelevant(MultiLabelEstimator):
    """Predict no label at all: the paper's baseline, hard to beat in Hamming loss.

    Scores are label frequencies, so that `rank` gives the most frequent labels; `predict` gives
    empty sets, and the most frequent class for a 1-d ``y``.

    Examples
    --------
    >>> AllIrrelevant().fit([[1.0], [2.0]], [[1, 0], [1, 1]]).predict([[3.0]]).tolist()
    [[0, 0]]
    """

    @classmethod
    def paper(cls) -> AllIrrelevant:
        """Return the baseline of the study of RMLS; it has no settings."""
        return cls()

    def _fit(self, data: TrainingSet) -> ScoredRows:
        self.frequencies_ = (data.positives() / data.weights.sum()).astype(np.float32)
        return ScoredRows(self, data)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return np.tile(self.frequencies_, (X.shape[0], 1))

    def _choose(self, X: sparse.csr_matrix, decision: str | float | Rule | None) -> Ranking:
        self._check_rule(decision)
        best = super()._choose(X, "top_1")
        return best if self._space.is_single else best.top(0)

    def _check_rule(self, spec: str | float | Rule | None) -> None:
        if spec is not None:
            raise InputError("AllIrrelevant predicts no label by definition; use rank(X, k).")

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"frequencies": self.frequencies_}

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        check_arrays(archive, {"frequencies": (np.float32, (self._space.n_labels,))})
        self.frequencies_ = archive.arrays["frequencies"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
