"""Metrics of whole rankings: how far down the list the true labels stand.

Labels that a ranking does not list stand behind all listed ones, tied with one another. Of labels
with equal scores each counts against the other, as in scikit-learn. So every metric is exact where
all labels are listed, and the worst that a longer list could give where they are not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rmls.core.resources import on_one_thread
from rmls.metrics._counts import WHOLE, HitTable, count_hits
from rmls.metrics._inputs import Floats, Ints, average, divide


class _Places(NamedTuple):
    """Where the listed true labels stand: one number for each of them.

    ``ranks`` counts the labels that score at least as much, ``true`` those among them that are
    true; ``unlisted`` is the number of true labels of every row that are not listed, ``n_labels``
    that of all its labels.
    """

    rows: Ints
    ranks: Ints
    true: Ints
    unlisted: Ints
    n_true: Ints
    n_labels: Ints

    def sum_by_row(self, values: Any) -> Floats:
        """Add up one value of each listed true label."""
        weights = np.asarray(values, dtype=np.float64)
        return np.bincount(self.rows, weights, minlength=len(self.n_true)).astype(np.float64)


@on_one_thread
def one_error(
    Y_true: Any, ranking: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of rows whose first label is not true.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row without true labels.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    Of equal scores the label of the smallest number comes first. A row without any ranked label
    is wrong.

    Examples
    --------
    >>> one_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]])
    0.5
    """
    table = count_hits(Y_true, ranking, 1)
    missed = np.where(table.true_by_row > 0, 1.0 - table.hits_by_row, empty)
    return average(missed, sample_weight)


@on_one_thread
def coverage_error(
    Y_true: Any, ranking: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return how many labels must be taken on average until all true ones are among them.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row without true labels.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    A number of labels, not a share; at best the mean number of true ones.

    Examples
    --------
    >>> coverage_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]])
    2.0
    """
    places = _find_places(Y_true, ranking)
    deepest = np.zeros(len(places.n_true))
    np.maximum.at(deepest, places.rows, places.ranks)
    deepest = np.where(places.unlisted > 0, places.n_labels, deepest)
    return average(np.where(places.n_true > 0, deepest, empty), sample_weight)


@on_one_thread
def ranking_loss(
    Y_true: Any, ranking: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean share of pairs of a true and a false label that are in the wrong order.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row without true or without false labels.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    A pair of equal scores is in the wrong order.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]])
    0.25
    """
    places = _find_places(Y_true, ranking)
    n_false = places.n_labels - places.n_true
    # Nothing stands behind a label that is not listed, so all false ones are before it or tied.
    wrong = places.sum_by_row(places.ranks - places.true) + places.unlisted * n_false
    return average(divide(wrong, places.n_true * n_false, empty), sample_weight)


@on_one_thread
def label_ranking_average_precision(
    Y_true: Any, ranking: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean, over rows and their true labels, of the precision at the label's rank.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row without true labels; scikit-learn has 1.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    The worst value is not 0: a true label that stands last has the precision of all labels.

    Examples
    --------
    >>> label_ranking_average_precision([[1, 0, 1], [0, 1, 0]], [[3, 1, 2], [1, 2, 3]])
    0.75
    """
    places = _find_places(Y_true, ranking)
    # The last rank holds all labels, hence all true ones.
    last = divide(places.unlisted * places.n_true, places.n_labels)
    gained = places.sum_by_row(places.true / places.ranks) + last
    return average(divide(gained, places.n_true, empty), sample_weight)


def _find_places(Y_true: Any, ranking: Any) -> _Places:
    """Return the rank of every listed true label; labels of equal scores share the worst rank."""
    table = ranking if isinstance(ranking, HitTable) else count_hits(Y_true, ranking, WHOLE)
    listed, hits = table.ranking, table.hits
    starts = listed.indptr[hits.rows]
    ends = _ends_of_runs(listed.indptr, listed.scores)[starts + hits.positions]
    marked = np.zeros(len(listed.scores) + 1, np.int64)
    marked[starts + hits.positions + 1] = 1
    before = np.cumsum(marked)
    return _Places(
        rows=hits.rows,
        ranks=ends - starts,
        true=before[ends] - before[starts],
        unlisted=table.true_by_row - table.hits_by_row,
        n_true=table.true_by_row,
        n_labels=table.n_labels,
    )


def _ends_of_runs(indptr: Ints, scores: Any) -> Ints:
    """Return, for every entry, where the run of equal scores of its row ends.

    Examples
    --------
    >>> _ends_of_runs(np.array([0, 3, 4]), np.array([2.0, 1.0, 1.0, 1.0])).tolist()
    [1, 3, 3, 4]
    """
    begins = np.zeros(len(scores) + 1, bool)
    begins[indptr] = True
    begins[1:-1] |= scores[1:] != scores[:-1]
    places = np.flatnonzero(begins)
    # The run of an entry ends where the next one begins.
    ends: Ints = places[np.cumsum(begins[:-1])]
    return ends
