"""The logistic function and Newton's logistic regression, against scipy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from rmls.core.numeric import NewtonSteps, fit_logistic, sigmoid, softmax


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_is_the_one_of_scipy_and_keeps_its_type(dtype: type) -> None:
    logits = np.array([-1e30, -40, -1, 0, 1e-3, 7, 1e30], dtype=dtype)
    found = sigmoid(logits)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, special.expit(logits), rtol=1e-5, atol=1e-7)


def test_softmax_is_the_one_of_scipy_however_large_the_scores() -> None:
    scores = np.float32([[1e30, 0, -1e30], [1, 2, 3], [-900, -900, -901]])
    np.testing.assert_allclose(softmax(scores), special.softmax(scores, axis=1), rtol=1e-5)


def uneven_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose lengths span four orders of magnitude and whose weights span seven."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(30, 3)) * 10 ** rng.uniform(-2, 2, size=(30, 1))
    relevant = rng.random(30) < 0.5
    return design, relevant, 10 ** rng.uniform(-2, 5, size=30)


# Seeds of problems on which steps without a bound go out to coefficients in the thousands.
@pytest.mark.parametrize("seed", [19, 73, 165])
def test_bounded_steps_reach_the_minimum_that_plain_newton_steps_run_away_from(seed: int) -> None:
    design, relevant, weights = uneven_rows(seed)
    design /= np.sqrt((design**2).mean(axis=0))
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=10_000)
    wanted = model.fit(design, relevant, sample_weight=weights).coef_[0]
    found = fit_logistic(design, weights, weights * relevant, ridge=1.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    plain = NewtonSteps(max_steps=30, max_move=np.inf)
    gone = fit_logistic(design, weights, weights * relevant, ridge=1.0, steps=plain)
    assert np.abs(gone).max() > 100 * np.abs(wanted).max()


def test_no_step_is_longer_than_allowed() -> None:
    design, relevant, weights = uneven_rows(0)
    for n_steps in (1, 2, 5):
        steps = NewtonSteps(max_steps=n_steps, max_move=0.25)
        theta = fit_logistic(design, weights, weights * relevant, steps=steps)
        assert np.abs(theta).max() <= 0.25 * n_steps + 1e-12


def test_the_known_part_of_the_logits_is_not_learned_again() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    relevant = (rng.random(200) < sigmoid(2 * x - 1)).astype(float)
    both = fit_logistic(np.stack([x, np.ones(200)], axis=1), np.ones(200), relevant)
    alone = fit_logistic(np.ones((200, 1)), np.ones(200), relevant, offset=both[0] * x)
    np.testing.assert_allclose(alone, both[1:], rtol=1e-6)
    start = fit_logistic(np.ones((200, 1)), np.ones(200), relevant, start=[5.0], offset=both[0] * x)
    np.testing.assert_allclose(start, alone, rtol=1e-6)
