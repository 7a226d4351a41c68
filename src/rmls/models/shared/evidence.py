"""What decision rules and probabilities are fitted to: scores of training rows with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rmls.core.errors import InputError
from rmls.core.options import read_seed
from rmls.core.ranking import Ranking
from rmls.decide import CardinalityCount, ScoreCounts, Threshold
from rmls.metrics import get_metric
from rmls.models.shared.cross_fit import count_scores, cross_fit_counts, join_counts
from rmls.models.shared.training_set import TrainingSet, count_folds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy import sparse

    from rmls.models.shared.estimator import MultiLabelEstimator

# One threshold is a single number: a sample determines it.
SAMPLE_ROWS = 10_000
# Deeper than any good set is large.
THRESHOLD_DEPTH = 200
# Times m labels, plenty of pairs for one curve; the rest is left to training.
CALIBRATION_ROWS = 2_000
# A third of fewer rows says little about any label.
MIN_ROWS = 30


class Evidence(Protocol):
    """Scores of rows, where possible of rows that the model was not trained on."""

    def cardinality_threshold(self) -> float:
        """Return the score above which as many labels are predicted as the rows have."""
        ...

    def tune(self, rule: Threshold) -> Threshold:
        """Return the rule with the threshold that suits its metric best."""
        ...

    def count_scores(self) -> ScoreCounts | None:
        """Return counts of the scores of relevant and irrelevant labels; None without any."""
        ...

    def label_rows(self) -> NDArray[np.float64]:
        """Return the weight of the training rows that have each label."""
        ...


@dataclass
class ScoredRows:
    """The evidence of a model that scores all labels: it scores rows of its training set.

    Attributes
    ----------
    model : MultiLabelEstimator
    data : TrainingSet
        Rows that it held out serve before those it was trained on.
    sample_rows : int
        Rows that the cardinality is counted in, at most.
    """

    model: MultiLabelEstimator
    data: TrainingSet
    sample_rows: int = SAMPLE_ROWS

    def cardinality_threshold(self) -> float:
        """Return the score above which as many labels are predicted as the rows have."""
        sample = self.data.first(self.sample_rows)
        truth = sample.labels
        counter = CardinalityCount(float(sample.weights @ truth.getnnz(axis=1)))
        for block, scores in self.model._score_blocks(sample.features):
            if sample.observed is not None:
                # What is not known counts on neither side.
                unknown = sample.observed[sample.rows[block]].toarray() == 0
                scores[unknown] = scores.min() - 1
            counter.add(scores, sample.weights[block])
        return counter.threshold()

    def tune(self, rule: Threshold) -> Threshold:
        """Return the rule with the threshold that suits its metric best."""
        rows = self.data.left_out if len(self.data.held_out) else self.data.first(self.sample_rows)
        depth = min(THRESHOLD_DEPTH, rows.n_labels)
        return fit_threshold(rule, self.model._rank(rows.features, depth), rows.labels)

    def count_scores(self) -> ScoreCounts | None:
        """Count the scores of held-out rows, or else of cross-fitted models."""
        model, data = self.model, self.data
        if not len(data.held_out) and model._was_interrupted():
            return None
        counts = None
        if len(data.held_out):
            counts = join_counts(None, self.count_rows(model, data.left_out), data)
        elif data.n_rows >= MIN_ROWS:
            n_folds = count_folds(model.calibration_folds, data.n_rows)
            seed = read_seed(model.random_state)
            counts = cross_fit_counts(model, data, n_folds, seed, self.count_rows)
        if counts is None or not counts.positive.any():
            # Too little to leave anything out: the scores of all rows are all there is.
            counts = self.count_rows(model, data)
        return counts

    def label_rows(self) -> NDArray[np.float64]:
        """Return the weight of the rows that have each label."""
        return self.data.positives()

    def count_rows(
        self, model: MultiLabelEstimator, data: TrainingSet, counts: ScoreCounts | None = None
    ) -> ScoreCounts | None:
        """Add the scores of some rows to the counts."""
        return count_scores(model, data, counts)


def share_to_hold_out(model: MultiLabelEstimator, n_rows: int) -> float:
    """Return the share of rows to hold out of the training for the sake of calibration."""
    if model.calibration is None or model._space.is_single:
        return 0.0
    if count_folds(model.calibration_folds, n_rows):
        return 0.0
    return min(model.validation_fraction, CALIBRATION_ROWS / n_rows)


def fit_threshold(rule: Threshold, ranking: Ranking, Y: sparse.csr_matrix) -> Threshold:
    """Return the rule with the threshold that suits its metric best on ranked rows."""
    metric = get_metric(rule.metric)
    if metric.needs != "sets":
        raise InputError(f"a threshold is tuned for a metric of sets; {metric.name} ranks.")
    return rule.fit(ranking, lambda sets: metric(Y, sets), metric.greater_is_better)
