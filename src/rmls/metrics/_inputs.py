"""The input of the metrics: label sets, rankings, weights and k, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_label_csr, check_sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def check_truth(Y_true: Any) -> sparse.csr_matrix:
    """Return the true label sets, which must have at least one row and one label."""
    true = as_label_csr(Y_true, "Y_true")
    if 0 in true.shape:
        missing = "rows" if true.shape[0] == 0 else "labels"
        raise InputError(f"Y_true has no {missing}; a metric needs at least one.")
    return true


def as_ranking(scores: Any, shape: tuple[int, ...]) -> Ranking:
    """Return a ranking of the expected shape from a `Ranking`, a sparse or a dense array."""
    if isinstance(scores, Ranking):
        check_shape("ranking", (scores.n_samples, scores.n_labels), shape)
        check_label_numbers("ranking", scores.labels, scores.n_labels)
        _check_scores(scores.scores)
        return scores
    if sparse.issparse(scores):
        return _rank_stored(scores, shape)
    dense = as_dense(scores, "ranking", shape)
    _check_scores(dense)
    return Ranking.from_dense(dense)


def as_dense(values: Any, name: str, shape: tuple[int, ...]) -> Floats:
    """Return a dense array of numbers of the expected shape, or say what ``name`` must be."""
    dense = _as_floats(values, name)
    if dense.ndim != 2:
        raise InputError(f"{name} must be 2-d (rows × labels); got {dense.ndim} dimension(s).")
    check_shape(name, dense.shape, shape)
    return dense


def check_k(k: Any) -> None:
    """Refuse a ``k`` that is not a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k must be a whole number of at least 1; got {k!r}.")


def divide(numerator: Any, denominator: Any, otherwise: ArrayLike = 0.0) -> Floats:
    """Divide element by element, with ``otherwise`` where the denominator is 0."""
    denominator = np.asarray(denominator, dtype=np.float64)
    # Written only where there is a denominator: no warning, and no NaN to repair.
    result: Floats = np.array(np.broadcast_to(otherwise, denominator.shape), dtype=np.float64)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result


def average(values: Floats, sample_weight: ArrayLike | None) -> float:
    """Average one value per row, weighted where weights are given."""
    if sample_weight is None:
        return float(values.mean())
    weights = _as_floats(sample_weight, "sample_weight")
    if weights.shape != values.shape:
        raise InputError(
            f"sample_weight has shape {weights.shape} but Y_true has {len(values)} rows; "
            "give one weight per row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InputError("sample_weight must be finite, none below 0, and not all 0.")
    return float(values @ weights / weights.sum())


def check_train_counts(train_counts: ArrayLike | None, n_labels: int) -> Any:
    """Return the training rows of every label, one number each; None where none are given."""
    if train_counts is None:
        return None
    counts = np.asarray(train_counts)
    # What Y.sum(axis=0) of a sparse matrix is.
    counts = counts[0] if counts.shape == (1, n_labels) else counts
    if counts.shape != (n_labels,):
        raise InputError(
            f"train_counts has shape {counts.shape} but Y_true has {n_labels} labels; "
            "give one count per label."
        )
    return counts


def _rank_stored(scores: Any, shape: tuple[int, ...]) -> Ranking:
    check_sparse(scores, "ranking")
    matrix = sparse.csr_matrix(scores)
    check_shape("ranking", matrix.shape, shape)
    _check_scores(matrix.data)
    return Ranking.from_csr(matrix)


def _as_floats(values: Any, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers.") from error


def _check_scores(scores: Any) -> None:
    if np.isnan(scores).any():
        raise InputError("ranking holds NaN scores; every score must be a number.")


def check_label_numbers(name: str, labels: NDArray[Any], n_labels: int) -> None:
    """Refuse numbers that no label has."""
    if labels.size and (labels.min() < 0 or labels.max() >= n_labels):
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise InputError(f"{name} names label {wrong}; labels run from 0 to {n_labels - 1}.")


def check_shape(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape[0] != wanted[0]:
        raise InputError(
            f"{name} has {shape[0]} rows but Y_true has {wanted[0]}; both need one row per sample."
        )
    if shape[1] != wanted[1]:
        raise InputError(
            f"{name} has {shape[1]} labels but Y_true has {wanted[1]}; "
            "both need one column per label."
        )
