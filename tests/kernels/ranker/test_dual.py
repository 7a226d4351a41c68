"""Dual coordinate descent finds the solution of the primal problem, label by label."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tolerances import assert_close

from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem
from rmls.kernels.cpu.backend import cut_labels
from rmls.kernels.cpu.ranker import dual
from rmls.kernels.cpu.ranker.dual import solve_labels
from rmls.kernels.cpu.ranker.listed import pair_rows
from rmls.models.ranker.trainer import ClassifierOptions, ClassifierTrainer
from rmls.models.shared.training_set import TrainingSet

N_ROWS, N_FEATURES, N_LABELS = 60, 15, 4
MAX_LABELS = 40
both_losses = pytest.mark.parametrize("loss", DUAL_LOSSES)


class Solution(NamedTuple):
    weights: np.ndarray
    bias: np.ndarray
    duals: np.ndarray


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(N_ROWS, N_FEATURES, 0.3, "csr", np.float32, random_state=rng)
    X.data = rng.normal(size=X.nnz).astype(np.float32)
    return X


def make_pairs(seed=0, n_labels=N_LABELS):
    """Rows with one to three of the labels; a label lists about two thirds of the others."""
    rng = np.random.default_rng(seed + 100)
    Y = sparse.csr_matrix(rng.random((N_ROWS, n_labels)) < 0.3)
    listed = np.where(rng.random((N_ROWS, n_labels)) < 0.66, np.arange(n_labels), -1)
    return pair_rows(
        Y.indptr.astype(np.int64), Y.indices.astype(np.int32), listed.astype(np.int32), n_labels
    )


def make_costs(seed=0):
    return np.random.default_rng(seed + 200).uniform(0.2, 3.0, N_ROWS).astype(np.float32)


def make_problem(
    X, loss, costs=None, added=None, offsets=None, prune=0.0, label_costs=None, **stop
):
    nothing = np.zeros(0, np.float32)
    return Problem(
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint16),
        X.data,
        np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel(),
        np.ones(N_ROWS, np.float32) if costs is None else costs,
        np.ones(MAX_LABELS, np.float32) if label_costs is None else label_costs,
        np.zeros(0, dtype=bool) if added is None else added,
        nothing if offsets is None else offsets,
        DUAL_LOSSES.index(loss),
        np.float32(stop.get("tolerance", 1e-5)),
        stop.get("max_epochs", 20_000),
        np.float32(prune),
    )


def solve(problem, pairs, duals=None, labels=None):
    n_labels = len(pairs.n_relevant)
    labels = np.arange(n_labels) if labels is None else np.asarray(labels)
    duals = np.zeros(len(pairs.rows), np.float32) if duals is None else duals.copy()
    bias = np.full(n_labels, np.nan, np.float32)
    lengths, indices, values = solve_labels(problem, pairs, duals, labels, N_FEATURES, bias)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    weights = np.full((n_labels, N_FEATURES), np.nan, np.float32)
    weights[labels] = sparse.csr_matrix(
        (values, indices.astype(np.int32), indptr), shape=(len(labels), N_FEATURES)
    ).toarray()
    return Solution(weights, bias, duals)


class Label(NamedTuple):
    """One label's problem in double precision; the last column of ``X`` is the constant 1."""

    X: np.ndarray
    targets: np.ndarray
    costs: np.ndarray
    offsets: np.ndarray

    def margins(self, w):
        return self.targets * (self.X @ w + self.offsets)


def label_problem(problem, X, pairs, label):
    start, stop = pairs.indptr[label], pairs.indptr[label + 1]
    rows = pairs.rows[start:stop]
    used = problem.costs[rows] > 0
    targets = np.where(np.arange(stop - start) < pairs.n_relevant[label], 1.0, -1.0)
    dense = np.column_stack([X[rows].toarray(), np.ones(len(rows))]).astype(np.float64)
    offsets = problem.offsets[start:stop] if len(problem.offsets) else np.zeros(stop - start)
    costs = problem.costs[rows].astype(np.float64) * problem.label_costs[label]
    return Label(dense[used], targets[used], costs[used], offsets[used].astype(np.float64))


def primal(w, label, loss):
    z = label.margins(w)
    losses = np.maximum(0, 1 - z) ** 2 if loss == "squared_hinge" else np.logaddexp(0, -z)
    return 0.5 * w @ w + label.costs @ losses


def best_duals(w, label, loss):
    """What the variables must be if ``w`` is the solution: minus the slope of the loss."""
    z = label.margins(w)
    if loss == "squared_hinge":
        return 2 * label.costs * np.maximum(0, 1 - z)
    return label.costs / (1 + np.exp(z))


def reference(label, loss):
    def slopes(w):
        return w - (best_duals(w, label, loss) * label.targets) @ label.X

    found = optimize.minimize(
        primal,
        np.zeros(label.X.shape[1]),
        (label, loss),
        "L-BFGS-B",
        lambda w, *_: slopes(w),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
    )
    return found.x


def assert_solves_all(solution, problem, X, pairs, loss):
    for number in range(len(pairs.n_relevant)):
        wanted = reference(label_problem(problem, X, pairs, number), loss)
        np.testing.assert_allclose(solution.weights[number], wanted[:-1], atol=2e-4)
        assert solution.bias[number] == pytest.approx(wanted[-1], abs=2e-4)


# -- the solution --------------------------------------------------------------------------------


def liblinear(loss):
    if loss == "squared_hinge":
        return LinearSVC(loss=loss, dual=True, tol=1e-6, max_iter=200_000, intercept_scaling=1)
    return LogisticRegression(solver="liblinear", dual=True, tol=1e-6, max_iter=200_000)


@both_losses
def test_the_weights_are_those_of_liblinear(loss):
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    solution = solve(make_problem(X, loss, costs), pairs)
    for number in range(N_LABELS):
        own = slice(*pairs.indptr[number : number + 2])
        rows = pairs.rows[own]
        relevant = np.arange(len(rows)) < pairs.n_relevant[number]
        model = liblinear(loss).fit(X[rows].astype(np.float64), relevant, costs[rows])
        np.testing.assert_allclose(solution.weights[number], model.coef_[0], atol=2e-4)
        assert solution.bias[number] == pytest.approx(model.intercept_[0], abs=2e-4)


@both_losses
@pytest.mark.parametrize("seed", range(4))
def test_costs_and_offsets_enter_as_in_the_primal_problem(loss, seed):
    X, pairs = make_rows(seed), make_pairs(seed)
    offsets = np.random.default_rng(seed).normal(size=len(pairs.rows)).astype(np.float32)
    problem = make_problem(X, loss, make_costs(seed), offsets=offsets)
    solution = solve(problem, pairs)
    assert_solves_all(solution, problem, X, pairs, loss)
    without = solve(problem._replace(offsets=offsets[:0]), pairs)
    assert np.abs(without.weights - solution.weights).max() > 0.1


@both_losses
def test_costs_of_labels_multiply_those_of_rows(loss):
    X, pairs = make_rows(), make_pairs()
    factors = np.float32([0.1, 1, 3, 10])
    problem = make_problem(X, loss, make_costs(), label_costs=factors)
    solution = solve(problem, pairs)
    assert_solves_all(solution, problem, X, pairs, loss)
    norms = np.linalg.norm(solution.weights, axis=1)
    plain = np.linalg.norm(solve(make_problem(X, loss, make_costs()), pairs).weights, axis=1)
    assert norms[0] < plain[0]
    assert (norms[2:] > plain[2:]).all()


@both_losses
@pytest.mark.parametrize("power", [0.0, 0.25])
def test_the_cost_falls_with_the_rows_of_a_label(loss, power):
    trainer = make_trainer(loss, 1, tolerance=1e-5, max_epochs=20_000)
    trainer.options = replace(trainer.options, C=2.0, cost_power=power, prune=0.0)
    found = trainer.solve(np.ones(N_ROWS, dtype=bool))
    n_relevant = trainer.pairs.n_relevant
    assert len(np.unique(n_relevant)) > 3
    costs = trainer.data.weights.astype(np.float32)
    label_costs = (2.0 / n_relevant**power).astype(np.float32)
    problem = make_problem(trainer.data.X, loss, costs, label_costs=label_costs)
    wanted = solve(problem, trainer.pairs)
    shape = wanted.weights.shape
    dense = sparse.csc_matrix((found.values, found.indices, found.indptr), shape).toarray()
    np.testing.assert_allclose(dense, wanted.weights, atol=2e-4)


@both_losses
@pytest.mark.parametrize("shifted", [False, True])
def test_variables_meet_the_optimality_conditions_and_close_the_gap(loss, shifted):
    X, pairs = make_rows(1), make_pairs(1)
    offsets = np.random.default_rng(1).normal(size=len(pairs.rows) * shifted).astype(np.float32)
    problem = make_problem(X, loss, make_costs(1), offsets=offsets)
    solution = solve(problem, pairs)
    for number in range(N_LABELS):
        label = label_problem(problem, X, pairs, number)
        w = np.append(solution.weights[number], solution.bias[number]).astype(np.float64)
        a = solution.duals[slice(*pairs.indptr[number : number + 2])].astype(np.float64)
        assert (a >= 0).all()
        np.testing.assert_allclose((a * label.targets) @ label.X, w, atol=1e-4)
        np.testing.assert_allclose(a, best_duals(w, label, loss), atol=5e-4)
        value = -0.5 * w @ w - (a * label.targets) @ label.offsets
        C = label.costs
        if loss == "squared_hinge":
            value += (a - a**2 / (4 * C)).sum()
        else:
            value += (C * np.log(C) - a * np.log(a) - (C - a) * np.log(C - a)).sum()
        assert primal(w, label, loss) == pytest.approx(value, rel=1e-5)


@both_losses
def test_more_epochs_come_nearer_to_the_solution(loss):
    X, pairs = make_rows(2), make_pairs(2)
    values = []
    for epochs in (1, 5, 500):
        problem = make_problem(X, loss, max_epochs=epochs)
        solution = solve(problem, pairs)
        label = label_problem(problem, X, pairs, 0)
        values.append(primal(np.append(solution.weights[0], solution.bias[0]), label, loss))
    best = primal(reference(label, loss), label, loss)
    assert values[0] > values[1] > values[2]
    assert values[2] == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_one_step_of_the_logistic_loss_solves_its_equation(seed):
    # Steep and flat equations, from starts near either end: plain Newton steps would swing.
    rng = np.random.default_rng(seed)
    for _ in range(500):
        cost, curvature = np.float32(np.exp(rng.uniform(-2, 2))), np.float32(rng.uniform(1, 12))
        before = cost / np.float32(1 + np.exp(rng.uniform(-7, 7)))
        margin = np.float32(6 * rng.normal())
        after = dual.logistic_step(before, cost, curvature, margin)

        def slope(logit, start=before, C=cost, q=curvature, z=margin):
            return logit + float(z) + float(q) * (float(C) / (1 + np.exp(-logit)) - float(start))

        root = optimize.brentq(slope, -400, 400)
        assert 0 < after < cost
        assert float(after / cost) == pytest.approx(1 / (1 + np.exp(-root)), abs=1e-4)


@pytest.mark.parametrize("margin", [-1e4, -50.0, 50.0, 1e4])
def test_a_step_of_the_logistic_loss_stays_inside_for_any_margin(margin):
    cost = np.float32(0.7)
    for share in (1e-6, 0.5, 1 - 1e-6):
        after = dual.logistic_step(
            np.float32(share) * cost, cost, np.float32(2), np.float32(margin)
        )
        assert 0 < after < cost


# -- rows that count and rows that do not --------------------------------------------------------


@both_losses
def test_a_row_of_cost_0_has_no_influence(loss):
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    silent = np.random.default_rng(0).random(N_ROWS) < 0.3
    costs[silent] = 0
    solution = solve(make_problem(X, loss, costs), pairs)
    assert (solution.duals[silent[pairs.rows]] == 0).all()
    assert (solution.duals[~silent[pairs.rows]] > 0).any()
    loud = sparse.csr_matrix(X.toarray() * np.where(silent, 50, 1)[:, None].astype(np.float32))
    again = solve(make_problem(loud, loss, costs), pairs)
    for one, other in zip(solution, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert_solves_all(solution, make_problem(X, loss, costs), X, pairs, loss)


@both_losses
def test_a_whole_cost_is_that_of_as_many_copies(loss):
    X, pairs = make_rows(), make_pairs()
    costs = np.random.default_rng(0).integers(1, 4, N_ROWS).astype(np.float32)
    copies = np.repeat(np.arange(len(pairs.rows)), costs[pairs.rows].astype(int))
    owner = np.repeat(np.arange(N_LABELS), np.diff(pairs.indptr))[copies]
    place = copies - pairs.indptr[owner]
    relevant = place < pairs.n_relevant[owner]
    repeated = Pairs(
        np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=N_LABELS))]),
        pairs.rows[copies],
        np.bincount(owner[relevant], minlength=N_LABELS),
    )
    weighted = solve(make_problem(X, loss, costs), pairs)
    plain = solve(make_problem(X, loss), repeated)
    np.testing.assert_allclose(weighted.weights, plain.weights, atol=2e-4)


def split_rows(costs, seed=0):
    added = np.random.default_rng(seed).random(N_ROWS) < 0.3
    return added, np.where(added, 0, costs).astype(np.float32)


def test_logistic_solution_taken_up_with_more_rows_is_that_of_all_rows():
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    added, fewer = split_rows(costs)
    first = solve(make_problem(X, "logistic", fewer), pairs)
    problem = make_problem(X, "logistic", costs, added)
    second = solve(problem, pairs, first.duals)
    assert np.abs(first.weights - second.weights).max() > 0.05
    assert_solves_all(second, problem, X, pairs, "logistic")


def test_squared_hinge_taken_up_moves_new_rows_and_those_at_work():
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    added, fewer = split_rows(costs)
    first = solve(make_problem(X, "squared_hinge", fewer), pairs)
    second = solve(make_problem(X, "squared_hinge", costs, added), pairs, first.duals)
    assert np.abs(first.weights - second.weights).max() > 0.05
    # What was at rest stays out: the solution is that of the other pairs.
    resting = ~added[pairs.rows] & (first.duals == 0)
    assert resting.sum() >= 5
    assert (second.duals[resting] == 0).all()
    owner = np.repeat(np.arange(N_LABELS), np.diff(pairs.indptr))
    relevant = np.arange(len(owner)) - pairs.indptr[owner] < pairs.n_relevant[owner]
    moving = Pairs(
        np.concatenate([[0], np.cumsum(np.bincount(owner[~resting], minlength=N_LABELS))]),
        pairs.rows[~resting],
        np.bincount(owner[~resting & relevant], minlength=N_LABELS),
    )
    assert_solves_all(second, make_problem(X, "squared_hinge", costs), X, moving, "squared_hinge")


@both_losses
def test_a_solution_taken_up_without_new_rows_stays(loss):
    X, pairs = make_rows(), make_pairs()
    problem = make_problem(X, loss)
    first = solve(problem, pairs)
    second = solve(problem._replace(added=np.zeros(N_ROWS, dtype=bool)), pairs, first.duals)
    np.testing.assert_allclose(second.weights, first.weights, atol=1e-4)
    np.testing.assert_allclose(second.bias, first.bias, atol=1e-4)


@both_losses
def test_taking_up_with_all_rows_free_gives_the_solution_of_all_rows(loss):
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    _, fewer = split_rows(costs)
    first = solve(make_problem(X, loss, fewer), pairs)
    problem = make_problem(X, loss, costs)
    assert_solves_all(solve(problem, pairs, first.duals), problem, X, pairs, loss)


# -- labels --------------------------------------------------------------------------------------


@both_losses
def test_a_label_without_relevant_rows_gets_no_weights_and_the_bias_minus_1(loss):
    X = make_rows()
    listed = np.tile(np.int32([0, 1, 2]), (N_ROWS, 1))
    relevant = np.repeat(np.int32([0, 2]), N_ROWS // 2)
    pairs = pair_rows(np.arange(N_ROWS + 1), relevant, listed, 3)
    solution = solve(make_problem(X, loss), pairs)
    assert solution.bias[1] == -1
    assert not solution.weights[1].any()
    assert solution.weights[[0, 2]].any(axis=1).all()


@both_losses
def test_a_label_whose_relevant_rows_come_later_is_solved_from_all_rows_then(loss):
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    first_label = pairs.rows[: pairs.n_relevant[0]]
    added = np.isin(np.arange(N_ROWS), first_label)
    first = solve(make_problem(X, loss, np.where(added, 0, costs).astype(np.float32)), pairs)
    assert first.bias[0] == -1
    assert not first.weights[0].any()
    assert not first.duals[: pairs.indptr[1]].any()
    problem = make_problem(X, loss, costs, added)
    second = solve(problem, pairs, first.duals)
    wanted = reference(label_problem(problem, X, pairs, 0), loss)
    np.testing.assert_allclose(second.weights[0], wanted[:-1], atol=2e-4)
    assert second.bias[0] == pytest.approx(wanted[-1], abs=2e-4)


@both_losses
def test_only_what_is_small_is_pruned(loss):
    X, pairs = make_rows(), make_pairs()
    whole = solve(make_problem(X, loss), pairs)
    limit = float(np.median(np.abs(whole.weights)))
    pruned = solve(make_problem(X, loss, prune=limit), pairs)
    wanted = np.where(np.abs(whole.weights) >= np.float32(limit), whole.weights, 0)
    assert 0 < np.count_nonzero(wanted) < wanted.size
    np.testing.assert_array_equal(pruned.weights, wanted)
    np.testing.assert_array_equal(pruned.bias, whole.bias)
    np.testing.assert_array_equal(pruned.duals, whole.duals)


@both_losses
@pytest.mark.parametrize("max_epochs", [3, 2000])
def test_a_label_is_solved_alike_alone_and_among_others(loss, max_epochs):
    X, pairs = make_rows(), make_pairs(n_labels=9)
    problem = make_problem(X, loss, max_epochs=max_epochs)
    together = solve(problem, pairs)
    assert not np.isnan(together.weights).any()
    for labels in ([4], [8, 0, 3], [5, 6, 7, 1, 2]):
        part = solve(problem, pairs, labels=labels)
        np.testing.assert_array_equal(part.weights[labels], together.weights[labels])
        np.testing.assert_array_equal(part.bias[labels], together.bias[labels])
        others = np.setdiff1d(np.arange(9), labels)
        assert np.isnan(part.bias[others]).all()


def make_trainer(loss, n_threads, n_labels=23, tolerance=0.1, max_epochs=10):
    X, pairs = make_rows(), make_pairs(n_labels=n_labels)
    options = ClassifierOptions(loss, 1.0, 0.25, tolerance, max_epochs, 0.05, 0.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N_ROWS)
    n_labels = len(pairs.n_relevant)
    firsts = zip(pairs.indptr, pairs.n_relevant, strict=False)
    rows = np.concatenate([pairs.rows[first : first + size] for first, size in firsts])
    labels = np.repeat(np.arange(n_labels), pairs.n_relevant)
    Y = sparse.csr_matrix((np.ones(len(rows), np.int32), (rows, labels)), (N_ROWS, n_labels))
    data = TrainingSet(X, Y, np.arange(X.shape[0]), weights)
    return ClassifierTrainer(data, pairs, np.zeros(0, np.float32), options, "cpu", n_threads)


@both_losses
def test_a_solution_is_taken_up_again_at_other_costs(loss):
    """Costs of labels change when rows are added, by which variables may be above the new cost."""
    X, pairs, costs = make_rows(), make_pairs(), make_costs()
    high, low = np.full(N_LABELS, 50, np.float32), np.full(N_LABELS, 0.5, np.float32)
    first = solve(make_problem(X, loss, costs, label_costs=high), pairs)
    assert (first.duals > 0.5 * costs[pairs.rows]).any()
    problem = make_problem(X, loss, costs, label_costs=low)
    assert_solves_all(solve(problem, pairs, first.duals), problem, X, pairs, loss)


@both_losses
@pytest.mark.parametrize("n_threads", [2, 5])
def test_threads_do_not_change_the_solution(loss, n_threads):
    one, several = make_trainer(loss, 1), make_trainer(loss, n_threads)
    some = np.arange(N_ROWS) % 4 > 0
    for rows in (some, np.ones(N_ROWS, dtype=bool)):
        wanted, found = one.solve(rows), several.solve(rows)
        assert len(wanted.values) > 50
        for left, right in zip(wanted, found, strict=True):
            assert_close(left, right)
        assert_close(one.duals, several.duals)


def test_the_trainer_cuts_labels_into_parts_that_cover_all_of_them_once():
    for n_labels in (1, 2, 23, 100):
        for n_threads in (1, 3):
            cuts = cut_labels(make_pairs(n_labels=n_labels), n_threads)
            assert cuts[0] == 0
            assert cuts[-1] == n_labels
            assert (np.diff(cuts) > 0).all()


@both_losses
def test_the_trainer_learns_nothing_from_rows_that_are_not_marked(loss):
    rows = np.arange(N_ROWS) % 3 > 0
    wanted = make_trainer(loss, 1).solve(rows)
    other = make_trainer(loss, 1)
    moved = other.data.X.toarray() * np.where(rows, 1, 9)[:, None]
    other.data = other.data.with_features(sparse.csr_matrix(moved, dtype=np.float32))
    for left, right in zip(wanted, other.solve(rows), strict=True):
        np.testing.assert_array_equal(left, right)


@both_losses
def test_the_trainer_learns_from_rows_that_are_marked_later(loss):
    rows = np.arange(N_ROWS) % 3 > 0
    late, whole = (make_trainer(loss, 1, tolerance=1e-4, max_epochs=5000) for _ in range(2))
    first = late.solve(rows)
    rows[:] = True  # The caller's array is not the trainer's memory of what it has solved.
    second, wanted = late.solve(rows), whole.solve(rows)
    before, after = (np.abs(found.bias - wanted.bias).mean() for found in (first, second))
    assert before > 0.05
    assert after < 0.5 * before
