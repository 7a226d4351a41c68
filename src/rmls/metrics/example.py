"""Set metrics computed for every row and averaged over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rmls.core.resources import on_one_thread
from rmls.metrics._counts import Sizes, count_sets
from rmls.metrics._inputs import Floats, Ints, average, divide


@on_one_thread
def hamming_loss(Y_true: Any, Y_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of row-label pairs that are wrong: ``|p xor y| / m``.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    sample_weight : array-like of float, shape (n_samples,), optional

    Returns
    -------
    float
        Between 0 (best) and 1.

    Examples
    --------
    >>> hamming_loss([[1, 0, 1, 0]], [[1, 1, 0, 0]])
    0.5
    """
    counts = count_sets(Y_true, Y_pred)
    sizes = counts.by_row
    wrong = sizes.true + sizes.predicted - 2 * sizes.shared
    return average(wrong / counts.n_labels, sample_weight)


@on_one_thread
def subset_accuracy(Y_true: Any, Y_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of rows predicted exactly.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    An empty set predicted for a row without labels is exact and counts as 1.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.5
    """
    true, predicted, shared = count_sets(Y_true, Y_pred).by_row
    exact = (true == shared) & (predicted == shared)
    return average(exact.astype(np.float64), sample_weight)


@on_one_thread
def example_f1(
    Y_true: Any, Y_pred: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of ``2 |p ∩ y| / (|p| + |y|)``.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row whose true and predicted sets are both empty.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    With ``empty=0`` a row without labels and without predictions scores 0, as in the script
    behind the paper's tables; scikit-learn does the same unless ``zero_division`` is set.

    Examples
    --------
    >>> example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]])
    0.25
    >>> example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]], empty=1)
    0.75
    """
    true, predicted, shared = count_sets(Y_true, Y_pred).by_row
    return average(divide(2 * shared, true + predicted, empty), sample_weight)


@on_one_thread
def example_accuracy(
    Y_true: Any, Y_pred: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of ``|p ∩ y| / |p ∪ y|``, also known as the Jaccard score.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row whose true and predicted sets are both empty.
    sample_weight : array-like of float, shape (n_samples,), optional

    Examples
    --------
    >>> example_accuracy([[1, 1, 0, 0]], [[1, 0, 1, 1]])
    0.25
    """
    true, predicted, shared = count_sets(Y_true, Y_pred).by_row
    return average(divide(shared, true + predicted - shared, empty), sample_weight)


@on_one_thread
def example_precision(
    Y_true: Any, Y_pred: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of ``|p ∩ y| / |p|``.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row whose true and predicted sets are both empty.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    A row with true labels for which nothing is predicted scores 0.

    Examples
    --------
    >>> example_precision([[1, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 1, 0]])
    0.75
    """
    sizes = count_sets(Y_true, Y_pred).by_row
    return average(_shared_part(sizes.predicted, sizes, empty), sample_weight)


@on_one_thread
def example_recall(
    Y_true: Any, Y_pred: Any, *, empty: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of ``|p ∩ y| / |y|``.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    empty : float, default 0.0
        Value of a row whose true and predicted sets are both empty.
    sample_weight : array-like of float, shape (n_samples,), optional

    Notes
    -----
    A row without true labels for which something is predicted scores 0.

    Examples
    --------
    >>> example_recall([[1, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 1, 0]])
    0.75
    """
    sizes = count_sets(Y_true, Y_pred).by_row
    return average(_shared_part(sizes.true, sizes, empty), sample_weight)


def _shared_part(whole: Ints, sizes: Sizes, empty: float) -> Floats:
    """Return shared / whole of every row; without a whole 0, or ``empty`` if both sets are."""
    otherwise = np.where(sizes.true + sizes.predicted == 0, empty, 0.0)
    return divide(sizes.shared, whole, otherwise)
