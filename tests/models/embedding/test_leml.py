"""LEML: its objective falls, its algebra is right, hidden labels stay hidden."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from rmls import LEML
from rmls.core.errors import InputError
from rmls.models.embedding.leml_losses import (
    LOSSES,
    AllEntries,
    ObservedEntries,
    loss_slopes,
    loss_values,
)
from rmls.models.embedding.leml_solver import NewtonProblem, Product, SquaredProblem

every_loss = pytest.mark.parametrize("loss", LOSSES)


def make_problem(n: int = 80, d: int = 10, m: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, 2)) @ rng.normal(size=(2, m)) + rng.normal(size=(n, m))
    return X, (scores > 1).astype(int)


def make_mask(shape: tuple[int, int]) -> np.ndarray:
    return (np.random.default_rng(5).random(shape) < 0.6).astype(int)


@every_loss
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("masked", [False, True])
def test_every_half_step_lowers_the_objective(loss: str, k: int, masked: bool) -> None:
    X, Y = make_problem()
    observed = make_mask(Y.shape) if masked else None
    model = LEML(k, loss=loss, l2=0.5, max_iter=8, tol=0.0).fit(X, Y, observed=observed)
    curve = np.array(model.objective_curve_)
    assert len(curve) == 2 * model.n_iter_ + 1
    assert (np.diff(curve) <= 1e-5 * curve[:-1]).all()
    assert curve[-1] < 0.9 * curve[0]


@every_loss
def test_the_recorded_objective_is_that_of_the_returned_vectors(loss: str) -> None:
    X, Y = make_problem()
    model = LEML(3, loss=loss, l2=0.5, normalize="none").fit(X, Y)
    target = (2 * Y - 1).astype(np.float32)
    norms = sum(
        (V.astype(float) ** 2).sum() for V in (model.feature_vectors_, model.label_vectors_)
    )
    total = loss_values(loss, model.decision_function(X), target).sum() + 0.25 * norms
    assert model.objective_curve_[-1] == pytest.approx(total, rel=1e-4)


def test_full_rank_and_a_tiny_penalty_give_least_squares() -> None:
    # The penalty is that of the nuclear norm, so ridge and LEML only meet where it vanishes.
    X, Y = make_problem()
    model = LEML(7, l2=1e-4, max_iter=100, cg_steps=100, tol=0.0, normalize="none").fit(X, Y)
    coefficients = np.linalg.lstsq(X, Y.astype(float), rcond=None)[0]
    np.testing.assert_allclose(model.decision_function(X), X @ coefficients, atol=1e-3)


def test_the_solution_is_the_soft_thresholded_one_where_the_rows_are_orthonormal() -> None:
    # X'X = I: min ||Y - X Z||^2/2 + l2 ||Z||_* has Z = U max(S - l2, 0) V', USV' = X'Y.
    _, Y = make_problem()
    X, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(80, 10)))
    model = LEML(7, l2=0.4, max_iter=300, cg_steps=50, tol=0.0, normalize="none").fit(X, Y)
    U, S, V = np.linalg.svd(X.T @ Y, full_matrices=False)
    expected = U * np.maximum(S - 0.4, 0) @ V
    found = model.feature_vectors_ @ model.label_vectors_.T
    np.testing.assert_allclose(found, expected, atol=5e-3)


def test_the_hessian_product_of_the_squared_loss_is_the_hessian_times_the_vector() -> None:
    X, _ = make_problem(12, 4)
    rng = np.random.default_rng(1)
    L, V = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)).astype(np.float32)
    spectrum, basis = np.linalg.eigh(L.T @ L)
    problem = SquaredProblem(
        Product(sparse.csr_matrix(X)), Product(sparse.eye(12, format="csr")), 0.0, 0.7, 5
    )
    found = problem.hessian_product((V @ basis).astype(np.float32), spectrum.astype(np.float32))
    hessian = np.kron(X.T @ X, L.T @ L) + 0.7 * np.eye(12)
    np.testing.assert_allclose(found @ basis.T, (hessian @ V.ravel()).reshape(4, 3), rtol=1e-3)


def numeric_hessian(gradient: Any, start: np.ndarray, step: float = 1e-2) -> np.ndarray:
    columns = []
    for place in np.ndindex(start.shape):
        moved = [start.copy(), start.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        columns.append((gradient(moved[0]) - gradient(moved[1])).ravel() / (2 * step))
    return np.array(columns)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("by_label", [False, True])
def test_hessian_products_are_derivatives_of_the_gradient(
    loss: str, masked: bool, by_label: bool
) -> None:
    X, Y = make_problem(9, 4, 5)
    rng = np.random.default_rng(2)
    W, L, H = (rng.normal(0, 0.5, shape).astype(np.float32) for shape in ((4, 2), (5, 2), (9, 2)))
    weights = rng.uniform(0.5, 2, 9).astype(np.float32)
    entries: Any = AllEntries(loss, sparse.csr_matrix(Y), weights)
    if masked:
        observed = sparse.csr_matrix(make_mask(Y.shape))
        entries = ObservedEntries(loss, sparse.csr_matrix(Y), observed, weights)
    if by_label:
        direction = rng.normal(size=L.shape).astype(np.float32)
        hessian = numeric_hessian(lambda V: entries.slope(H, V.astype(np.float32), True), L)
        found = entries.curve(H, L, direction, True)
    else:
        problem = NewtonProblem(Product(sparse.csr_matrix(X)), entries, 0.0, 5)
        direction = rng.normal(size=W.shape).astype(np.float32)

        def gradient(V: np.ndarray) -> np.ndarray:
            return problem.X.transposed_times(
                entries.slope(problem.X @ V.astype(np.float32), L, False)
            )

        hessian = numeric_hessian(gradient, W)
        found = problem.hessian_product(W, L, direction)
    np.testing.assert_allclose(found.ravel(), hessian @ direction.ravel(), rtol=0.01, atol=0.01)


@every_loss
def test_slopes_are_derivatives_of_the_loss(loss: str) -> None:
    scores = np.linspace(-3, 3, 41).astype(np.float32) + np.float32(0.013)
    for sign in (-1, 1):
        target = np.full_like(scores, sign)
        ends = [loss_values(loss, scores + step, target) for step in (0.01, -0.01)]
        slopes = (ends[0].astype(float) - ends[1]) / 0.02
        np.testing.assert_allclose(loss_slopes(loss, scores, target), slopes, atol=0.02)


@every_loss
def test_values_under_the_mask_have_no_influence(loss: str) -> None:
    X, Y = make_problem()
    observed = make_mask(Y.shape)
    noise = np.random.default_rng(9).integers(0, 2, Y.shape)
    other = np.where(observed == 1, Y, noise)
    assert (other != Y).any()
    models = [LEML(3, loss=loss).fit(X, labels, observed=observed) for labels in (Y, other)]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in models))
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
    np.testing.assert_array_equal(*(model.label_counts_ for model in models))


@every_loss
def test_observing_everything_is_observing_nothing_in_particular(loss: str) -> None:
    X, Y = make_problem()
    options: dict[str, Any] = {"loss": loss, "l2": 0.5, "max_iter": 60, "tol": 0.0}
    plain = LEML(7, **options).fit(X, Y)
    masked = LEML(7, **options).fit(X, Y, observed=np.ones_like(Y))
    assert masked.objective_curve_[-1] == pytest.approx(plain.objective_curve_[-1], rel=2e-3)
    np.testing.assert_allclose(masked.decision_function(X), plain.decision_function(X), atol=0.05)


def test_labels_hidden_at_random_are_recovered() -> None:
    X, Y = make_problem(400, 10, 12)
    observed = make_mask(Y.shape)
    model = LEML(2, loss="logistic", l2=0.5).fit(X, Y, observed=observed)
    guessed = model.decision_function(X)[observed == 0] > 0
    assert (guessed == Y[observed == 0]).mean() > 0.8


def test_a_mask_of_another_shape_is_refused() -> None:
    X, Y = make_problem()
    with pytest.raises(InputError, match=r"observed has shape \(80, 6\) but Y has shape \(80, 7\)"):
        LEML(2).fit(X, Y, observed=np.ones((80, 6)))
    with pytest.raises(InputError, match="observed must hold only 0 and 1"):
        LEML(2).fit(X, Y, observed=np.full(Y.shape, 2))


def test_only_the_logistic_loss_has_probabilities() -> None:
    X, Y = make_problem()
    assert not hasattr(LEML(), "predict_proba")
    model = LEML(3, loss="logistic").fit(X, Y)
    expected = 1 / (1 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4)
    classes = LEML(3, loss="logistic").fit(X, Y.argmax(axis=1)).predict_proba(X)
    np.testing.assert_allclose(classes.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("option", "value"),
    [("loss", "hinge"), ("l2", 0), ("cg_steps", 0), ("tol", -1), ("max_iter", 0)],
)
def test_wrong_options_are_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{option} must be"):
        LEML(2, **{option: value}).fit(*make_problem())


def test_many_labels_never_make_a_dense_matrix() -> None:
    n, m = 300, 200_000
    X, _ = make_problem(n)
    rng = np.random.default_rng(0)
    Y = sparse.csr_matrix((np.ones(n), (np.arange(n), rng.integers(0, m, n))), shape=(n, m))
    tracemalloc.start()
    LEML(4, max_iter=2).fit(X, Y).rank(X[:20], 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * n * m / 2
