"""How likely a true label is to have been recorded, from how often it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError


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
    c = max(0.0, np.log(n_samples) - 1) * (b + 1) ** a
    result: NDArray[np.float64] = 1 / (1 + c * (counts + b) ** -a)
    return result
