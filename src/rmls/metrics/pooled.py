"""Set metrics that pool the rows: micro over all pairs, macro label by label."""

from __future__ import annotations

from typing import Any

from rmls.core.resources import on_one_thread
from rmls.metrics._counts import Sizes, count_sets
from rmls.metrics._inputs import Floats, divide


@on_one_thread
def micro_precision(Y_true: Any, Y_pred: Any) -> float:
    """Return the share of all predicted labels that are true.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Notes
    -----
    0 when nothing is predicted.

    Examples
    --------
    >>> micro_precision([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [1, 0, 0]])
    0.5
    """
    sizes = count_sets(Y_true, Y_pred).by_label
    return float(divide(sizes.shared.sum(), sizes.predicted.sum()))


@on_one_thread
def micro_recall(Y_true: Any, Y_pred: Any) -> float:
    """Return the share of all true labels that are predicted.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Notes
    -----
    0 when no row has a label.

    Examples
    --------
    >>> micro_recall([[1, 1, 0, 1], [0, 0, 1, 0]], [[1, 0, 0, 0], [1, 0, 0, 0]])
    0.25
    """
    sizes = count_sets(Y_true, Y_pred).by_label
    return float(divide(sizes.shared.sum(), sizes.true.sum()))


@on_one_thread
def micro_f1(Y_true: Any, Y_pred: Any) -> float:
    """Return ``2 tp / (2 tp + fp + fn)``, counted over all row-label pairs.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Notes
    -----
    0 when there are neither true nor predicted labels.

    Examples
    --------
    >>> micro_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]])
    0.5
    """
    sizes = count_sets(Y_true, Y_pred).by_label
    return float(divide(2 * sizes.shared.sum(), sizes.true.sum() + sizes.predicted.sum()))


@on_one_thread
def macro_precision(Y_true: Any, Y_pred: Any, *, only_occurring: bool = False) -> float:
    """Return the mean over labels of the share of its predictions that are true.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    only_occurring : bool, default False
        Average over the labels that occur in ``Y_true`` only.

    Notes
    -----
    A label that is never predicted counts as 0, as with scikit-learn's ``zero_division=0``.

    Examples
    --------
    >>> macro_precision([[1, 0], [1, 0]], [[1, 0], [1, 0]])
    0.5
    >>> macro_precision([[1, 0], [1, 0]], [[1, 0], [1, 0]], only_occurring=True)
    1.0
    """
    return mean_label_precision(count_sets(Y_true, Y_pred).by_label, only_occurring)


@on_one_thread
def macro_recall(Y_true: Any, Y_pred: Any, *, only_occurring: bool = False) -> float:
    """Return the mean over labels of the share of its true rows that are found.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    only_occurring : bool, default False
        Average over the labels that occur in ``Y_true`` only.

    Notes
    -----
    A label that never occurs counts as 0, as with scikit-learn's ``zero_division=0``.

    Examples
    --------
    >>> macro_recall([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.75
    """
    return mean_label_recall(count_sets(Y_true, Y_pred).by_label, only_occurring)


@on_one_thread
def macro_f1(Y_true: Any, Y_pred: Any, *, only_occurring: bool = False) -> float:
    """Return the mean over labels of the label's F1.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    only_occurring : bool, default False
        Average over the labels that occur in ``Y_true`` only.

    Notes
    -----
    A label that neither occurs nor is predicted counts as 0, as with scikit-learn's
    ``zero_division=0``.

    Examples
    --------
    >>> macro_f1([[1, 0], [1, 0]], [[1, 0], [1, 0]])
    0.5
    """
    return mean_label_f1(count_sets(Y_true, Y_pred).by_label, only_occurring)


def mean_label_precision(sizes: Sizes, only_occurring: bool) -> float:
    """Return the macro precision from the counts of every label."""
    return _mean_over_labels(divide(sizes.shared, sizes.predicted), sizes, only_occurring)


def mean_label_recall(sizes: Sizes, only_occurring: bool) -> float:
    """Return the macro recall from the counts of every label."""
    return _mean_over_labels(divide(sizes.shared, sizes.true), sizes, only_occurring)


def mean_label_f1(sizes: Sizes, only_occurring: bool) -> float:
    """Return the macro F1 from the counts of every label."""
    values = divide(2 * sizes.shared, sizes.true + sizes.predicted)
    return _mean_over_labels(values, sizes, only_occurring)


def _mean_over_labels(values: Floats, sizes: Sizes, only_occurring: bool) -> float:
    if not only_occurring:
        return float(values.mean())
    occurring = sizes.true > 0
    return float(values[occurring].mean()) if occurring.any() else 0.0
