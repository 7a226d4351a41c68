"""Evidence of a wrapper whose estimator scores a short list of labels for every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmls.core.ranking import Ranking
from rmls.decide import CardinalityCount, ScoreCounts, Threshold
from rmls.models.shared.evidence import ScoredRows, fit_threshold

if TYPE_CHECKING:
    from rmls.models.shared.training_set import TrainingSet


@dataclass
class ListedScores(ScoredRows):
    """The evidence of `ScoredRows`, from lists: what is not listed is never scored."""

    def cardinality_threshold(self) -> float:
        """Return the score above which as many labels are predicted as the rows have."""
        sample = self.data.first(self.sample_rows)
        counter = CardinalityCount(float(sample.weights @ sample.labels.getnnz(axis=1)))
        listed = self._lists(self.model, sample, boosted=True)
        counter.add(listed.scores.reshape(sample.n_rows, -1), sample.weights)
        return counter.threshold()

    def tune(self, rule: Threshold) -> Threshold:
        """Return the rule with the threshold that suits its metric best."""
        rows = self.data.left_out if len(self.data.held_out) else self.data.first(self.sample_rows)
        return fit_threshold(rule, self._lists(self.model, rows, boosted=True), rows.labels)

    def count_rows(
        self, model: Any, data: TrainingSet, counts: ScoreCounts | None = None
    ) -> ScoreCounts | None:
        """Add the listed scores of some rows to the counts."""
        listed = self._lists(model, data, boosted=False).to_csr()
        counts = ScoreCounts.covering(listed) if counts is None else counts
        counts.add(listed, data.labels, data.weights)
        return counts

    @staticmethod
    def _lists(model: Any, data: TrainingSet, *, boosted: bool) -> Ranking:
        found: Ranking = model._list_scores(data.features, boosted=boosted)
        return found
