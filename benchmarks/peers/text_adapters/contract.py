"""What an adapter of raw text must offer, and how a list of labels is cut to a set.

Runs inside the environments of the systems: numpy and scipy only.
"""

from __future__ import annotations

import numpy as np
from adapters.contract import AnyAdapter
from exchange import Ranked

LIMITS = (1, 2, 3, 4, 5, 7, 10, 15)
QUANTILES = 60


class TextAdapter(AnyAdapter):
    """A system that reads text. `text_worker.py` calls the methods in the order they stand in.

    Only `train` and `rank` are timed.
    """

    def train(self, problem):
        """Train on the texts of a `TextProblem`."""
        raise NotImplementedError

    def rank(self, texts, k):
        """Return the best k labels of every text as `Ranked`."""
        raise NotImplementedError

    def decide(self, texts, ranked):
        """Return named label sets as `Ranked`, by the system's own means; ``own`` is the first."""
        raise NotImplementedError

    def model_bytes(self):
        """Return the size of the saved model."""
        raise NotImplementedError


def cut(ranked, threshold, limit):
    """Return what is left of ranked lists: at most ``limit`` labels that score enough."""
    lengths = np.diff(ranked.indptr)
    place = np.arange(len(ranked.labels)) - np.repeat(ranked.indptr[:-1], lengths)
    kept = (place < limit) & (ranked.scores >= threshold)
    rows = np.repeat(np.arange(len(lengths)), lengths)[kept]
    counts = np.bincount(rows, minlength=len(lengths))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ranked(indptr, ranked.labels[kept], ranked.scores[kept])


def macro_f1(ranked, truth, n_labels):
    """Return the mean F1 over the labels that occur in ``truth``, a list of labels a row."""
    rows = np.repeat(np.arange(len(truth)), np.diff(ranked.indptr))
    predicted = rows.astype(np.int64) * n_labels + ranked.labels
    true = np.array([row * n_labels + label for row, some in enumerate(truth) for label in some])
    shared = predicted[np.isin(predicted, true)] % n_labels
    predicted_of = np.bincount(predicted % n_labels, minlength=n_labels)
    true_of = np.bincount(true % n_labels, minlength=n_labels)
    shared_of = np.bincount(shared, minlength=n_labels)
    values = 2 * shared_of / np.maximum(predicted_of + true_of, 1)
    return float(values[true_of > 0].mean())


def best_cut(ranked, truth, n_labels):
    """Return threshold and limit with the best macro-F on rows that were not trained on."""
    steps = np.linspace(0, 1, QUANTILES, endpoint=False)
    thresholds = np.unique(np.quantile(ranked.scores, steps)) if len(ranked.scores) else [0.0]
    choices = [(float(score), limit) for score in thresholds for limit in LIMITS]
    return max(choices, key=lambda choice: macro_f1(cut(ranked, *choice), truth, n_labels))
