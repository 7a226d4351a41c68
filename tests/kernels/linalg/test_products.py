"""Threaded products are the products, on any number of threads."""

import numpy as np
import pytest
from scipy import sparse

from rmls.kernels.cpu.linalg import products
from rmls.kernels.cpu.linalg.products import csr_times_dense, products_at


def make_problem(n_rows=57, n_columns=31, k=9):
    X = sparse.random(
        n_rows, n_columns, 0.2, "csr", np.float32, random_state=np.random.default_rng(0)
    )
    X = sparse.vstack([X[:20], sparse.csr_matrix((3, n_columns), dtype=np.float32), X[20:]], "csr")
    rng = np.random.default_rng(1)
    return X, rng.normal(size=(n_columns, k)).astype(np.float32)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_a_sparse_matrix_times_a_dense_one(n_threads, monkeypatch):
    monkeypatch.setattr(products, "WORTH_A_THREAD", 0)
    X, dense = make_problem()
    out = np.full((X.shape[0], dense.shape[1]), np.nan, np.float32)
    csr_times_dense(X.indptr, X.indices, X.data, dense, out, n_threads)
    np.testing.assert_allclose(out, X.toarray() @ dense, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_products_at_the_entries_of_a_pattern(n_threads, monkeypatch):
    monkeypatch.setattr(products, "WORTH_A_THREAD", 0)
    X, right = make_problem()
    left = np.random.default_rng(2).normal(size=(X.shape[0], right.shape[1])).astype(np.float32)
    out = products_at(X.indptr, X.indices, left, right, np.empty(X.nnz, np.float32), n_threads)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    np.testing.assert_allclose(out, (left @ right.T)[rows, X.indices], rtol=1e-4, atol=1e-5)


def test_a_matrix_without_rows_or_entries():
    dense = np.ones((4, 3), np.float32)
    none = np.zeros(0, np.int32)
    empty = csr_times_dense(
        np.zeros(3, np.int64), none, np.zeros(0, np.float32), dense, np.ones((2, 3), np.float32), 2
    )
    assert (empty == 0).all()
