"""Scores of rows that a model has not seen: held out, or cross-fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rmls.core.errors import InputError
from rmls.core.options import check_whole
from rmls.decide import ScoreCounts

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator

Rows = NDArray[np.int64]

CROSS_FIT_ROWS = 30_000
USUAL_FOLDS = 3
PLAIN = {"calibration": None, "decision": "cardinality", "early_stopping": False, "verbose": 0}
"""What a model that only scores held-out rows does without."""


def count_folds(wanted: int | str, n_rows: int) -> int:
    """Return the number of cross-fitting folds; 0 stands for holding rows out.

    Examples
    --------
    >>> count_folds("auto", 1000), count_folds("auto", 100_000), count_folds(5, 1000)
    (3, 0, 5)
    """
    if wanted == "auto":
        return USUAL_FOLDS if n_rows <= CROSS_FIT_ROWS else 0
    check_whole("calibration_folds", wanted, 0)
    if wanted == 1:
        raise InputError("calibration_folds must be 0, to hold rows out, or at least 2; got 1.")
    return int(wanted)


def cross_fit_counts(
    model: Any,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    rows: Rows,
    weights: NDArray[np.float64],
    n_folds: int,
    seed: int,
) -> ScoreCounts | None:
    """Count the scores that every row gets from a model fitted to the other folds.

    None where there is one row only, or where no row has a label.
    """
    if len(rows) < 2 or not Y[rows].nnz:
        return None
    counts = None
    for kept, left_out in split_folds(len(rows), min(n_folds, len(rows)), seed):
        part = clone(model)
        known = part.get_params(deep=False)
        part.set_params(**{name: value for name, value in PLAIN.items() if name in known})
        part.set_params(**model._same_passes())
        fit_part(part, model, X[rows[kept]], Y[rows[kept]], weights[kept])
        if part._was_interrupted():
            break
        counts = count_scores(part, X, Y, rows[left_out], weights[left_out], counts)
    return counts


def fit_part(
    part: MultiLabelEstimator,
    whole: Any,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    weights: NDArray[np.float64],
) -> None:
    """Fit an estimator to some rows of another, whose label names it takes over."""
    names = list(whole._space.names)
    known = names if all(isinstance(name, str) for name in names) else None
    part.fit(X, Y, sample_weight=weights, label_names=known)


def count_scores(
    model: Any,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    rows: Rows,
    weights: NDArray[np.float64],
    counts: ScoreCounts | None = None,
) -> ScoreCounts | None:
    """Add the scores of some rows to the counts, which the first block begins."""
    truth = Y[rows]
    for block, scores in model._score_blocks(X[rows]):
        counts = ScoreCounts.covering(scores) if counts is None else counts
        counts.add(scores, truth[block], weights[block])
    return counts


def split_folds(n_rows: int, n_folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows to keep and the rows to leave out, for every fold."""
    order = np.random.Generator(np.random.Philox(key=[seed, 2**34])).permutation(n_rows)
    for fold in range(n_folds):
        left_out = np.zeros(n_rows, dtype=bool)
        left_out[order[fold::n_folds]] = True
        yield np.flatnonzero(~left_out), np.flatnonzero(left_out)
