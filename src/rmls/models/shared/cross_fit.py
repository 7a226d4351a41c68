"""Scores of rows that a model has not seen: held out, or from models fitted to the other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rmls.core.lean.learn import clone
from rmls.decide import ScoreCounts
from rmls.models.shared.progress import as_means, show_part
from rmls.models.shared.training_set import TrainingSet

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator

PLAIN = {"calibration": None, "decision": "cardinality", "early_stopping": False, "verbose": 0}
"""What a model that only scores held-out rows does without."""


def cross_fit_counts(
    model: MultiLabelEstimator,
    data: TrainingSet,
    n_folds: int,
    seed: int,
    count: Callable[[Any, TrainingSet, ScoreCounts | None], ScoreCounts | None],
) -> ScoreCounts | None:
    """Count the scores that every row gets from a model fitted to the other folds.

    ``count`` adds the scores of some rows to the counts. None where there is one row only, or where
    no row has a label.
    """
    if data.n_rows < 2 or not data.labels.nnz:
        return None
    counts, n_folds = None, min(n_folds, data.n_rows)
    for number, fold in enumerate(data.folds(n_folds, seed)):
        show_part(number, n_folds)
        part = clone(model)
        known = part.get_params(deep=False)
        part.set_params(**{name: value for name, value in PLAIN.items() if name in known})
        # "auto" would choose more passes for fewer rows: a fold trains as long as the whole.
        part.set_params(**model._fold_params())
        with as_means():
            fit_part(part, model, fold.kept)
        # All folds share the bins of the first block: their scores are on one scale.
        found = count(part, fold.left_out, None if counts is None else counts.empty())
        counts = join_counts(counts, found, fold)
    return counts


def join_counts(
    counts: ScoreCounts | None, found: ScoreCounts | None, data: TrainingSet
) -> ScoreCounts | None:
    """Return the counts with those of one model more, which was not trained on rows held out."""
    if found is None:
        return counts
    joined, kept = found.empty() if counts is None else counts, data.kept
    # As if these were all rows: a label has the frequency that it has, of which fewer rows tell.
    joined.join(found, kept.positives() * (data.weights.sum() / kept.weights.sum()))
    return joined


def fit_part(part: MultiLabelEstimator, whole: MultiLabelEstimator, data: TrainingSet) -> None:
    """Fit an estimator to some rows of another, whose label names it takes over."""
    names = list(whole._space.names)
    known = names if all(isinstance(name, str) for name in names) else None
    part.fit(data.features, data.labels, sample_weight=data.weights, label_names=known)


def count_scores(
    model: MultiLabelEstimator, data: TrainingSet, counts: ScoreCounts | None = None
) -> ScoreCounts | None:
    """Add the scores of some rows to the counts, which the first block begins."""
    truth = data.labels
    for block, scores in model._score_blocks(data.features):
        counts = ScoreCounts.covering(scores) if counts is None else counts
        counts.add(scores, truth[block], data.weights[block])
    return counts
