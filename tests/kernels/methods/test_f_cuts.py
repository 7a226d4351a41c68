"""The most violated set against all sets, and the solver against its own bound."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import optimize, sparse

from rmls.kernels.cpu.methods.f_cuts import most_violated, solve_label
from rmls.models.shared.sparse_archive import csr_arrays


def f_loss(truth: np.ndarray, chosen: np.ndarray) -> float:
    return 1 - 2 * (truth & chosen).sum() / (truth.sum() + chosen.sum())


def bound(scores: np.ndarray, truth: np.ndarray) -> float:
    """The largest violation over all sets."""
    sets = np.array(list(product([False, True], repeat=len(truth))))
    return max(
        f_loss(truth, chosen) + (scores[chosen].sum() - scores[truth].sum()) / truth.sum()
        for chosen in sets
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_set_violates_the_margin_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    truth = rng.random(n) < 0.4
    truth[0] = True
    scores = rng.normal(0, rng.choice([0.1, 0.5, 2.0]), n).round(int(rng.integers(0, 3)))
    chosen = np.zeros(n, dtype=bool)
    loss = most_violated(scores, truth, np.ones(n), chosen)
    assert loss == pytest.approx(f_loss(truth, chosen))
    value = loss + (scores[chosen].sum() - scores[truth].sum()) / truth.sum()
    assert value == pytest.approx(bound(scores, truth))


@pytest.mark.parametrize("seed", range(10))
def test_the_surrogate_is_at_least_the_loss_of_the_predicted_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.random(9) < 0.4
    truth[0] = True
    scores = rng.normal(0, 1, 9)
    assert bound(scores, truth) >= f_loss(truth, scores > 0) - 1e-12
    assert bound(2 * np.where(truth, 1.0, -1.0), truth) == pytest.approx(0)


def test_one_row_of_each_kind_by_hand() -> None:
    # Rows 1 (relevant) and -1. Sets and what they ask of w = (a, 0): {} asks 1 - a, {second} 1 - 2a
    # and both 1/3 - a; the first is the largest from a = 0 on, so a²/2 + C (1 - a) has a = C.
    rows = csr_arrays(sparse.csr_matrix(np.float32([[1], [-1]])))
    w = np.empty(2)
    solve_label(rows, np.array([True, False]), np.ones(2), 0.25, (50, 1e-6), w)
    # The set {} also asks the intercept: the two share the step.
    np.testing.assert_allclose(w, [0.25, 0.25], atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_solution_is_that_of_a_slow_solver(C: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(7, 2)).astype(np.float32)
    truth = np.array([1, 1, 0, 0, 0, 1, 0], dtype=bool)

    def objective(w: np.ndarray) -> float:
        return float(w @ w / 2 + C * bound(X @ w[:-1] + w[-1], truth))

    w = np.empty(3)
    rows = csr_arrays(sparse.csr_matrix(X))
    solve_label(rows, truth, np.ones(7), C, (500, 1e-7), w)
    slow = optimize.minimize(objective, w + 0.1, method="Nelder-Mead", options={"maxiter": 2000})
    assert objective(w) <= slow.fun + 1e-4 * (1 + C)


def test_few_places_for_cuts_are_enough() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30)).astype(np.float32)
    truth = X[:, 0] + rng.normal(0, 0.5, 300) > 1
    w = np.empty(31)
    n_cuts = solve_label(
        csr_arrays(sparse.csr_matrix(X)), truth, np.ones(300), 100.0, (2000, 0.01), w
    )
    # More cuts than are kept at a time, and an end all the same.
    assert 40 < n_cuts < 2000
    assert f_loss(truth, X @ w[:-1] + w[-1] > 0) < 0.3
