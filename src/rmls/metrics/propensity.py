"""Propensity-scored precision: a hit on a rare label counts for more.

References
----------
Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation, tagging,
ranking and other missing label applications", KDD 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.resources import on_one_thread
from rmls.metrics._counts import HitTable, count_hits
from rmls.metrics._inputs import Floats


@on_one_thread
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
    # 1/p_j makes the recorded hits an unbiased estimate of all true ones (Jain et al., 2016).
    weights = 1 / _check_propensity(propensity, table.true.shape[1])
    gained = float(weights[table.hits.labels].sum())
    best = _attainable(table, weights)
    return gained / best if best else 0.0


def _attainable(table: HitTable, weights: Floats) -> float:
    """Sum the k largest weights among the true labels of every row."""
    # Labels renumbered by falling weight: sorting the column numbers of a row sorts it by weight.
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
