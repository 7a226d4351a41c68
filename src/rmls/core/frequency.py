"""Head, torso and tail: the labels split by how often they occur."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError

GROUP_NAMES = ("head", "torso", "tail")
HEAD, TORSO, TAIL = range(3)
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
    distinct, position, labels = np.unique(counts, return_inverse=True, return_counts=True)
    carried = np.cumsum((distinct * labels)[::-1])[::-1]
    group = np.where(100 * carried > TORSO_PERCENT * carried[0], TAIL, TORSO)
    group[100 * carried <= HEAD_PERCENT * carried[0]] = HEAD
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
