"""The same most frequent labels for every row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.options import Option, check_whole, whole
from rmls.core.ranking import Ranking
from rmls.decide import Rule
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.training_set import TrainingSet


class MostFrequent(GivesProbabilities, MultiLabelEstimator):
    """Predict the most frequent labels for every row: the baseline of every ranking.

    Parameters
    ----------
    k : int or None, default=None
        Labels predicted; None is the mean number of labels of a training row, rounded to the
        nearest whole number but at least 1 where there is any label.

    Attributes
    ----------
    frequencies_ : ndarray of float32, shape (n_labels,)
        Share of the training rows that have the label; the scores of every row.
    k_ : int
        Labels predicted.

    Notes
    -----
    Ties go to the lower label. Features are checked but not used. Where no training row has a
    label, nothing is predicted. A 1-d ``y`` gets its most frequent class.

    Examples
    --------
    >>> MostFrequent().fit([[1.0], [2.0]], [[1, 0], [1, 1]]).predict([[3.0]]).tolist()
    [[1, 1]]
    >>> MostFrequent(k=1).fit([[1.0], [2.0]], [[1, 0], [1, 1]]).predict([[3.0]]).tolist()
    [[1, 0]]
    """

    frequencies_: NDArray[np.float32]
    k_: int

    _options: ClassVar[dict[str, Option]] = {"k": whole(1).or_none()}

    def __init__(self, k: int | None = None) -> None:
        self.k = k

    def _fit(self, data: TrainingSet) -> ScoredRows:
        frequencies = data.positives() / data.weights.sum()
        self.frequencies_ = frequencies.astype(np.float32)
        cardinality = float(frequencies.sum())
        # The mean number of labels of a row, rounded.
        self.k_ = self.k or (max(1, int(cardinality + 0.5)) if cardinality > 0 else 0)
        return ScoredRows(self, data)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return np.tile(self.frequencies_, (X.shape[0], 1))

    def _choose(self, X: sparse.csr_matrix, decision: str | float | Rule | None) -> Ranking:
        if decision is not None or self._space.is_single:
            return super()._choose(X, decision)
        return self._rank(X, max(self.k_, 1)).top(self.k_)

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return scores

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return scores

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"k": self.k_}, {"frequencies": self.frequencies_}

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        check_arrays(archive, {"frequencies": (np.float32, (self._space.n_labels,))})
        check_whole("k", fitted["k"], 0)
        self.frequencies_, self.k_ = archive.arrays["frequencies"], int(fitted["k"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
