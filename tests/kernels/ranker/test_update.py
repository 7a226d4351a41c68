"""New rows move classifiers to the minimum of the stated objective, label by label."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy_backend import NumpyBackend
from scipy import optimize, sparse

from rmls.kernels.arrays import DUAL_LOSSES, Csr, Pairs, Problem
from rmls.kernels.backend import csr_arrays, get_backend
from rmls.kernels.cpu.ranker.update import update_labels
from rmls.models.ranker.live.learning import pair_rows

N_ROWS, N_FEATURES, N_LABELS = 25, 12, 5
# The label that no new row has or lists.
IDLE = 3
both_losses = pytest.mark.parametrize("loss", DUAL_LOSSES)


class Case(NamedTuple):
    """Classifiers that were learned, and new rows for them."""

    problem: Problem
    pairs: Pairs
    X: np.ndarray
    old: sparse.csr_matrix
    squares: np.ndarray
    bias: np.ndarray
    certainty: np.ndarray

    def solve(self, n_threads: int = 1, backend: Any = None) -> tuple[np.ndarray, ...]:
        """Return weights, dense, biases and certainties after the new rows."""
        bias, certainty = self.bias.copy(), self.certainty.copy()
        backend = get_backend("cpu") if backend is None else backend
        given = (self.problem, self.pairs, csr_arrays(self.old), self.squares, bias, certainty)
        lengths, indices, values = backend.update_classifiers(*given, n_threads)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        weights = sparse.csr_matrix((values, indices.astype(np.int32), indptr), self.old.shape)
        return weights.toarray(), bias, certainty


def make_case(loss: str, seed: int = 0, offsets: bool = False, **change: Any) -> Case:
    rng = np.random.default_rng(seed)
    X = sparse.random(N_ROWS, N_FEATURES, 0.4, "csr", np.float32, random_state=rng)
    X.data = rng.normal(size=X.nnz).astype(np.float32)
    old = sparse.random(N_LABELS, N_FEATURES, 0.5, "csr", np.float32, random_state=rng)
    old.data = rng.normal(size=old.nnz).astype(np.float32)
    Y, listed = rng.random((N_ROWS, N_LABELS)) < 0.3, rng.random((N_ROWS, N_LABELS)) < 0.5
    Y[:, IDLE] = listed[:, IDLE] = False
    pairs = pair_rows(sparse.csr_matrix(Y), sparse.csr_matrix(listed))
    shift = rng.normal(size=len(pairs.rows) * offsets).astype(np.float32)
    nothing = np.zeros(0, np.float32)
    problem = Problem(
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint32),
        X.data,
        nothing,
        rng.uniform(0.2, 3.0, N_ROWS).astype(np.float32),
        rng.uniform(0.3, 2.0, N_LABELS).astype(np.float32),
        np.zeros(0, dtype=bool),
        shift,
        DUAL_LOSSES.index(loss),
        np.float32(1e-5),
        20_000,
        np.float32(0.0),
    )._replace(**change)
    squares = rng.uniform(0, 0.5, N_FEATURES).astype(np.float32)
    bias = rng.normal(size=N_LABELS).astype(np.float32)
    certainty = rng.uniform(1, 30, N_LABELS).astype(np.float32)
    return Case(problem, pairs, X.toarray(), old, squares, bias, certainty)


def minimum(case: Case, label: int, loss: str) -> np.ndarray:
    """Return weights and bias at the minimum of the objective in the module's docstring."""
    own = slice(*case.pairs.indptr[label : label + 2])
    rows = case.pairs.rows[own]
    y = np.where(np.arange(len(rows)) < case.pairs.n_relevant[label], 1.0, -1.0)
    X = np.column_stack([case.X[rows], np.ones(len(rows))]).astype(np.float64)
    cost = case.problem.costs[rows].astype(np.float64) * case.problem.label_costs[label]
    offsets = case.problem.offsets[own] if len(case.problem.offsets) else np.zeros(len(rows))
    old = np.append(case.old[label].toarray().ravel(), case.bias[label]).astype(np.float64)
    h = float(case.certainty[label])
    firm = np.append(1 + (h - 1) * case.squares + np.maximum(old[:-1], 0), h)

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = y * (X @ w + offsets)
        if loss == "squared_hinge":
            slack = np.maximum(0, 1 - z)
            total, slope = cost @ slack**2, -2 * cost * slack
        else:
            total, slope = cost @ np.logaddexp(0, -z), -cost / (1 + np.exp(z))
        away = w - old
        return 0.5 * firm @ away**2 + total, firm * away + X.T @ (slope * y)

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000}
    return optimize.minimize(value, old, method="L-BFGS-B", jac=True, options=options).x


@both_losses
@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_weights_are_those_of_the_stated_objective(loss: str, offsets: bool, seed: int) -> None:
    case = make_case(loss, seed, offsets)
    weights, bias, _ = case.solve()
    for label in range(N_LABELS):
        wanted = minimum(case, label, loss)
        np.testing.assert_allclose(weights[label], wanted[:-1], atol=3e-4)
        assert bias[label] == pytest.approx(wanted[-1], abs=3e-4)
    others = np.arange(N_LABELS) != IDLE
    assert np.abs(bias - case.bias)[others].min() > 1e-3


@both_losses
def test_a_label_without_pairs_stays_bit_for_bit(loss: str) -> None:
    # Small weights, too, which would be pruned elsewhere.
    case = make_case(loss, prune=np.float32(0.7))
    weights, bias, certainty = case.solve()
    assert (np.abs(case.old[IDLE].data) < 0.7).any()
    np.testing.assert_array_equal(weights[IDLE], case.old[IDLE].toarray().ravel())
    assert bias[IDLE] == case.bias[IDLE]
    assert certainty[IDLE] == case.certainty[IDLE]


@both_losses
def test_a_weight_of_a_feature_that_no_new_row_has_stays(loss: str) -> None:
    case = make_case(loss)
    blank = case.X.copy()
    blank[:, :4] = 0
    X = sparse.csr_matrix(blank)
    problem = case.problem._replace(
        x_indptr=X.indptr.astype(np.int64), x_indices=X.indices.astype(np.uint32), x_data=X.data
    )
    weights, _, _ = case._replace(problem=problem, X=blank).solve()
    np.testing.assert_array_equal(weights[:, :4], case.old.toarray()[:, :4])
    assert np.abs(weights - case.old.toarray())[:, 4:].max() > 0.01


@both_losses
def test_small_weights_of_touched_features_are_left_out(loss: str) -> None:
    case = make_case(loss)
    full, bias, certainty = case.solve()
    pruned = make_case(loss, prune=np.float32(0.5))
    found, same_bias, same_certainty = pruned.solve()
    touched = np.zeros((N_LABELS, N_FEATURES), dtype=bool)
    for label in range(N_LABELS):
        rows = case.pairs.rows[slice(*case.pairs.indptr[label : label + 2])]
        touched[label] = (case.X[rows] != 0).any(axis=0)
    wanted = np.where(touched & (np.abs(full) < 0.5), 0, full)
    assert (wanted != full).any()
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(same_bias, bias)
    np.testing.assert_array_equal(same_certainty, certainty)


@both_losses
def test_a_firm_label_moves_less(loss: str) -> None:
    case = make_case(loss)
    loose = case._replace(certainty=np.full(N_LABELS, 1, np.float32))
    firm = case._replace(certainty=np.full(N_LABELS, 1000, np.float32))
    moved = [np.abs(each.solve()[1] - case.bias) for each in (loose, firm)]
    others = np.arange(N_LABELS) != IDLE
    assert (moved[1][others] < moved[0][others]).all()
    assert moved[1].max() < 0.1


def test_rows_add_the_curvature_of_their_loss_to_the_certainty() -> None:
    case = make_case("squared_hinge")
    weights, bias, certainty = case.solve()
    for label in range(N_LABELS):
        own = slice(*case.pairs.indptr[label : label + 2])
        rows = case.pairs.rows[own]
        y = np.where(np.arange(len(rows)) < case.pairs.n_relevant[label], 1, -1)
        inside = y * (case.X[rows] @ weights[label] + bias[label]) < 1
        added = 2 * (case.problem.costs[rows] * inside).sum() * case.problem.label_costs[label]
        assert certainty[label] == pytest.approx(case.certainty[label] + added, rel=1e-3)
    logistic = make_case("logistic")
    weights, bias, certainty = logistic.solve()
    for label in range(N_LABELS):
        rows = logistic.pairs.rows[slice(*logistic.pairs.indptr[label : label + 2])]
        p = 1 / (1 + np.exp(-(logistic.X[rows] @ weights[label] + bias[label])))
        cost = logistic.problem.costs[rows] * logistic.problem.label_costs[label]
        added = (cost * p * (1 - p)).sum()
        assert certainty[label] == pytest.approx(logistic.certainty[label] + added, rel=1e-3)


@both_losses
def test_a_row_of_cost_0_has_no_influence(loss: str) -> None:
    case = make_case(loss)
    silent = np.arange(N_ROWS) % 3 == 0
    costs = np.where(silent, 0, case.problem.costs).astype(np.float32)
    case = case._replace(problem=case.problem._replace(costs=costs))
    weights, bias, _ = case.solve()
    for label in range(N_LABELS):
        wanted = minimum(case, label, loss)
        np.testing.assert_allclose(weights[label], wanted[:-1], atol=3e-4)
        assert bias[label] == pytest.approx(wanted[-1], abs=3e-4)


@both_losses
def test_threads_share_the_labels_and_change_nothing(loss: str) -> None:
    case = make_case(loss, offsets=True)
    for one, two in zip(case.solve(1), case.solve(2), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


@both_losses
@pytest.mark.parametrize("offsets", [False, True])
def test_the_plain_backend_finds_the_same_weights(loss: str, offsets: bool) -> None:
    case = make_case(loss, offsets=offsets)
    for found, wanted in zip(case.solve(), case.solve(backend=NumpyBackend()), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


def test_the_outputs_grow_with_the_labels() -> None:
    case = make_case("squared_hinge")
    labels = np.arange(N_LABELS)
    arrays = (csr_arrays(case.old), labels, case.squares, case.bias.copy(), case.certainty.copy())
    lengths, indices, values = update_labels(case.problem, case.pairs, *arrays)
    assert lengths.sum() == len(indices) == len(values) > 2 * N_FEATURES
    assert isinstance(arrays[0], Csr)
