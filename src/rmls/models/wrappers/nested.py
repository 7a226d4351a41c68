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
from rmls.models.wrappers.foreign import Foreign, check_foreign

INNER = "inner_"
# Each takes four of the levels that a manifest may have, and some frames of Python's stack.
MAX_NESTED = 10


class HoldsEstimator:
    """Mixin of estimators that fit another one."""

    _inner: MultiLabelEstimator

    @property
    def estimator_(self) -> Any:
        """The fitted estimator inside, of whatever library it is."""
        inner = self._inner
        return inner.estimator_ if isinstance(inner, Foreign) else inner


def make_inner(estimator: Any, whole: MultiLabelEstimator) -> MultiLabelEstimator:
    """Return an estimator to fit, given or named, refusing what does not score labels."""
    if isinstance(estimator, str):
        models = import_module("rmls.models")
        numeric = [name for name in models.__all__ if name not in models.READS_TEXT]
        check_choice("estimator", estimator, numeric)
        named: MultiLabelEstimator = getattr(models, estimator)()
        return named
    if not isinstance(estimator, MultiLabelEstimator):
        check_foreign(estimator, type(whole).__name__)
        return Foreign(clone(estimator))
    _check_depth(estimator)
    model: MultiLabelEstimator = clone(estimator)
    return model


def _check_depth(estimator: Any) -> None:
    """Refuse, before anything is trained, what could be neither cloned nor saved."""
    for _ in range(MAX_NESTED):
        estimator = getattr(estimator, "estimator", None)
        if not isinstance(estimator, MultiLabelEstimator):
            return
    raise InputError(f"at most {MAX_NESTED} estimators may stand inside one another; got more.")


def inner_fold_params(inner: MultiLabelEstimator) -> dict[str, Any]:
    """Return the parameters that make an inner model of fewer rows train as long as this one."""
    same = inner._fold_params()
    return {"estimator": clone(inner).set_params(**same)} if same else {}


def inner_state(inner: MultiLabelEstimator) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted estimator as plain values and arrays of their own names."""
    from rmls.models.shared.model_archive import describe_model

    manifest, arrays = describe_model(inner)
    # They are those of the model around it.
    manifest["feature_names"] = None
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
