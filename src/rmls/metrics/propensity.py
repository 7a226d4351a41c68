"""Propensity-scored precision: a hit on a rare label counts for more.

References
----------
Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation, tagging,
ranking and other missing label applications", KDD 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.metrics._counts import HitTable, count_hits
from rmls.metrics._inputs import Floats


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


def psp_at_k(Y_true: Any, ranking: Any, k: int = 1, *, propensity: ArrayLike) -> float:
    """Return the propensity-scored precision of the best k over the best attainable.

    A hit on label j counts ``1 / propensity[j]``; the sum over all rows is divided by the sum
    that the best ranking would reach.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels)
    k : int, default 1
    propensity : array-like of float, shape (n_labels,)
        From `propensities`, of the training set.

    Notes
    -----
    Sums are taken before the division, as in the scripts of the extreme-classification
    literature; rows without true labels therefore add nothing. 0 when no row has a label.

    Examples
    --------
    >>> propensity = [0.9, 0.5, 0.1]
    >>> round(psp_at_k([[1, 1, 0]], [[0.9, 0.5, 0.1]], k=1, propensity=propensity), 4)
    0.5556
    """
    table = count_hits(Y_true, ranking, k)
    weights = 1 / _check_propensity(propensity, table.true.shape[1])
    gained = float(weights[table.hits.labels].sum())
    best = _attainable(table, weights)
    return gained / best if best else 0.0


def _attainable(table: HitTable, weights: Floats) -> float:
    """Sum the k largest weights among the true labels of every row."""
    heaviest_first = np.argsort(-weights)
    place = np.empty(len(weights), dtype=np.int32)
    place[heaviest_first] = np.arange(len(weights))
    true = table.grouped_truth
    ordered = sparse.csr_matrix((true.data, place[true.indices], true.indptr), shape=true.shape)
    ordered.sort_indices()
    positions = np.arange(ordered.nnz) - np.repeat(ordered.indptr[:-1], np.diff(ordered.indptr))
    return float(weights[heaviest_first][ordered.indices[positions < table.k]].sum())


def _check_propensity(propensity: ArrayLike, n_labels: int) -> Floats:
    values = np.asarray(propensity, dtype=np.float64)
    if values.shape != (n_labels,):
        raise InputError(
            f"propensity has shape {values.shape} but Y_true has {n_labels} labels; "
            "give one value per label."
        )
    if not ((values > 0) & (values <= 1)).all():
        raise InputError("propensity must be above 0 and at most 1 for every label.")
    return values
