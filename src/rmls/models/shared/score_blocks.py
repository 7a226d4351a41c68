"""From dense score blocks to rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.ranking import Ranking
from rmls.decide import Rule
from rmls.kernels.backend import Backend


def select_above(scores: NDArray[np.float32], threshold: Any) -> Ranking:
    """Rank only the labels that score at least ``threshold``: one for all, or by row or label."""
    rows, labels = np.nonzero(scores >= threshold)
    values = scores[rows, labels]
    # By row, then score, then label: ties go to the lower label, as everywhere.
    order = np.lexsort((labels, -values, rows))
    counts = np.bincount(rows, minlength=len(scores))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ranking(indptr, labels[order].astype(np.int32), values[order], scores.shape[1])


def list_candidates(
    probabilities: NDArray[np.float32], rule: Rule, backend: Backend, n_threads: int
) -> Ranking:
    """List what a rule must see of a block of probabilities, with the mass of what it need not."""
    lowest = rule.lowest(probabilities)
    if lowest is not None:
        listed = select_above(probabilities, lowest)
    else:
        listed = _best_weighted(probabilities, rule, backend, n_threads)
    # What is cut away still counts in the expected size of the truth.
    inside = np.bincount(listed.rows, listed.scores, listed.n_samples)
    rest = np.maximum(probabilities.sum(axis=1, dtype=np.float64) - inside, 0.0)
    return replace(listed, rest=rest.astype(np.float32))


def _best_weighted(
    probabilities: NDArray[np.float32], rule: Rule, backend: Backend, n_threads: int
) -> Ranking:
    """Return the best labels after the rule's weights, with their probabilities as they are."""
    n_labels = probabilities.shape[1]
    weights = rule.weights
    weighted = probabilities if weights is None else probabilities * weights
    k = min(rule.top or n_labels, n_labels)
    labels, scores = backend.best_of_rows(weighted, k, n_threads)
    if weights is None:
        return Ranking.from_table(labels, scores, n_labels)
    # Chosen by weight, listed by probability: a ranking is in the order of its scores.
    plain = np.take_along_axis(probabilities, labels, axis=1)
    order = np.argsort(-plain, axis=1, kind="stable")
    return Ranking.from_table(
        np.take_along_axis(labels, order, axis=1),
        np.take_along_axis(plain, order, axis=1),
        n_labels,
    )
