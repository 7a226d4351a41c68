"""Every estimator of the package, small: to be saved, damaged and used, or fitted to anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import rmls.models

ESTIMATORS: dict[str, type] = {
    name: found
    for name in rmls.models.__all__
    # Its rows are texts; these are numbers.
    if name not in rmls.models.READS_TEXT
    and isinstance(found := getattr(rmls.models, name), type)
    and issubclass(found, BaseEstimator)
}
# Small values where an estimator has a parameter of that name.
SMALL: dict[str, Any] = {"n_components": 3, "max_iter": 2, "n_estimators": 2, "max_epochs": 5}
WRAPPERS = [name for name, cls in ESTIMATORS.items() if "estimator" in cls().get_params(deep=False)]


def make(name: str, **wanted: Any) -> Any:
    """Return an estimator with small settings and ``wanted``; wrappers get a small one inside."""
    params = ESTIMATORS[name]().get_params(deep=False)
    settings = {key: value for key, value in {**SMALL, **wanted}.items() if key in params}
    if name in WRAPPERS and "estimator" not in wanted:
        settings["estimator"] = rmls.models.RMLS(n_components=3, max_iter=2)
    return ESTIMATORS[name](**settings)


def toy_data(n: int = 24, d: int = 6, m: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Return rows whose labels follow from them, none of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
    X[:, 0] += 0.1
    Y = (X @ rng.normal(size=(d, m)) > 0).astype(int)
    Y[0] = 1
    return X, Y
