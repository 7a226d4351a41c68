"""From dense score blocks to rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads
from rmls.decide import Rule
from rmls.kernels.backend import Backend

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator


def require_finite(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the scores; raise a sentence where one of them is not a finite number."""
    # Float32 numbers that are finite have a finite sum in float64: no array of flags is made.
    if not np.isfinite(scores.sum(dtype=np.float64)):
        raise InputError(
            "the scores of some rows are not finite: their features are too large for the model; "
            "scale them, or let normalize='auto' do so."
        )
    return scores


def select_above(
    scores: NDArray[np.float32],
    threshold: Any,
    probabilities: NDArray[np.float32] | None = None,
) -> Ranking:
    """Rank only the labels that reach ``threshold``: one for all, or by row or label.

    The threshold is one of the probabilities where they are given; the order is that of the scores.
    """
    rows, labels = np.nonzero((scores if probabilities is None else probabilities) >= threshold)
    values = scores[rows, labels]
    # By row, then score, then label: ties go to the lower label, as everywhere.
    order = np.lexsort((labels, -values, rows))
    counts = np.bincount(rows, minlength=len(scores))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    chosen = labels[order].astype(np.int32)
    ranking = Ranking(indptr, chosen, values[order], scores.shape[1])
    return ranking if probabilities is None else ranking.described(probabilities[rows, chosen])


def list_rows(model: MultiLabelEstimator, X: sparse.csr_matrix, rule: Rule) -> Ranking:
    """List by score what a rule must see of all rows, block by block."""
    backend, threads = model._backend, count_threads(model.n_jobs)
    return Ranking.stack(
        [
            list_candidates(model._to_probabilities(scores), rule, backend, threads, scores)
            for _, scores in model._score_blocks(X)
        ]
    )


def list_candidates(
    probabilities: NDArray[np.float32],
    rule: Rule,
    backend: Backend,
    n_threads: int,
    scores: NDArray[np.float32] | None = None,
) -> Ranking:
    """List what a rule must see of a block of probabilities, with the mass of what it need not.

    The order is that of the scores, or of the probabilities where no scores are given.
    """
    scores = probabilities if scores is None else scores
    lowest = rule.lowest(probabilities)
    if lowest is not None:
        listed = select_above(scores, lowest, probabilities)
    else:
        weighted = probabilities if rule.weights is None else probabilities * rule.weights
        k = min(rule.top or weighted.shape[1], weighted.shape[1])
        best = backend.best_of_rows(weighted, k, n_threads)[0]
        listed = _sort_table(best, scores, probabilities)
    # What is cut away still counts in the expected size of the truth.
    inside = np.bincount(listed.rows, listed.chances, listed.n_samples)
    rest = np.maximum(probabilities.sum(axis=1, dtype=np.float64) - inside, 0.0)
    return replace(listed, rest=rest.astype(np.float32))


def _sort_table(
    labels: NDArray[np.int32], scores: NDArray[np.float32], probabilities: NDArray[np.float32]
) -> Ranking:
    """Rank a table of labels, as many in every row, by their scores."""
    # Equal scores stay in the order of their labels.
    labels = np.sort(labels, axis=1)
    order = np.argsort(-np.take_along_axis(scores, labels, axis=1), axis=1, kind="stable")
    labels = np.take_along_axis(labels, order, axis=1)
    values, chances = (
        np.take_along_axis(block, labels, axis=1) for block in (scores, probabilities)
    )
    return Ranking.from_table(labels, values, scores.shape[1]).described(chances.ravel())
