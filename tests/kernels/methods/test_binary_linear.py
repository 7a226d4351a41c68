"""The linear machine against its optimality conditions, and confidences against a slow sum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, sparse

from rmls.kernels.cpu.methods.binary_linear import (
    add_confidences,
    clear_features,
    sum_confidences,
    train_machine,
)
from rmls.models.shared.sparse_archive import csr_arrays

RNG = np.random.default_rng(0)


def train(
    X: np.ndarray, targets: np.ndarray, costs: np.ndarray, picked: np.ndarray | None = None
) -> np.ndarray:
    picked = np.arange(len(X)) if picked is None else picked
    w = np.zeros(X.shape[1] + 1)
    rows = csr_arrays(sparse.csr_matrix(X, dtype=np.float32))
    train_machine(rows, picked, targets, costs, (1000, 1e-9), np.uint64(7), w)
    return w


def test_one_row_of_each_class_by_hand() -> None:
    # w = (a, 0) with the rows 1 and -1: a²/2 + 2 C (1 - a)² is least at a = 4 C / (1 + 4 C).
    w = train(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2))
    np.testing.assert_allclose(w, [0.8, 0.0], atol=1e-6)


def test_weights_minimise_the_squared_hinge() -> None:
    X = RNG.normal(size=(40, 5)) * (RNG.random((40, 5)) < 0.6)
    X = X.astype(np.float32).astype(np.float64)
    targets, costs = np.where(RNG.random(40) < 0.3, 1.0, -1.0), RNG.random(40) + 0.1

    def objective(w: np.ndarray) -> float:
        short = np.maximum(0, 1 - targets * (X @ w[:-1] + w[-1]))
        return float(w @ w / 2 + costs @ short**2)

    wanted = optimize.minimize(objective, np.zeros(6), tol=1e-10).x
    np.testing.assert_allclose(train(X, targets, costs), wanted, atol=1e-4)


def test_only_picked_rows_are_learned_from_and_cleared_again() -> None:
    X = np.eye(4)
    rows = csr_arrays(sparse.csr_matrix(X, dtype=np.float32))
    picked, w = np.array([1, 3]), np.zeros(5)
    train_machine(rows, picked, np.array([1.0, -1.0]), np.ones(2), (100, 1e-6), np.uint64(0), w)
    assert (w[[0, 2]] == 0).all()
    assert w[1] > 0 > w[3]
    clear_features(rows, picked, w)
    assert not w.any()


def test_a_cost_of_two_is_the_same_as_two_rows() -> None:
    X = RNG.normal(size=(6, 3)).astype(np.float32)
    targets = np.array([1.0, 1, -1, -1, 1, -1])
    twice = train(np.vstack([X, X[:1]]), np.append(targets, targets[0]), np.ones(7))
    weighted = train(X, targets, np.array([2.0, 1, 1, 1, 1, 1]))
    np.testing.assert_allclose(twice, weighted, atol=1e-5)


@pytest.mark.parametrize("sizes", [[1, 1, 1], [1, 2], [2, 1]], ids=str)
def test_confidences_are_soft_maxima_of_the_margins(sizes: list[int]) -> None:
    X = sparse.random(9, 4, 0.6, "csr", np.float32, random_state=0)
    weights = sparse.random(4, 3, 0.7, "csr", np.float32, random_state=1)
    intercepts = np.float32([0.1, -0.4, 0.2])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    owners = np.arange(len(sizes)) % 2
    margins = X @ weights.toarray() + intercepts
    wanted = np.zeros((9, 2))
    for machine, (start, stop) in enumerate(pairwise(ends)):
        wanted[:, owners[machine]] += 1 / (1 + np.exp(-margins[:, start:stop]).sum(axis=1))
    found = np.zeros((9, 2), np.float32)
    add_confidences(csr_arrays(X), csr_arrays(weights), intercepts, ends, owners, (0, 9), found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    table = np.vstack([weights.toarray(), intercepts]).astype(np.float32)
    summed = np.empty(9, np.float32)
    sum_confidences(csr_arrays(X), table, ends, summed)
    np.testing.assert_allclose(summed, wanted.sum(axis=1), rtol=1e-5)
