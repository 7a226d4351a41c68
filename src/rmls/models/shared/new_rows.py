"""Further rows for a fitted model, read from what users pass in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scipy import sparse

from rmls.core.labels import match_columns
from rmls.models.shared.training_set import (
    Weights,
    is_dataset,
    read_features,
    read_targets,
    read_weights,
)

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator


class NewRows(NamedTuple):
    """Further rows for a fitted model.

    Attributes
    ----------
    X : CSR matrix of float32, shape (n_rows, n_features)
    Y : CSR matrix of int32 ones, shape (n_rows, n_known + n_unknown)
    unknown : list
        Labels that the model does not have; they come last.
    weights : ndarray of float64, shape (n_rows,)
    """

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    unknown: list[Any]
    weights: Weights


def read_new_rows(
    model: MultiLabelEstimator, X: Any, y: Any, sample_weight: Any = None, label_names: Any = None
) -> NewRows:
    """Check further rows for a fitted model, whose labels may be new."""
    if y is None and is_dataset(X):
        y, label_names = X.Y, X.label_names if label_names is None else label_names
    features = read_features(model, X)
    Y, unknown = match_labels(model, y, label_names)
    return NewRows(features, Y, unknown, read_weights(features, Y, sample_weight))


def match_labels(
    model: MultiLabelEstimator, y: Any, label_names: Any = None
) -> tuple[sparse.csr_matrix, list[Any]]:
    """Return labels in the columns of a fitted model, and those behind that it does not have."""
    if label_names is None:
        return model._space.read_truth(y)
    space, matrix = read_targets(y, label_names)
    return match_columns(matrix, space.names, model._space.names)
