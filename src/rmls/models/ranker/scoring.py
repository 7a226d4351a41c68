"""Models that score a shortlist of labels for every row: ranking, decisions, probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads
from rmls.decide import CardinalityCount, Rule, ScoreCounts, Threshold
from rmls.features import Normalizer
from rmls.kernels import cpu
from rmls.models.ranker.combination import Frequencies, HeldOut
from rmls.models.ranker.label_index import LabelClusters
from rmls.models.ranker.representation import Representation
from rmls.models.ranker.shortlist import BLOCK_ROWS, block_rows, propose
from rmls.models.rmls.objective import softmax
from rmls.models.shared.estimator import MultiLabelEstimator, fit_threshold
from rmls.models.shared.threads import for_blocks


class ShortlistedModel(MultiLabelEstimator):
    """Proposes labels by vectors, scores them by sparse weights too, and combines the scores.

    All that a decision rule looks at are the listed labels. Rules are fitted to the held-out rows
    that the combination was learned from, which `fit` keeps in ``_held`` meanwhile. Rankings come
    from ``_mixture``, in which rare labels are favoured, probabilities from ``_logits``, in which
    they are not.
    """

    shortlist_size: int
    _scores_all_labels = False

    representation_: Representation
    weights_: cpu.SparseWeights
    index_: LabelClusters | None
    unlisted_: float
    _normalizer: Normalizer
    _frequencies: Frequencies
    _mixture: cpu.Mixture
    _logits: cpu.Mixture
    _held: HeldOut

    def _list_size(self) -> int:
        return min(int(self.shortlist_size), self._space.n_labels)

    # -- decisions are fitted to the held-out rows -----------------------------------------------

    def _cardinality_threshold(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> float:
        held = self._held
        counter = CardinalityCount(float(held.weights @ np.diff(held.truth.indptr)))
        counter.add(held.combined(self._mixture), held.weights)
        return counter.threshold()

    def _tune_threshold(
        self, rule: Threshold, X: sparse.csr_matrix, Y: sparse.csr_matrix
    ) -> Threshold:
        return fit_threshold(rule, self._held_ranking(self._mixture), self._held.truth)

    def _held_ranking(self, mixture: cpu.Mixture) -> Ranking:
        labels, scores = np.empty_like(self._held.labels), np.empty_like(self._held.own)
        cpu.rank_listed(self._held.labels, self._held.combined(mixture), labels, scores)
        return Ranking.from_table(labels, scores, self._space.n_labels)

    def _count_held_out(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        held_out: NDArray[np.int64],
    ) -> ScoreCounts | None:
        scores = self._held_ranking(self._logits).to_csr()
        counts = ScoreCounts.covering(scores)
        counts.add(scores, self._held.truth, self._held.weights)
        return counts

    # -- scores ----------------------------------------------------------------------------------

    @property
    def n_weights_(self) -> int:
        """Number of weights of all classifiers."""
        return len(self.weights_.values)

    def _score_part(
        self, X: sparse.csr_matrix, start: int, stop: int, mixture: cpu.Mixture
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
        """Return the shortlists of some normalised rows, their final and their first scores."""
        size = self._list_size()
        found = propose(self.representation_, X, start, stop, size, self.index_)
        final = np.empty_like(found.scores)
        sums = np.zeros(self._space.n_labels, np.float32)
        rows = (X.indptr, X.indices, X.data)
        cpu.score_listed(*rows, self.weights_, found.labels, start, start, stop, sums, final)
        cpu.mix_listed(found.labels, final, found.scores, mixture, final)
        return found.labels, final, found.scores

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        X = self._normalizer.apply(X)
        result = np.empty((X.shape[0], self._space.n_labels), np.float32)

        def work(start: int, stop: int) -> None:
            labels, final, first = self._score_part(X, start, stop, self._mixture)
            part = result[start:stop]
            part[:] = self.representation_.scores(self.representation_.hidden(X, start, stop))
            # All that is not listed goes below what is, however large the scores are.
            part -= first.min(axis=1, keepdims=True)
            np.minimum(part, 0, out=part)
            least = final.min(axis=1, keepdims=True)
            below = np.nextafter(least, np.float32(-np.inf))
            part += np.minimum(least - np.float32(1e-3), below)
            np.put_along_axis(part, labels, final, axis=1)

        for_blocks(work, X.shape[0], BLOCK_ROWS, 1)
        return result

    def _rank(self, X: sparse.csr_matrix, k: int) -> Ranking:
        k = min(k, self._space.n_labels)
        if k > self._list_size():
            return super()._rank(X, k)
        return self._rank_listed(X, k, self._mixture)

    def _rank_listed(self, X: sparse.csr_matrix, k: int, mixture: cpu.Mixture) -> Ranking:
        X = self._normalizer.apply(X)
        labels = np.empty((X.shape[0], k), np.int32)
        scores = np.empty((X.shape[0], k), np.float32)

        def work(start: int, stop: int) -> None:
            listed, final, _ = self._score_part(X, start, stop, mixture)
            cpu.rank_listed(listed, final, labels[start:stop], scores[start:stop])

        threads = count_threads(self.n_jobs)
        for_blocks(work, X.shape[0], block_rows(self.index_), threads)
        return Ranking.from_table(labels, scores, self._space.n_labels)

    def _decide(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        if rule.top is not None and not rule.needs_probabilities:
            return super()._decide(X, rule)
        if not rule.needs_probabilities:
            return rule.keep(self._rank(X, self._list_size()))
        listed = self._rank_listed(X, self._list_size(), self._logits)
        if not self.label_counts_.any():
            return rule.keep(replace(listed, scores=np.zeros_like(listed.scores)))
        if self._calibration is not None:
            listed = self._calibration.apply(listed)
        else:
            listed = replace(listed, scores=_sigmoid(listed.scores))
        rest = np.full(listed.n_samples, self.unlisted_, np.float32)
        return rule.keep(replace(listed, rest=rest))

    def _favour(self) -> NDArray[np.float32]:
        """Return what is added to the logits of rare labels."""
        return np.asarray(self._mixture.coefficients[:, 0] - self._logits.coefficients[:, 0])

    def _to_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        calibrated = self._calibration is not None
        return super()._to_probabilities(scores - self._favour() if calibrated else scores)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return _sigmoid(scores - self._favour())

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``."""
        check_is_fitted(self)
        X = self._read_features(X)
        if self._space.is_single:
            return self._dense(X, lambda scores: softmax(scores - self._favour()))
        return self._dense(X, self._to_probabilities)


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)), dtype=np.float32)
