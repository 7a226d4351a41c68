"""Every estimator of the package, small and fast, and problems whose answer is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import rmls.models
from rmls.models.rmls.sgd import Training

# Values for the tests wherever an estimator has a parameter of that name.
FAST = {"n_components": 8, "max_iter": 5}
INNER = rmls.models.RMLS(**FAST, calibration=None)
# Random codes tell labels apart only when there are far more of them than labels.
# Calibration has tests of its own, and `Calibrated` to stand for it here.
FAST_BY_NAME: dict[str, dict[str, Any]] = {
    "CS": {"n_components": 100},
    "RMLS": {"calibration": None},
    "Calibrated": {"estimator": INNER},
    "GFM": {"estimator": INNER},
    "Resampled": {"estimator": INNER, "calibration": None},
    "AveragedRMLS": {"estimator": INNER, "n_estimators": 2, "calibration": None},
}
# The estimator that is asked everything. The others read their input by the same methods, which
# `test_model_input` makes sure of, and are asked a few questions each.
MODEL = "RMLS"
# Methods that draw a random number for every label: other labels, other draws.
DRAWS_PER_LABEL = (
    "AveragedRMLS",
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
    # Those that read texts have suites of their own, with texts as rows.
    if name not in rmls.models.READS_TEXT
    and isinstance(found := getattr(rmls.models, name), type)
    and issubclass(found, BaseEstimator)
}
NAMES = ["advice", "budget", "court", "duty", "export", "farm"]


def make(name: str, **wanted: Any) -> Any:
    """Return the estimator with fast settings and those of ``wanted`` that it has."""
    cls = ESTIMATORS[name]
    known = cls().get_params()
    settings = {**FAST, **wanted, **FAST_BY_NAME.get(name, {})}
    return cls(**{key: value for key, value in settings.items() if key in known})


def spread(cases: Mapping[str, Any], usual: Iterable[str]) -> Any:
    """Ask one estimator about all ``cases`` and every other about the ``usual`` ones."""
    usual = list(usual)
    return pytest.mark.parametrize(
        ("name", "case"),
        [
            pytest.param(name, cases[case], id=f"{name}-{case}")
            for name in ESTIMATORS
            for case in (cases if name == MODEL else usual)
        ],
    )


@cache
def fitted(name: str) -> Any:
    """Return the estimator fitted to `make_blocks`, the same object for all who only ask it."""
    return make(name).fit(*make_blocks())


def assert_same_sets(found: Any, wanted: Any) -> None:
    """Assert that two answers of `predict` are equal, and of the same container."""
    assert type(found) is type(wanted)
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted)
    elif sparse.issparse(wanted):
        np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found == wanted


def interrupt_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when pass ``number`` of a training begins."""
    original = Training.run_pass

    def run_pass(self: Training, at: int, *rest: Any) -> float:
        if at == number:
            raise KeyboardInterrupt
        return original(self, at, *rest)

    monkeypatch.setattr(Training, "run_pass", run_pass)


def train_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a training use its threads however small it is."""
    monkeypatch.setattr("rmls.models.rmls.sgd.SMALL_PASS", 0)
    monkeypatch.setattr("rmls.models.rmls.sgd.VISITS_A_THREAD", 1)
    monkeypatch.setattr("rmls.kernels.cpu.sgd.passes.MERGED_ROWS", 1e-9)


def plain_params(model: Any) -> dict[str, Any]:
    """Return the parameters of a model and of those inside it, which stand for themselves."""
    params = model.get_params(deep=True)
    return {key: type(v) if isinstance(v, BaseEstimator) else v for key, v in params.items()}


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


def make_noise(
    n: int = 80, d: int = 15, m: int = 7, share: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Random rows, none of them empty, and labels that have nothing to do with them."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.4)
    X[:, 0] += 0.1
    return X, (rng.random((n, m)) < share).astype(int)


def as_names(Y: np.ndarray, names: list[Any]) -> list[list[Any]]:
    return [[names[label] for label in np.flatnonzero(row)] for row in Y]
