"""Label-space dimension reduction: the parts against dense references, the limits of size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse

from rmls.core.errors import InputError
from rmls.datasets import make_longtail
from rmls.models import BMLPL, CPLST, CS, CSSP, PLST, BinaryRelevance, FaIE
from rmls.models.lsdr import label_operator as operators
from rmls.models.lsdr import ridge as ridges
from rmls.models.lsdr.cs import hadamard_rows
from rmls.models.lsdr.cssp import draw_distinct
from rmls.models.lsdr.label_operator import SignedLabels, leading_vectors
from rmls.models.lsdr.ridge import RidgeSystem
from rmls.models.lsdr.sparse_recovery import RECOVERIES

METHODS = [PLST, CPLST, FaIE, CSSP, CS, BinaryRelevance]


def random_problem(n=40, d=12, m=9, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(rng.random((n, d)) * (rng.random((n, d)) < 0.5), dtype=np.float32)
    Y = sparse.csr_matrix((rng.random((n, m)) < 0.3).astype(np.int32))
    return X, Y, rng


def test_signed_labels_act_like_the_dense_matrix():
    _, Y, rng = random_problem()
    weights = rng.random(40) + 0.1
    labels = SignedLabels.of(Y, weights)
    dense = 2.0 * Y.toarray() - 1
    mean = np.average(dense, axis=0, weights=weights)
    V, U = rng.standard_normal((9, 3)), rng.standard_normal((40, 3))
    for operator, shift in ((labels, 0.0), (labels.centred(), mean)):
        matrix = np.sqrt(weights)[:, None] * (dense - shift)
        np.testing.assert_allclose(operator.times(V), matrix @ V)
        np.testing.assert_allclose(operator.transposed_times(U), matrix.T @ U)
        np.testing.assert_allclose(operator.columns(np.array([4, 1])), matrix[:, [4, 1]])


@pytest.mark.parametrize("intercept", [False, True])
def test_conjugate_gradients_agree_with_the_factorisation(monkeypatch, intercept):
    X, _, rng = random_problem(200, 30)
    targets = rng.standard_normal((200, 4))
    column = np.ones(200) if intercept else None
    direct = RidgeSystem(X, 0.1, column).fit(targets)
    dense = X.toarray() if column is None else np.c_[column, X.toarray()]
    gram = dense.T @ dense + 0.1 * np.eye(dense.shape[1])
    np.testing.assert_allclose(direct, np.linalg.solve(gram, dense.T @ targets), atol=1e-6)
    monkeypatch.setattr(ridges, "DIRECT_FEATURES", 5)
    iterated = RidgeSystem(X, 0.1, column, tol=1e-6, max_iter=300, n_threads=2).fit(targets)
    np.testing.assert_allclose(iterated, direct, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("route", ["dense", "lanczos", "krylov"])
def test_every_route_to_the_leading_vectors_spans_the_same_space(monkeypatch, route):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    matrix = basis @ np.diag(0.8 ** np.arange(300)) @ basis.T
    monkeypatch.setattr(operators, "DENSE_SIDE", 1024 if route == "dense" else 10)
    monkeypatch.setattr(operators, "LANCZOS_SIDE", 10 if route == "krylov" else 1024)
    vectors = leading_vectors(lambda V: matrix @ V, 300, 12, seed=0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-8)
    overlap = linalg.svdvals(vectors.T @ basis[:, :12])
    assert overlap.min() > 1 - 1e-4


def few_rows(n=15, d=8, m=60, seed=0):
    """Return scaled rows with more labels than rows, and their centred labels, dense."""
    X, Y, rng = random_problem(n, d, m, seed)
    weights = rng.random(n) + 0.5
    signed = 2.0 * Y.toarray() - 1
    centred = np.sqrt(weights)[:, None] * (signed - np.average(signed, axis=0, weights=weights))
    return X, Y, weights, centred


@pytest.mark.parametrize("k", [3, 40])
def test_few_rows_with_many_labels_have_the_principal_directions(k):
    X, Y, weights, centred = few_rows()
    model = PLST(k).fit(X, Y, sample_weight=weights)
    wanted = linalg.svd(centred, full_matrices=False)[2][: min(k, 14)].T
    assert model.basis_.shape == wanted.shape
    np.testing.assert_allclose(model.basis_ @ model.basis_.T, wanted @ wanted.T, atol=1e-8)


@pytest.mark.parametrize("k", [3, 5])
def test_few_rows_with_many_labels_have_the_conditional_directions(k):
    X, Y, weights, centred = few_rows()
    model = CPLST(k, ridge=0.1).fit(X, Y, sample_weight=weights)
    A = np.sqrt(weights)[:, None] * X.toarray().astype(float)
    hat = A @ np.linalg.solve(A.T @ A + 0.1 * np.eye(8), A.T)
    _, vectors = linalg.eigh(centred.T @ hat @ centred)
    wanted = vectors[:, ::-1][:, :k]
    np.testing.assert_allclose(model.basis_ @ model.basis_.T, wanted @ wanted.T, atol=1e-7)


@pytest.mark.parametrize("method", [PLST, CPLST, CSSP, FaIE])
def test_the_cost_follows_the_fewer_of_rows_and_labels(method, monkeypatch):
    sizes = []

    def watch(action, size, k, seed):
        sizes.append(size)
        return leading_vectors(action, size, k, seed)

    for module in ("label_operator", "cplst", "faie"):
        monkeypatch.setattr(f"rmls.models.lsdr.{module}.leading_vectors", watch)
    X, Y, _, _ = few_rows()
    method(3).fit(X, Y)
    assert sizes == [15]


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_a_regression_is_solved_on_its_smaller_side(shape):
    rng = np.random.default_rng(0)
    A, targets = rng.standard_normal(shape), rng.standard_normal((shape[0], 4))
    system = RidgeSystem(sparse.csr_matrix(A), 0.3)
    wanted = np.linalg.solve(A.T @ A + 0.3 * np.eye(shape[1]), A.T @ targets)
    assert system._factor[0].shape == (12, 12)
    np.testing.assert_allclose(system.fit(targets), wanted, atol=1e-10)
    np.testing.assert_allclose(system.smooth(targets), A @ wanted, atol=1e-10)


def test_a_ridge_lost_beside_large_columns_is_no_trouble():
    rng = np.random.default_rng(0)
    plain = rng.random((40, 5))
    large = np.hstack([plain, np.full((40, 2), 9.2e18)])
    system = RidgeSystem(sparse.csr_matrix(large), 0.1)
    targets = plain @ rng.standard_normal((5, 3))
    assert np.abs(system.smooth(targets) - targets).max() < 0.1 * np.abs(targets).max()


def test_directions_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr("rmls.core.resources.available_memory", lambda: 1 << 30)
    with pytest.raises(InputError, match="finding 250 directions of 1000000 labels or rows needs"):
        leading_vectors(lambda V: V, 1_000_000, 250, seed=0)


def test_more_vectors_than_rows_are_refused():
    with pytest.raises(InputError, match="at most 3 components exist"):
        leading_vectors(lambda V: V, 3, 4, seed=0)


@pytest.mark.parametrize("name", sorted(RECOVERIES))
def test_recovery_finds_a_sparse_vector_from_its_random_sums(name):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((60, 200)) / np.sqrt(60)
    Y = np.zeros((30, 200))
    for row in Y:
        row[rng.choice(200, 4, replace=False)] = 1.0
    labels, coefficients = RECOVERIES[name](Y @ A.T, A, 4)
    found = np.zeros_like(Y)
    np.put_along_axis(found, labels, coefficients, axis=1)
    assert ((found > 0.5) == (Y > 0)).mean() > 0.999


def test_hadamard_rows_are_orthogonal():
    rows = hadamard_rows(20, 64, np.random.default_rng(3))
    np.testing.assert_array_equal(rows @ rows.T, 64 * np.eye(20))


def test_labels_are_drawn_by_their_share():
    shares = np.array([0.0, 1.0, 3.0, 0.0, 6.0])
    first = [draw_distinct(shares, 1, seed)[0] for seed in range(3000)]
    frequency = np.bincount(first, minlength=5) / 3000
    np.testing.assert_allclose(frequency, shares / 10, atol=0.03)
    assert draw_distinct(shares, 3, seed=1).tolist() == [1, 2, 4]


def test_keeping_all_labels_makes_binary_relevance_plain_ridge_regression():
    X, Y, _ = random_problem()
    scores = BinaryRelevance(ridge=0.5).fit(X, Y).decision_function(X)
    A = np.c_[np.ones(40), X.toarray()].astype(float)
    coef = np.linalg.solve(A.T @ A + 0.5 * np.eye(13), A.T @ (2.0 * Y.toarray() - 1))
    np.testing.assert_allclose(scores, A @ coef, rtol=1e-4, atol=1e-5)


def test_discarded_labels_are_never_predicted():
    X, Y, _ = random_problem()
    model = BinaryRelevance(3, random_state=4).fit(X, Y)
    others = np.setdiff1d(np.arange(9), model.selected_)
    assert len(model.selected_) == 3
    assert (model.decision_function(X)[:, others] == -1).all()
    assert model.predict_sets(X)[:, others].nnz == 0


@pytest.mark.parametrize(
    ("method", "tolerance"), [(PLST, 0.01), (CPLST, 0.01), (FaIE, 1e-4), (CSSP, 1e-4)]
)
def test_with_all_codes_every_method_is_ridge_regression(method, tolerance):
    """PLST and CPLST add the mean themselves, and so escape the penalty on the intercept."""
    X, Y, _ = random_problem()
    plain = BinaryRelevance().fit(X, Y).decision_function(X)
    full = method(40, ridge=0.1).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(full, plain, atol=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_more_components_than_the_rank_use_what_there_is(method):
    X, Y, _ = random_problem(6, 3, 4)
    model = method(50).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("method", METHODS)
def test_constant_features_and_labels_without_a_positive_are_no_trouble(method):
    X, Y, _ = random_problem()
    X = sparse.hstack([X, np.ones((40, 1)), np.zeros((40, 1))], format="csr")
    Y = sparse.hstack([Y, sparse.csr_matrix((40, 2))], format="csr")
    model = method(5).fit(X, Y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert (scores[:, -2:] < 0).mean() > 0.9


def test_long_tailed_data_is_learned():
    data = make_longtail(1500, 400, 60, labels_per_row=3.0, features_per_row=40.0)
    for method in (PLST, CPLST, FaIE, CS):
        model = method(40, normalize="log_l2").fit(data.train.X, data.train.Y)
        assert model.score(data.test.X, data.test.Y) > 0.3


@pytest.mark.parametrize("method", [PLST, CPLST, FaIE, CSSP, CS, BinaryRelevance])
@pytest.mark.parametrize(("d", "m"), [(10**5, 50), (3, 10**5)])
def test_models_beyond_the_memory_are_refused(monkeypatch, method, d, m):
    monkeypatch.setattr("rmls.core.resources.available_memory", lambda: 10**6)
    X = sparse.csr_matrix((np.ones(40, np.float32), (np.arange(40), np.arange(40) % 3)), (40, d))
    Y = sparse.csr_matrix((np.ones(40, np.int32), (np.arange(40), np.arange(40))), (40, m))
    with pytest.raises(InputError, match="of memory but"):
        method().fit(X, Y)


@pytest.mark.parametrize("method", [CS, BMLPL])
def test_far_more_components_than_labels_are_one_sentence(method: type) -> None:
    model = method(n_components=1_000_000)
    with pytest.raises(InputError, match="n_components must be at most 1000 for 3 labels"):
        model.fit(np.eye(3), np.eye(3, dtype=int))
