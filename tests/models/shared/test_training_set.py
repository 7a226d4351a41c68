"""The training set: distinct rows with their weights, held out, folded and made compact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rmls.core.errors import InputError
from rmls.models.shared.training_set import TrainingSet, count_folds

RNG = np.random.default_rng(0)
X = sparse.csr_matrix((RNG.random((40, 6)) < 0.5).astype(np.float32) * np.arange(1, 7))
Y = sparse.csr_matrix((RNG.random((40, 4)) < 0.4).astype(np.int32))
WEIGHTS = RNG.integers(0, 4, 40).astype(np.float64)


def make(order: np.ndarray | None = None) -> TrainingSet:
    rows = np.arange(40) if order is None else order
    return TrainingSet.of(X[rows], Y[rows], WEIGHTS[rows])


def test_every_distinct_row_of_positive_weight_is_there_once() -> None:
    data = make()
    both = np.hstack([X.toarray(), Y.toarray()])
    found = np.hstack([data.features.toarray(), data.labels.toarray()])
    wanted = np.unique(both[WEIGHTS > 0], axis=0)
    np.testing.assert_array_equal(np.unique(found, axis=0), wanted)
    assert data.n_rows == len(found) == len(wanted)
    assert data.weights.sum() == WEIGHTS.sum()
    np.testing.assert_allclose(data.positives(), WEIGHTS @ Y.toarray())


def test_the_order_of_the_rows_is_forgotten() -> None:
    data, other = make(), make(RNG.permutation(40))
    np.testing.assert_array_equal(data.features.toarray(), other.features.toarray())
    np.testing.assert_array_equal(data.labels.toarray(), other.labels.toarray())
    np.testing.assert_array_equal(data.weights, other.weights)


def test_rows_without_weight_are_refused() -> None:
    with pytest.raises(InputError, match="sample_weight is zero for every row"):
        TrainingSet.of(X, Y, np.zeros(40))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_kept_and_left_out_rows_are_all_rows_with_their_weights(share: float) -> None:
    data = make().hold_out(share, seed=3)
    kept, left_out = data.kept, data.left_out
    assert left_out.n_rows == (max(1, round(share * data.n_rows)) if share else 0)
    order = np.argsort(np.concatenate([kept.rows, left_out.rows]))
    np.testing.assert_array_equal(
        np.concatenate([kept.rows, left_out.rows])[order], np.sort(data.rows)
    )
    weight_of = dict(zip(data.rows, data.weights, strict=True))
    for part in (kept, left_out):
        assert [weight_of[row] for row in part.rows] == part.weights.tolist()
        assert len(part.held_out) == 0


def test_holding_out_everything_is_refused() -> None:
    with pytest.raises(InputError, match="leaves nothing to train on"):
        make().take(np.arange(1)).hold_out(0.5, seed=0)


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_every_row_is_held_out_of_one_fold(n_folds: int) -> None:
    data = make()
    folds = list(data.folds(n_folds, seed=5))
    held = np.concatenate([fold.held_out for fold in folds])
    assert len(folds) == n_folds
    assert sorted(held.tolist()) == list(range(data.n_rows))
    sizes = [len(fold.held_out) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_a_seed_gives_the_same_parts_and_another_one_others() -> None:
    data = make()
    first, again, other = (data.hold_out(0.3, seed).held_out for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_compact_set_holds_its_own_rows_in_their_order() -> None:
    data = make().take(np.array([4, 2, 7]))
    small = data.compact()
    np.testing.assert_array_equal(small.X.toarray(), data.features.toarray())
    np.testing.assert_array_equal(small.Y.toarray(), data.labels.toarray())
    assert small.rows.tolist() == [0, 1, 2]
    assert small.features.shape == small.X.shape


def test_what_is_not_observed_does_not_tell_rows_apart() -> None:
    same = sparse.csr_matrix(np.ones((2, 1), np.float32))
    labels = sparse.csr_matrix(np.array([[1, 1], [1, 0]], np.int32))
    half = sparse.csr_matrix(np.array([[1, 0], [1, 0]], np.int32))
    assert TrainingSet.of(same, labels, np.ones(2)).n_rows == 2
    data = TrainingSet.of(same, labels, np.ones(2), half)
    assert data.n_rows == 1
    assert data.positives().tolist() == [2.0, 0.0]


def test_the_number_of_folds_follows_the_rows() -> None:
    assert [count_folds("auto", n) for n in (10, 30_000, 30_001)] == [3, 3, 0]
    assert count_folds("auto", 6_000, max_rows=5_000) == 0
    assert count_folds(50, 7) == 7
    with pytest.raises(InputError, match="at least 2; got 1"):
        count_folds(1, 100)
