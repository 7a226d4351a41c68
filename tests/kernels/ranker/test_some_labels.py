"""Classifiers of some labels: where their pairs are, or by copies; two-byte numbers of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem
from rmls.kernels.backend import get_backend
from rmls.kernels.cpu.ranker.listed import FEW_ROWS, pair_rows
from rmls.kernels.some_labels import count_pairs, solve_copies
from rmls.models.ranker.archive import LabelWeights

N_ROWS, N_FEATURES, N_LABELS = 80, 12, 9
SOME = np.array([1, 4, 5, 8])


def make_pairs(dtype: type = np.uint16) -> Pairs:
    rng = np.random.default_rng(1)
    Y = sparse.csr_matrix(rng.random((N_ROWS, N_LABELS)) < 0.2)
    listed = np.where(rng.random((N_ROWS, N_LABELS)) < 0.6, np.arange(N_LABELS), -1)
    indptr, indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
    pairs = pair_rows(indptr, indices, listed.astype(np.int32), N_LABELS)
    return pairs._replace(rows=pairs.rows.astype(dtype))


def make_problem(n_pairs: int, loss: str = "squared_hinge") -> Problem:
    rng = np.random.default_rng(2)
    X = sparse.random(N_ROWS, N_FEATURES, 0.4, "csr", np.float32, random_state=rng)
    return Problem(
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint16),
        X.data,
        np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel(),
        np.ones(N_ROWS, np.float32),
        rng.uniform(0.5, 2, N_LABELS).astype(np.float32),
        np.zeros(0, dtype=bool),
        rng.normal(size=n_pairs).astype(np.float32),
        DUAL_LOSSES.index(loss),
        np.float32(1e-3),
        200,
        np.float32(0),
    )


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("loss", DUAL_LOSSES)
def test_some_labels_are_solved_as_among_all(loss: str, n_threads: int) -> None:
    pairs = make_pairs()
    problem = make_problem(len(pairs.rows), loss)
    duals, own = np.zeros((2, len(pairs.rows)), np.float32)
    solve = get_backend("cpu").solve_classifiers
    every = solve(problem, pairs, duals, N_FEATURES, n_threads)
    some = solve(problem, pairs, own, N_FEATURES, n_threads, labels=SOME)
    assert (every[0] > 0).all()
    starts = np.cumsum(every[0]) - every[0]
    wanted = np.concatenate([np.arange(starts[j], starts[j] + every[0][j]) for j in SOME])
    np.testing.assert_array_equal(some[0], every[0][SOME])
    for found, among_all in ((some[1], every[1][wanted]), (some[2], every[2][wanted])):
        np.testing.assert_array_equal(found, among_all)
    np.testing.assert_array_equal(some[3], every[3][SOME])
    solved = np.repeat(np.isin(np.arange(N_LABELS), SOME), np.diff(pairs.indptr))
    np.testing.assert_array_equal(own, np.where(solved, duals, 0))


def test_copies_hold_what_belongs_to_the_labels() -> None:
    pairs = make_pairs()
    problem, duals = make_problem(len(pairs.rows)), np.arange(len(pairs.rows), dtype=np.float32)
    before, seen = duals.copy(), []

    def solve(own_problem: Problem, own: Pairs, own_duals: np.ndarray) -> str:
        seen.append((own_problem, own, own_duals.copy()))
        own_duals += 1
        return "solved"

    assert solve_copies(solve, problem, pairs, duals, SOME) == "solved"
    (own_problem, own, own_duals), chosen = seen[0], []
    for number, label in enumerate(SOME):
        place = slice(*pairs.indptr[label : label + 2])
        mine = slice(*own.indptr[number : number + 2])
        np.testing.assert_array_equal(own.rows[mine], pairs.rows[place])
        np.testing.assert_array_equal(own_duals[mine], before[place])
        np.testing.assert_array_equal(own_problem.offsets[mine], problem.offsets[place])
        chosen += range(*place.indices(len(duals)))
    np.testing.assert_array_equal(own_problem.label_costs, problem.label_costs[SOME])
    assert len(own.rows) == count_pairs(pairs, SOME) < count_pairs(pairs)
    np.testing.assert_array_equal(np.flatnonzero(duals != before), chosen)


@pytest.mark.parametrize("labels", [None, np.arange(N_LABELS)], ids=["none", "all"])
def test_all_labels_are_not_copied(labels: np.ndarray | None) -> None:
    pairs = make_pairs()
    given = (make_problem(len(pairs.rows)), pairs, np.zeros(len(pairs.rows), np.float32))
    found = solve_copies(lambda *some: some, *given, labels)
    assert all(one is other for one, other in zip(found, given, strict=True))


def test_numbers_of_rows_take_two_bytes_up_to_65536_and_solve_the_same() -> None:
    pairs = make_pairs()
    problem, solve = make_problem(len(pairs.rows)), get_backend("cpu").solve_classifiers
    duals = np.zeros(len(pairs.rows), np.float32)
    found = solve(problem, pairs, duals.copy(), N_FEATURES, 1)
    wide = solve(problem, make_pairs(np.int32), duals.copy(), N_FEATURES, 1)
    for one, other in zip(found, wide, strict=True):
        np.testing.assert_array_equal(one, other)
    for n_rows, size in ((FEW_ROWS, 2), (FEW_ROWS + 1, 4)):
        indptr = np.minimum(np.arange(n_rows + 1), 1)
        indptr[-1] = 2
        listed = np.full((n_rows, 1), -1, np.int32)
        laid = pair_rows(indptr, np.int32([0, 0]), listed, 1)
        assert laid.rows.itemsize == size
        assert laid.rows.tolist() == [0, n_rows - 1]


def test_weights_that_are_put_in_again_leave_nothing_of_the_former_ones() -> None:
    rng = np.random.default_rng(3)
    weights, known = LabelWeights(5), {}
    for labels in ([0, 1, 2, 3, 4], [1, 3], [3], [0, 1, 2, 4]):
        lengths = rng.integers(0, 4, len(labels))
        indices = np.concatenate([np.sort(rng.choice(6, n, replace=False)) for n in lengths])
        values = rng.normal(size=lengths.sum()).astype(np.float32)
        bias = rng.normal(size=len(labels)).astype(np.float32)
        weights.put(np.array(labels), (lengths, indices.astype(np.uint16), values, bias))
        ends = np.cumsum(lengths)
        for number, label in enumerate(labels):
            own = slice(ends[number] - lengths[number], ends[number])
            known[label] = indices[own].tolist(), values[own].tolist(), bias[number]
        table, wanted = np.zeros((2, 6, 5), np.float32)
        found = weights.by_feature(6, "cpu")
        rows = np.repeat(np.arange(6), np.diff(found.indptr))
        table[rows, found.indices] = found.values
        for label, (features, numbers, own_bias) in known.items():
            wanted[np.array(features, dtype=int), label] = numbers
            assert found.bias[label] == own_bias
        np.testing.assert_array_equal(table, wanted)
        assert len(weights.values) == len(weights.indices) == sum(len(k[0]) for k in known.values())
