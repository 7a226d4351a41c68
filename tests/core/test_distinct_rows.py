"""Distinct rows against a dictionary of their contents."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from rmls.core.sparse import distinct_rows

TABLES = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays.arrays(np.float32, (n, 3), elements=st.sampled_from([0.0, 1.0, -1.0, 0.5])),
        arrays.arrays(np.int32, (n, 2), elements=st.integers(0, 1)),
        arrays.arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 2.0, 0.25])),
    )
)


def total_weights(X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> dict[tuple, float]:
    """The slow reference: add up the weights of equal rows."""
    totals: dict[tuple, float] = defaultdict(float)
    for x, y, weight in zip(X.tolist(), Y.tolist(), weights.tolist(), strict=True):
        if weight > 0:
            totals[tuple(x), tuple(y)] += weight
    return totals


def find(X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return distinct_rows(sparse.csr_matrix(X), sparse.csr_matrix(Y), weights)


@given(TABLES)
def test_every_distinct_row_is_there_once_with_its_total_weight(tables: tuple) -> None:
    X, Y, weights = tables
    rows, totals = find(X, Y, weights)
    found = {
        (tuple(X[row].tolist()), tuple(Y[row].tolist())): total
        for row, total in zip(rows, totals, strict=True)
    }
    assert len(found) == len(rows)
    assert found == total_weights(X, Y, weights)


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_depends_on_the_contents_alone(tables: tuple, random: object) -> None:
    X, Y, weights = tables
    order = list(range(len(X)))
    random.shuffle(order)  # type: ignore[attr-defined]
    rows, totals = find(X, Y, weights)
    shuffled, shuffled_totals = find(X[order], Y[order], weights[order])
    np.testing.assert_array_equal(X[order][shuffled], X[rows])
    np.testing.assert_array_equal(Y[order][shuffled], Y[rows])
    np.testing.assert_allclose(shuffled_totals, totals)


@given(TABLES)
def test_integer_weights_are_repeated_rows(tables: tuple) -> None:
    X, Y, weights = tables
    times = np.ceil(weights).astype(int)
    rows, totals = find(X, Y, times.astype(float))
    X_more, Y_more = np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)
    repeated, repeated_totals = find(X_more, Y_more, np.ones(len(X_more)))
    np.testing.assert_array_equal(X_more[repeated], X[rows])
    np.testing.assert_array_equal(repeated_totals, totals)


@pytest.mark.parametrize("block", [1, 2, 5, 1 << 20])
def test_the_size_of_the_blocks_does_not_matter(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 4)).astype(np.float32) * (rng.random((40, 1)) < 0.8)
    Y, weights = rng.integers(0, 2, (40, 3)), rng.integers(0, 3, 40).astype(float)
    wanted = find(X, Y, weights)
    monkeypatch.setattr("rmls.core.sparse.BLOCK", block)
    for found, expected in zip(find(X, Y, weights), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_features_and_labels_do_not_stand_in_for_one_another() -> None:
    X, Y = np.float32([[1, 0], [0, 1]]), np.int32([[0, 1], [1, 0]])
    assert len(find(X, Y, np.ones(2))[0]) == 2


def test_columns_and_values_do_not_stand_in_for_one_another() -> None:
    X = np.float32([[1, 2, 0], [2, 1, 0], [0, 1, 2], [1, 0, 2], [3, 0, 0], [0, 0, 0]])
    assert len(find(X, np.zeros((6, 1)), np.ones(6))[0]) == 6


def test_many_different_rows_stay_apart() -> None:
    X = sparse.identity(30_000, dtype=np.float32, format="csr")
    Y = sparse.csr_matrix((30_000, 1), dtype=np.int32)
    assert len(distinct_rows(X, Y, np.ones(30_000))[0]) == 30_000


def test_weights_of_zero_leave_nothing() -> None:
    rows, totals = find(np.ones((3, 2)), np.ones((3, 1)), np.zeros(3))
    assert len(rows) == len(totals) == 0
