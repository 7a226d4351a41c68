"""What an adapter must offer, and the conversions that several of them share.

Runs inside the peers' environments: numpy and scipy only.
"""

from __future__ import annotations

import numpy as np
from exchange import Ranked

ROWS_AT_ONCE = 1000


class AnyAdapter:
    """One way to use one peer, whatever it is given. The constructor imports the peer."""

    distributions = ()
    """Names under which the peer may be installed; the version of the first found is recorded."""

    def __init__(self, threads, folder):
        self.threads = threads
        self.folder = folder

    def settings(self):
        """Return what the peer is given beside the data, and what it chose, for the record."""
        return {}

    def warm_up(self):
        """Load or compile what a process needs only once; timed apart."""


class Adapter(AnyAdapter):
    """A peer that takes matrices. `worker.py` calls the methods in the order in which they stand.

    Only `train` and `predict` are timed.
    """

    def convert_training(self, X, Y):
        """Return the training data in the form the peer takes."""
        return X, Y

    def train(self, data):
        """Train on what `convert_training` returned."""
        raise NotImplementedError

    def convert_rows(self, X):
        """Return rows to predict in the form the peer takes."""
        return X

    def predict(self, rows, k):
        """Return the best k labels of every row, in the form the peer gives."""
        raise NotImplementedError

    def read_ranking(self, predicted):
        """Return what `predict` gave as `Ranked`."""
        return predicted

    def save(self, folder):
        """Write the model the way the peer does."""
        raise NotImplementedError


def rank_entries(n_rows, rows, labels, scores):
    """Sort (row, label, score) entries to `Ranked`; ties go to the lower label index."""
    order = np.lexsort((labels, -scores, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
    return Ranked(
        indptr.astype(np.int64),
        labels[order].astype(np.int32),
        scores[order].astype(np.float32),
    )


def rank_pairs(predicted):
    """Turn one list of (label, score) pairs per row into `Ranked`."""
    lengths = np.array([len(pairs) for pairs in predicted], dtype=np.int64)
    flat = np.array([pair for pairs in predicted for pair in pairs], dtype=np.float64)
    flat = flat.reshape(-1, 2)
    rows = np.repeat(np.arange(len(predicted)), lengths)
    return rank_entries(len(predicted), rows, flat[:, 0].astype(np.int64), flat[:, 1])


def rank_sparse(scores):
    """Turn a sparse score matrix, whose stored entries are the scored labels, into `Ranked`."""
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    return rank_entries(scores.shape[0], rows, scores.indices.astype(np.int64), scores.data)


def rank_in_blocks(score, X, k, labels=None, unscored=None):
    """Rank rows by a function that gives dense scores, a thousand rows at a time.

    Parameters
    ----------
    score : callable
        Takes some rows of ``X``, returns an array (rows, columns).
    k : int
    labels : array of int, optional
        The label that every column stands for; the column's number by default.
    unscored : float, optional
        Value of labels that the peer did not score; they are left out.
    """
    pieces = []
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        dense = np.asarray(score(X[start : start + ROWS_AT_ONCE]))
        k_here = min(k, dense.shape[1])
        best = np.argpartition(-dense, k_here - 1, axis=1)[:, :k_here]
        rows = np.repeat(np.arange(start, start + len(dense)), k_here)
        pieces.append((rows, best.ravel(), np.take_along_axis(dense, best, axis=1).ravel()))
    rows, columns, scores = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
    if unscored is not None:
        scored = scores != unscored
        rows, columns, scores = rows[scored], columns[scored], scores[scored]
    names = columns if labels is None else np.asarray(labels)[columns]
    return rank_entries(X.shape[0], rows, names.astype(np.int64), scores)
