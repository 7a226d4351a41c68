"""Classifiers of rows with few zeros are learned from rows with their zeros filled in."""

import numpy as np
import pytest
from scipy import sparse
from tolerances import assert_close

from rmls.kernels.arrays import DUAL_LOSSES, Problem
from rmls.kernels.backend import get_backend
from rmls.kernels.cpu import backend as module
from rmls.kernels.cpu.backend import WIDE, fill_rows
from rmls.kernels.cpu.ranker.listed import pair_rows

N_ROWS, N_LABELS = 80, 3
N_FEATURES = WIDE + 4


def make_problem(density, n_features=N_FEATURES, loss="squared_hinge", tolerance=1e-5, epochs=5000):
    rng = np.random.default_rng(0)
    X = sparse.random(N_ROWS, n_features, density, "csr", np.float32, random_state=rng)
    X.data = rng.normal(size=X.nnz).astype(np.float32)
    none = np.zeros(0, np.float32)
    return Problem(
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint16),
        X.data,
        np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel(),
        rng.uniform(0.2, 3.0, N_ROWS).astype(np.float32),
        np.ones(N_LABELS, np.float32),
        np.zeros(0, dtype=bool),
        none,
        DUAL_LOSSES.index(loss),
        np.float32(tolerance),
        epochs,
        np.float32(0.01),
    )


def solve(problem, n_threads=1):
    rng = np.random.default_rng(1)
    Y = sparse.csr_matrix(rng.random((N_ROWS, N_LABELS)) < 0.3)
    everywhere = np.tile(np.arange(N_LABELS, dtype=np.int32), (N_ROWS, 1))
    pairs = pair_rows(Y.indptr.astype(np.int64), Y.indices.astype(np.int32), everywhere, N_LABELS)
    duals = np.zeros(len(pairs.rows), np.float32)
    given = (problem, pairs, duals, N_FEATURES, n_threads)
    lengths, indices, values, bias = get_backend("cpu").solve_classifiers(*given)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    weights = sparse.csr_matrix((values, indices.astype(np.int32), indptr), (N_LABELS, N_FEATURES))
    return weights.toarray(), bias


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("loss", DUAL_LOSSES)
def test_the_classifiers_are_those_of_sparse_rows(loss, n_threads, monkeypatch):
    problem = make_problem(0.7, loss=loss)
    assert fill_rows(problem, N_FEATURES).x_indices.size == 0
    found = solve(problem, n_threads)
    monkeypatch.setattr(module, "fill_rows", lambda problem, n_features: problem)
    for mine, wanted in zip(found, solve(problem), strict=True):
        assert np.abs(wanted).max() > 0.1
        assert_close(mine, wanted, rtol=1e-3, atol=1e-3)


def test_filled_rows_are_the_rows():
    problem = make_problem(0.6)
    filled = fill_rows(problem, N_FEATURES)
    wanted = sparse.csr_matrix(
        (problem.x_data, problem.x_indices.astype(np.int32), problem.x_indptr), (N_ROWS, N_FEATURES)
    )
    np.testing.assert_array_equal(filled.x_data.reshape(N_ROWS, -1), wanted.toarray())
    np.testing.assert_array_equal(np.diff(filled.x_indptr), N_FEATURES)


@pytest.mark.parametrize(("density", "n_features"), [(0.3, N_FEATURES), (0.9, WIDE - 1)])
def test_rows_with_many_zeros_and_short_ones_stay_as_they_are(density, n_features):
    problem = make_problem(density, n_features)
    assert fill_rows(problem, n_features) is problem


def test_rows_in_files_stay_there(tmp_path):
    problem = make_problem(0.9)
    mapped = np.memmap(tmp_path / "data", np.float32, "w+", shape=problem.x_data.shape)
    mapped[:] = problem.x_data
    problem = problem._replace(x_data=mapped)
    assert fill_rows(problem, N_FEATURES) is problem
