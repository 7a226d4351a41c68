"""What our estimators have of scikit-learn, or stand-ins in a lean process (`rmls.core.lean`).

A stand-in of a base keeps parameters, which is all that loading and answering ask of it. A
stand-in of a function imports scikit-learn when it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rmls.core.lean import is_lean
from rmls.core.lean.postponed import postponed

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "TransformerMixin",
    "check_array",
    "check_is_fitted",
    "check_n_features",
    "check_sample_weight",
    "clone",
    "validate_data",
]

if TYPE_CHECKING or not is_lean():
    # It reads all of scipy.stats for one function, which nothing here calls: two thirds of the time
    # of its import, and 35 MB.
    with postponed("scipy.stats"):
        from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
        from sklearn.utils.validation import _check_n_features as check_n_features
        from sklearn.utils.validation import _check_sample_weight as check_sample_weight
        from sklearn.utils.validation import check_array, check_is_fitted, validate_data
else:
    from rmls.core.lean.parameters import KeepsParameters as BaseEstimator
    from rmls.core.lean.parameters import copy_parameters as clone

    class ClassifierMixin:
        """Stands for the mixin of classifiers."""

    class TransformerMixin:
        """Stands for the mixin of transformers."""

    def _late(name):
        home = "sklearn.utils.validation"
        return lambda *given, **options: getattr(import_module(home), name)(*given, **options)

    check_n_features = _late("_check_n_features")
    check_sample_weight = _late("_check_sample_weight")
    check_array, validate_data = _late("check_array"), _late("validate_data")

    def check_is_fitted(model):
        """Raise scikit-learn's error where a model is not fitted."""
        if not model.__sklearn_is_fitted__():
            import_module("sklearn.utils.validation").check_is_fitted(model)
