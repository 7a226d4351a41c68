"""Metrics of the best k labels of every row.

A ranking may be a `Ranking`, a sparse matrix (its stored entries are ranked) or a dense array
of scores. Slots that a short ranking leaves open count as wrong, and so do those beyond the
number of labels: the divisor of precision is always ``k``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rmls.core.resources import on_one_thread
from rmls.metrics._counts import count_hits
from rmls.metrics._inputs import average, divide
from rmls.metrics.pooled import mean_label_f1, mean_label_precision, mean_label_recall


@on_one_thread
def precision_at_k(
    Y_true: Any, ranking: Any, k: int = 1, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of (true labels among the best k) / k.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    Rows without true labels score 0 and stay in the mean, as in the scripts of the
    extreme-classification literature.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]], k=2)
    0.75
    """
    return average(count_hits(Y_true, ranking, k).hits_by_row / k, sample_weight)


@on_one_thread
def recall_at_k(
    Y_true: Any,
    ranking: Any,
    k: int = 1,
    *,
    empty: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of the share of true labels among the best k.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    empty : float, default 0.0
        Value of a row without true labels.
    sample_weight : array-like of float, shape (n_samples,), optional

    Examples
    --------
    >>> recall_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]], k=1)
    0.25
    """
    table = count_hits(Y_true, ranking, k)
    return average(divide(table.hits_by_row, table.true_by_row, empty), sample_weight)


@on_one_thread
def ndcg_at_k(
    Y_true: Any,
    ranking: Any,
    k: int = 1,
    *,
    empty: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of the discounted gain of the best k over the best attainable.

    A true label at rank r (from 1) gains ``1 / log2(r + 1)``.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    empty : float, default 0.0
        Value of a row without true labels.
    sample_weight : array-like of float, shape (n_samples,), optional

    Examples
    --------
    >>> round(ndcg_at_k([[0, 1, 1]], [[0.9, 0.5, 0.1]], k=2), 4)
    0.3869
    """
    table = count_hits(Y_true, ranking, k)
    n_samples, n_labels = table.true.shape
    discounts = 1 / np.log2(np.arange(min(int(k), n_labels)) + 2)
    gained = np.bincount(table.hits.rows, discounts[table.hits.positions], minlength=n_samples)
    # The ideal gain depends on the number of true labels alone: a table of at most k + 1 sums.
    attainable = np.concatenate([[0.0], np.cumsum(discounts)])
    best = attainable[np.minimum(table.true_by_row, len(discounts))]
    return average(divide(gained, best, empty), sample_weight)


@on_one_thread
def coverage_at_k(Y_true: Any, ranking: Any, k: int = 1) -> float:
    """Return the share of the labels in ``Y_true`` that are found at least once.

    A label is found when it is among the best k of a row it is true for.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1

    Notes
    -----
    0 when no row has a label.

    Examples
    --------
    >>> coverage_at_k([[1, 0, 0], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.1, 0.4]], k=1)
    0.5
    """
    sizes = count_hits(Y_true, ranking, k).by_label
    return float(divide(np.count_nonzero(sizes.shared), np.count_nonzero(sizes.true)))


@on_one_thread
def macro_precision_at_k(
    Y_true: Any, ranking: Any, k: int = 1, *, only_occurring: bool = False
) -> float:
    """Return the macro precision of the sets made of the best k labels of every row.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    only_occurring : bool, default False
        Average over the labels that occur in ``Y_true`` only.

    Examples
    --------
    >>> macro_precision_at_k([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]], k=1)
    0.25
    """
    return mean_label_precision(count_hits(Y_true, ranking, k).by_label, only_occurring)


@on_one_thread
def macro_recall_at_k(
    Y_true: Any, ranking: Any, k: int = 1, *, only_occurring: bool = False
) -> float:
    """Return the macro recall of the sets made of the best k labels of every row.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    only_occurring : bool, default False
        Average over the labels that occur in ``Y_true`` only.

    Examples
    --------
    >>> macro_recall_at_k([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]], k=1)
    0.5
    """
    return mean_label_recall(count_hits(Y_true, ranking, k).by_label, only_occurring)


@on_one_thread
def macro_f1_at_k(Y_true: Any, ranking: Any, k: int = 1, *, only_occurring: bool = False) -> float:
    """Return the macro F1 of the sets made of the best k labels of every row.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    only_occurring : bool, default False
        Average over the labels that occur in ``Y_true`` only.

    Examples
    --------
    >>> round(macro_f1_at_k([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]], k=1), 4)
    0.3333
    """
    return mean_label_f1(count_hits(Y_true, ranking, k).by_label, only_occurring)
