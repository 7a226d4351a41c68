"""How frequent labels are: head, torso and tail, and propensities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError

GROUP_NAMES = ("head", "torso", "tail")
HEAD, TORSO, TAIL = range(3)
# Whole percents, compared as whole numbers: no rounding decides a group.
HEAD_PERCENT = 50
TORSO_PERCENT = 90


def group_labels(counts: ArrayLike) -> NDArray[np.int8]:
    """Assign every label to the head (0), the torso (1) or the tail (2) by its count.

    A label's level is the share of all label assignments that it and the labels at least as
    frequent carry together. Head: level up to 50%; torso: up to 90%; tail: the rest.

    Parameters
    ----------
    counts : array-like of int, shape (n_labels,)
        Positive training rows of each label.

    Returns
    -------
    ndarray of int8, shape (n_labels,)
        Positions in ``GROUP_NAMES``.

    Notes
    -----
    Labels with equal counts are always in the same group, so a group is a range of counts and
    does not depend on the order of the columns. Multiplying all counts changes nothing. The
    most frequent labels are head even when they alone pass 50%. The rarest labels, and those
    without positives, are always tail; where all counts are equal every label is tail.

    Examples
    --------
    >>> group_labels([50, 30, 10, 6, 3, 1, 0]).tolist()
    [0, 1, 1, 2, 2, 2, 2]
    >>> group_labels([7, 7, 7]).tolist()
    [2, 2, 2]
    """
    counts = _check_counts(counts)
    if len(counts) == 0:
        return np.zeros(0, dtype=np.int8)
    # One entry for each count: labels with equal counts cannot be parted.
    distinct, position, labels = np.unique(counts, return_inverse=True, return_counts=True)
    # Assignments of all labels at least as frequent as this count.
    carried = np.cumsum((distinct * labels)[::-1])[::-1]
    group = np.where(100 * carried > TORSO_PERCENT * carried[0], TAIL, TORSO)
    group[100 * carried <= HEAD_PERCENT * carried[0]] = HEAD
    # The tail is named last: it wins where all counts are equal.
    group[-1] = HEAD
    group[0] = TAIL
    return group[position.ravel()].astype(np.int8)


def _check_counts(counts: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(counts)
    if array.ndim != 1:
        raise InputError(f"counts must be 1-d (one per label); got {array.ndim} dimension(s).")
    numeric = array.dtype.kind in "iuf" or array.size == 0
    if not numeric or not (np.isfinite(array) & (array >= 0)).all():
        raise InputError("counts must be numbers of rows, none below 0.")
    return array.astype(np.int64)


def propensities(
    label_counts: ArrayLike, n_samples: int, a: float = 0.55, b: float = 1.5
) -> NDArray[np.float64]:
    """Estimate how likely a true label is to have been recorded, from training counts.

    ``1 / (1 + C (N_j + b)^-a)`` with ``C = (ln n - 1)(b + 1)^a``.

    Parameters
    ----------
    label_counts : array-like of int, shape (n_labels,)
        Positive rows of every label in the training set, N_j.
    n_samples : int
        Rows of the training set, n.
    a, b : float, default 0.55 and 1.5
        Constants of the data set; the defaults are the usual ones.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        Above 0 and at most 1.

    Notes
    -----
    The formula leaves (0, 1] when ``ln n < 1``; C is then taken as 0 and every propensity is 1.

    Examples
    --------
    >>> propensities([1, 10, 1000], n_samples=10000).round(3).tolist()
    [0.109, 0.22, 0.767]
    """
    counts = np.asarray(label_counts, dtype=np.float64)
    if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any():
        raise InputError("label_counts must be 1-d, one number of rows (0 or more) per label.")
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1; got {n_samples}.")
    if b <= 0:
        raise InputError(f"b must be above 0; got {b}.")
    # Jain, Prabhu and Varma, KDD 2016; below n = e their C is negative.
    c = max(0.0, np.log(float(n_samples)) - 1) * (b + 1) ** a
    result: NDArray[np.float64] = 1 / (1 + c * (counts + b) ** -a)
    return result
