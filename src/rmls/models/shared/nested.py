"""Estimators inside estimators: made, saved and read again."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import check_choice
from rmls.models.shared.estimator import MultiLabelEstimator

INNER = "inner_"


def make_inner(estimator: Any, whole: MultiLabelEstimator) -> MultiLabelEstimator:
    """Return an estimator to fit, given or named, refusing what is none of this package."""
    if isinstance(estimator, str):
        models = import_module("rmls.models")
        check_choice("estimator", estimator, models.__all__)
        named: MultiLabelEstimator = getattr(models, estimator)()
        return named
    if not isinstance(estimator, MultiLabelEstimator):
        raise InputError(
            f"{type(whole).__name__} takes an estimator of rmls; got {type(estimator).__name__}."
        )
    model: MultiLabelEstimator = clone(estimator)
    return model


def inner_fold_params(inner: MultiLabelEstimator) -> dict[str, Any]:
    """Return the parameters that make an inner model of fewer rows train as long as this one."""
    same = inner._fold_params()
    return {"estimator": clone(inner).set_params(**same)} if same else {}


def inner_state(inner: MultiLabelEstimator) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted estimator as plain values and arrays of their own names."""
    from rmls.models.shared.model_archive import describe_model

    manifest, arrays = describe_model(inner)
    return manifest, {f"{INNER}{name}": array for name, array in arrays.items()}


def restore_inner(manifest: Any, archive: Archive, n_features: int) -> MultiLabelEstimator:
    """Return the estimator that `inner_state` described."""
    from rmls.models.shared.model_archive import build_model

    arrays = {
        name.removeprefix(INNER): array
        for name, array in archive.arrays.items()
        if name.startswith(INNER)
    }
    inner = build_model(Archive(archive.path, manifest, arrays))
    if inner.n_features_in_ != n_features:
        raise InputError("the estimator inside has other features")
    return inner
