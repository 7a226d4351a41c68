"""Rows, columns and weights of any size: scores are finite, or one sentence refuses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from model_samples import ESTIMATORS, make, make_blocks
from scipy import sparse

from rmls.core.errors import InputError

X, Y = make_blocks()
RNG = np.random.default_rng(0)
SIGNED = RNG.standard_normal(X.shape) * (RNG.random(X.shape) < 0.4)
# Below 1e-38 a float32 has few digits left, below 1e-45 it is 0.
POWERS = (-300, -45, -42, -39, -38, -30, 0, 18, 20, 30, 37)
MIXED = 10.0 ** np.resize(POWERS, len(X))[:, None]
CONSTANT = np.full((len(X), 2), 9.2e18)
EXTREMES = {
    "rows of all sizes": (X * MIXED, X * MIXED[::-1]),
    "signed rows of all sizes": (SIGNED * MIXED, SIGNED * MIXED[::-1]),
    "new rows of all sizes": (X, X * MIXED),
    "all rows tiny": (X * 1e-42, X),
    "all rows huge": (X * 1e37, X),
    "constant columns": (np.hstack([X, CONSTANT]), np.hstack([X, -CONSTANT])),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def answers(model: Any, rows: Any) -> list[np.ndarray]:
    """Return all scores and probabilities of some rows, and look at their sets."""
    assert model.predict_sets(rows).shape == (len(rows), Y.shape[1])
    found = [model.decision_function(rows), model.rank(rows, 3).scores]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(rows))
    return found


def refusal(model: Any, rows: np.ndarray, weights: np.ndarray | None = None) -> str:
    """Return the sentence that refuses some rows; without one, all answers are finite."""
    try:
        found = answers(model.fit(rows, Y, sample_weight=weights), rows)
    except InputError as error:
        return str(error)
    assert all(np.isfinite(values).all() for values in found)
    return ""


@pytest.mark.parametrize("case", EXTREMES)
@every_estimator
def test_scores_of_extreme_rows_are_finite(name: str, case: str) -> None:
    train, new = EXTREMES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = answers(make(name).fit(train, Y), new)
    assert all(np.isfinite(values).all() for values in found)


@pytest.mark.parametrize("size", [1e30, 1e37])
@every_estimator
def test_rows_that_are_not_scaled_are_refused_where_they_are_too_large(
    name: str, size: float
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = refusal(make(name, normalize="none"), X * size)
    assert not found or "too large" in found or "ran away" in found


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@every_estimator
def test_numbers_beyond_float32_are_refused(name: str, container: Any) -> None:
    huge = container(X * 1e300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="too large for dtype"):
            make(name).fit(huge, Y)


@pytest.mark.parametrize("weight", [1e-300, 1e-12, 1e11])
@every_estimator
def test_a_few_extreme_weights_leave_the_scores_finite(name: str, weight: float) -> None:
    weights = np.where(np.arange(len(X)) % 3, 1.0, weight)
    found = refusal(make(name), X, weights)
    # Rows that are repeated need room, and a ridge can be too small beside the weights.
    assert not found or (name in ("LEML", "Resampled") and "weight" in found)


@pytest.mark.parametrize("weight", [1e-300, 1e-13, 1e13, 1e300])
@every_estimator
def test_weights_beyond_all_measure_are_refused(name: str, weight: float) -> None:
    with pytest.raises(InputError, match="the largest sample_weight must lie between"):
        make(name).fit(X, Y, sample_weight=np.full(len(X), weight))


def test_scores_that_are_not_finite_are_refused() -> None:
    model = make("PLST").fit(X, Y)
    model.mean_[0] = np.inf
    for ask in (model.decision_function, model.rank, model.predict):
        with pytest.raises(InputError, match="scores of some rows are not finite"):
            ask(X)


@pytest.mark.parametrize("size", [2**31, 2**40, 2**63 - 1])
@every_estimator
def test_counts_beyond_the_rows_are_bounded_or_refused(name: str, size: int) -> None:
    options = ("n_components", "n_neighbors", "n_coupled", "batch_size", "window", "sparsity")
    for option in set(options) & set(make(name).get_params(deep=False)):
        model = make(name, **{option: size})
        found = refusal(model, X)
        assert not found or (option == "n_components" and "of memory but" in found), option


@pytest.mark.parametrize("size", [1e-300, 1e300])
@every_estimator
def test_steps_and_penalties_of_any_size_give_finite_scores(name: str, size: float) -> None:
    options = ("learning_rate", "max_norm", "l2", "ridge", "alpha", "C", "tol", "ratio")
    options += ("prune", "tail")
    for option in set(options) & set(make(name).get_params(deep=False)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = refusal(make(name, **{option: size}), X)
        assert "\n" not in found


@every_estimator
def test_half_precision_labels_and_odd_names_are_read_or_refused(name: str) -> None:
    model = make(name).fit(X, np.asarray(Y.todense() if sparse.issparse(Y) else Y, np.float16))
    assert model.predict_sets(X).shape == Y.shape
    for names in (5, "abc", {1.5}):
        with pytest.raises(InputError, match="label"):
            make(name).fit(X, Y, label_names=names)
