"""Weights that are looked up are those that are added up."""

import numpy as np
import pytest
from scipy import sparse
from tolerances import assert_close

from rmls.kernels.arrays import Csr, SparseWeights
from rmls.kernels.backend import get_backend
from rmls.kernels.cpu.ranker import lookup
from rmls.kernels.cpu.ranker.lookup import (
    LABELS_A_WEIGHT,
    MANY,
    TIMES_FILLED,
    make_tables,
    with_many,
)

N_LABELS, N_ROWS = 1_500, 20
# Weights of every feature: none, a few, just too few for a table, just enough, and all.
SIZES = (0, 7, MANY - 1, MANY, N_LABELS, 900)


def make_weights(values=np.float32, n_labels=N_LABELS, seed=0):
    rng = np.random.default_rng(seed)
    labels = [np.sort(rng.permutation(n_labels)[:size]) for size in SIZES]
    indptr = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
    stored = (rng.normal(size=indptr[-1]) * 50).astype(values)
    scale = rng.uniform(0.5, 2, n_labels).astype(np.float32)
    bias = rng.normal(size=n_labels).astype(np.float32)
    return SparseWeights(indptr, np.concatenate(labels).astype(np.uint16), stored, scale, bias)


def make_rows(seed=1):
    rng = np.random.default_rng(seed)
    X = sparse.random(N_ROWS, len(SIZES), 0.7, "csr", np.float32, random_state=rng)
    return Csr(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)


@pytest.mark.parametrize("values", [np.float32, np.int16, np.int8])
@pytest.mark.parametrize("size", [1, 40, 150, MANY])
def test_scores_are_the_same_with_tables_and_without(values, size, monkeypatch):
    monkeypatch.setattr(lookup, "TIMES_FILLED", 0)
    rng, weights, rows = np.random.default_rng(2), make_weights(values), make_rows()
    listed = np.array([rng.permutation(N_LABELS)[:size] for _ in range(N_ROWS)], np.int32)
    backend = get_backend("cpu")
    tables = backend.index_weights(weights)
    assert tables is not None
    assert tables.numbers.tolist() == [-1, -1, -1, 0, 1, 2]
    found = backend.score_lists(rows, weights, listed, tables=tables)
    wanted = backend.score_lists(rows, weights, listed)
    assert_close(found, wanted, rtol=1e-5, atol=1e-3)
    table = sparse.csr_matrix(
        (weights.values.astype(np.float64), weights.indices.astype(np.int32), weights.indptr),
        (len(SIZES), N_LABELS),
    ).toarray()
    X = sparse.csr_matrix((rows.data, rows.indices, rows.indptr), (N_ROWS, len(SIZES)))
    exact = X.toarray().astype(np.float64) @ table * weights.scale + weights.bias
    assert_close(found, np.take_along_axis(exact, listed.astype(int), axis=1), 1e-4, 1e-2)


@pytest.mark.parametrize("values", [np.float32, np.int16])
def test_scores_by_filled_weights_are_the_same(values):
    rng, n_features, n_labels = np.random.default_rng(4), 30, 21
    table = (
        rng.normal(size=(n_features, n_labels)) * 50 * (rng.random((n_features, n_labels)) < 0.4)
    )
    own = sparse.csr_matrix(table.astype(values))
    one = rng.uniform(0.5, 2, (2, n_labels)).astype(np.float32)
    indptr, labels = own.indptr.astype(np.int64), own.indices.astype(np.uint16)
    weights = SparseWeights(indptr, labels, own.data, *one)
    X = sparse.random(N_ROWS, n_features, 0.5, "csr", np.float32, random_state=rng)
    rows = Csr(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    listed = np.array([rng.permutation(n_labels)[:9] for _ in range(N_ROWS)], np.int32)
    backend = get_backend("cpu")
    tables = backend.index_weights(weights)
    np.testing.assert_array_equal(tables.filled, own.toarray())
    found = backend.score_lists(rows, weights, listed, tables=tables)
    assert_close(found, backend.score_lists(rows, weights, listed), rtol=1e-5, atol=1e-3)
    # What the threads share is as clean as before.
    again = backend.score_lists(rows, weights, listed)
    assert_close(found, again, rtol=1e-5, atol=1e-3)


def test_weights_with_few_of_all_are_not_filled():
    n_features, n_labels = 10, 4 * TIMES_FILLED
    for n_weights, is_filled in ((40, True), (39, False)):
        indptr = np.full(n_features + 1, n_weights, np.int64)
        indptr[0] = 0
        labels = np.arange(n_weights).astype(np.uint16) % n_labels
        stored, one = np.ones(n_weights, np.int16), np.ones(n_labels, np.float32)
        weights = SparseWeights(indptr, labels, stored, one, one)
        assert (get_backend("cpu").index_weights(weights) is not None) == is_filled


def test_a_feature_whose_labels_do_not_rise_has_no_table():
    weights = make_weights()
    labels = weights.indices.copy()
    first = weights.indptr[3]
    labels[[first, first + 1]] = labels[[first + 1, first]]
    tables = make_tables(weights._replace(indices=labels), with_many(weights))
    assert tables.numbers.tolist() == [-1, -1, -1, -1, 1, 2]


def test_of_many_labels_only_features_with_a_good_part_of_them_have_a_table():
    weights = make_weights(n_labels=LABELS_A_WEIGHT * 2_000)
    assert not len(with_many(weights))
    assert get_backend("cpu").index_weights(weights) is None


def test_tables_take_at_most_twice_the_memory_of_their_weights():
    weights = make_weights()
    held = sum(size for size in SIZES if size >= MANY) * 6
    assert make_tables(weights, with_many(weights)).entries.nbytes <= 2 * held


def test_weights_without_features_have_empty_tables():
    none = np.zeros(0, np.float32)
    weights = SparseWeights(np.zeros(1, np.int64), np.zeros(0, np.uint16), none, none, none)
    assert make_tables(weights, with_many(weights)).entries.shape[0] == 0
