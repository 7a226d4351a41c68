"""Every estimator of the package, small and fast, and problems whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import rmls.models

# Values for the tests wherever an estimator has a parameter of that name.
FAST = {"n_components": 8, "max_iter": 5}
# Random codes tell labels apart only when there are far more of them than labels.
# Calibration has tests of its own, and `Calibrated` to stand for it here.
FAST_BY_NAME: dict[str, dict[str, Any]] = {
    "CS": {"n_components": 100},
    "RMLS": {"calibration": None},
}
# Methods that draw a random number for every label: other labels, other draws.
DRAWS_PER_LABEL = (
    "BMLPL",
    "COCOA",
    "CS",
    "Calibrated",
    "GFM",
    "IRUS",
    "RMLSRanker",
    "Resampled",
    "WSABIE",
)

ESTIMATORS: dict[str, type] = {
    name: found
    for name in rmls.models.__all__
    if isinstance(found := getattr(rmls.models, name), type) and issubclass(found, BaseEstimator)
}
NAMES = ["advice", "budget", "court", "duty", "export", "farm"]


def make(name: str, **wanted: Any) -> Any:
    """Return the estimator with fast settings and those of ``wanted`` that it has."""
    cls = ESTIMATORS[name]
    known = cls().get_params()
    settings = {**FAST, **wanted, **FAST_BY_NAME.get(name, {})}
    return cls(**{key: value for key, value in settings.items() if key in known})


def make_blocks(
    n: int = 60, n_topics: int = 3, words: int = 4, labels: int = 2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one or two topics: the words of a topic stand for exactly its labels.

    Every row shows at least one word of each of its topics, so the labels follow from the words.
    """
    rng = np.random.default_rng(seed)
    topics = np.zeros((n, n_topics), dtype=bool)
    topics[np.arange(n), np.arange(n) % n_topics] = True
    topics[np.arange(n), rng.integers(0, n_topics, n)] = True
    shown = rng.random((n, n_topics, words)) < 0.6
    shown[..., 0] = True
    X = (shown & topics[..., None]).reshape(n, -1)
    return X.astype(np.float64), np.repeat(topics, labels, axis=1).astype(np.int64)


def as_names(Y: np.ndarray, names: list[Any]) -> list[list[Any]]:
    return [[names[label] for label in np.flatnonzero(row)] for row in Y]
