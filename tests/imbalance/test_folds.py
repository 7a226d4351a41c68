from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from patience import patience
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.datasets import load, make_longtail
from rmls.imbalance import StratifiedFolds, assign_folds

FIFTHS = [0.2] * 5


def rows_from_even(Y: Any, folds: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """How far, in rows, the worst fold of every label is from its share rounded down or up."""
    Y = sparse.csr_matrix(Y)
    counts = np.array([np.asarray(Y[folds == f].sum(axis=0)).ravel() for f in range(len(shares))]).T
    counts = counts[counts.sum(axis=1) > 0]
    exact = counts.sum(axis=1, keepdims=True) * np.asarray(shares)
    low, high = np.floor(exact + 1e-9), np.ceil(exact - 1e-9)
    result: np.ndarray = np.maximum(low - counts, counts - high).clip(0).max(axis=1)
    return result


def even_labels(Y: Any, folds: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    even: np.ndarray = rows_from_even(Y, folds, shares) == 0
    return even


def random_labels(
    n_samples: int, n_labels: int, density: float = 0.2, seed: int = 0
) -> sparse.csr_matrix:
    Y = np.random.default_rng(seed).random((n_samples, n_labels)) < density
    return sparse.csr_matrix(Y.astype(np.int32))


def shuffled_folds(n_samples: int, n_folds: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(np.arange(n_samples) % n_folds)


@pytest.fixture(scope="module")
def longtail() -> sparse.csr_matrix:
    return make_longtail(3000, 20, 400, features_per_row=2.0).Y


@pytest.mark.parametrize("n_passes", [0, 50])
def test_copies_of_a_block_are_spread_one_to_a_fold(n_passes: int) -> None:
    block = np.eye(12, dtype=int)
    block[6:, 0] = 1
    folds = assign_folds(np.tile(block, (5, 1)), FIFTHS, n_passes=n_passes)
    copies = folds.reshape(5, 12)
    assert even_labels(np.tile(block, (5, 1)), folds, FIFTHS).all()
    assert (np.sort(copies[:, :6], axis=0) == np.arange(5)[:, None]).all()


@pytest.mark.parametrize("seed", range(5))
def test_copies_of_any_block_are_even_to_a_row(seed: int) -> None:
    Y = sparse.vstack([random_labels(40, 15, seed=seed)] * 4, format="csr")
    distance = rows_from_even(Y, assign_folds(Y, [0.25] * 4), [0.25] * 4)
    assert distance.max() <= 1
    assert (distance == 0).mean() > 0.6


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_a_class_with_as_many_rows_as_folds_is_in_every_fold(n_folds: int) -> None:
    y = np.repeat(np.arange(6), [n_folds, n_folds + 1, 2 * n_folds, 40, 55, 90])
    folds = assign_folds(y, [1 / n_folds] * n_folds)
    assert all(set(folds[y == label]) == set(range(n_folds)) for label in range(6))


def test_two_rare_labels_are_not_lost_to_a_frequent_one() -> None:
    Y = np.ones((100, 3), dtype=int)
    Y[5:, 1] = 0
    Y[:95, 2] = 0
    folds = assign_folds(Y, FIFTHS)
    assert np.bincount(folds[:5]).tolist() == np.bincount(folds[95:]).tolist() == [1] * 5


def test_rows_without_labels_are_spread_evenly_too(longtail: sparse.csr_matrix) -> None:
    Y = longtail.tolil()
    Y[:503] = 0
    counts = np.bincount(assign_folds(Y.tocsr(), FIFTHS)[:503])
    assert counts.min() >= 100
    assert counts.max() <= 101


def test_no_labels_at_all_is_a_plain_division() -> None:
    assert np.bincount(assign_folds(np.zeros((10, 3)), [0.5, 0.3, 0.2])).tolist() == [5, 3, 2]


def test_single_rows_go_to_every_fold_as_often_as_its_share_says() -> None:
    """A rule that sends a row where most of its label is missing never tests a rare label."""
    Y = sparse.identity(1000, dtype=np.int32, format="csr")
    Y = sparse.hstack([Y, np.ones((1000, 1), dtype=np.int32)], format="csr")
    more = sparse.csr_matrix((np.ones(500, np.int32), (range(500), [1000] * 500)), (500, 1001))
    folds = assign_folds(sparse.vstack([Y, more], format="csr"), [0.8, 0.1, 0.1])
    assert np.bincount(folds[:1000])[1:] == pytest.approx([100, 100], abs=15)


def test_a_long_tail_is_even_where_shuffled_folds_are_not(longtail: sparse.csr_matrix) -> None:
    shuffled = even_labels(longtail, shuffled_folds(3000, 5), FIFTHS).mean()
    greedy = even_labels(longtail, assign_folds(longtail, FIFTHS, n_passes=0), FIFTHS).mean()
    swapped = even_labels(longtail, assign_folds(longtail, FIFTHS), FIFTHS).mean()
    assert shuffled < 0.3 < greedy < 0.8
    assert swapped > 0.98


def test_swaps_help_most_where_rows_have_many_labels() -> None:
    Y = random_labels(600, 40, density=0.3)
    greedy, swapped = (
        rows_from_even(Y, assign_folds(Y, FIFTHS, n_passes=n), FIFTHS) for n in (0, 50)
    )
    assert greedy.max() > 5
    assert swapped.max() <= 2
    assert (swapped == 0).mean() > 2 * (greedy == 0).mean()


def test_a_row_with_very_many_labels_is_placed_like_any_other() -> None:
    Y = sparse.lil_matrix((400, 100), dtype=np.int32)
    Y[0] = 1
    for row in range(1, 400):
        Y[row, row % 100] = 1
    folds = assign_folds(Y.tocsr(), [0.5, 0.5])
    assert even_labels(Y, folds, [0.5, 0.5]).all()


def test_the_same_seed_gives_the_same_folds_and_another_seed_others() -> None:
    Y = random_labels(200, 10)
    first, second = assign_folds(Y, FIFTHS, random_state=3), assign_folds(Y, FIFTHS, random_state=3)
    assert (first == second).all()
    assert (first != assign_folds(Y, FIFTHS, random_state=4)).any()


def test_every_container_gives_the_same_folds() -> None:
    import pandas as pd

    Y = random_labels(60, 7)
    names = [[f"l{label}" for label in row.indices] for row in Y]
    forms = [Y.toarray(), Y.toarray().astype(bool), Y.tocsc(), Y.tocoo(), Y.toarray().tolist()]
    forms += [pd.DataFrame(Y.toarray()), names]
    expected = assign_folds(Y, FIFTHS)
    assert all((assign_folds(form, FIFTHS) == expected).all() for form in forms)


def test_classes_are_spread_like_their_indicator_matrix() -> None:
    y = np.random.default_rng(0).integers(4, size=50)
    indicator = (y[:, None] == np.arange(4)).astype(int)
    assert (assign_folds(y, FIFTHS) == assign_folds(indicator, FIFTHS)).all()


def test_the_input_is_left_alone() -> None:
    Y = random_labels(60, 7)
    before = Y.copy()
    assign_folds(Y, FIFTHS)
    assert (before != Y).nnz == 0
    assert (Y.indices == before.indices).all()


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([1.0], "at least two members; got 1"),
        ([0.5, 0.4], "sum 1; got 0.9"),
        ([0.5, 0.5, 0.0], r"shares\[2\] must lie between 0 and 1"),
        ([1.5, -0.5], r"shares\[0\] must lie between 0 and 1"),
        ([0.5, float("nan")], r"shares\[1\] must lie between 0 and 1"),
        (["a", 0.5], r"shares\[0\] must lie between 0 and 1; got 'a'"),
        ([0.99, 0.01], "fold 1 less than one of 20 rows"),
        ([0.04] * 25, "20 rows for 25 folds"),
    ],
)
def test_bad_shares_are_refused_with_a_sentence(shares: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        assign_folds(random_labels(20, 3), shares)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 1}, "n_splits must be a whole number of at least 2"),
        ({"n_splits": 2.5}, "n_splits must be a whole number"),
        ({"n_splits": 3, "shares": [0.5, 0.5]}, "shares has 2 members for 3 folds"),
        ({"n_splits": 2, "shares": [0.5, 0.6]}, "sum 1; got 1.1"),
        ({"n_passes": -1}, "n_passes must be a whole number of at least 0"),
    ],
)
def test_bad_options_are_refused_when_given(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        StratifiedFolds(**options)


def test_labels_that_are_no_labels_are_refused() -> None:
    for wrong in ([[0, 2], [1, 0]], np.zeros((0, 3)), np.zeros((4, 0)), None):
        with pytest.raises(InputError):
            assign_folds(np.asarray(wrong) if wrong is not None else None, [0.5, 0.5])


def test_splits_fit_the_rows_of_x() -> None:
    Y = random_labels(10, 2)
    with pytest.raises(InputError, match="y has 10 rows but X has 9"):
        next(StratifiedFolds(2).split(np.zeros((9, 1)), Y))
    with pytest.raises(InputError, match="y has 10 rows but X has 9"):
        next(StratifiedFolds(2).split(["text"] * 9, Y))


def test_groups_are_ignored_with_a_warning() -> None:
    with pytest.warns(RmlsWarning, match="groups is ignored"):
        next(StratifiedFolds(2).split(None, random_labels(10, 2), groups=np.arange(10)))


def test_splits_take_shares() -> None:
    folds = StratifiedFolds(3, shares=[0.6, 0.2, 0.2])
    assert [len(test) for _, test in folds.split(None, random_labels(50, 4))] == [30, 10, 10]


def test_scikit_learn_takes_the_folds() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    Y = random_labels(60, 4, 0.4).toarray()
    X = np.random.default_rng(0).random((60, 3))
    assert cross_val_score(KNeighborsClassifier(), X, Y, cv=StratifiedFolds(4)).shape == (4,)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=StratifiedFolds(3))
    assert clone(search).fit(X, Y).n_splits_ == 3
    assert StratifiedFolds(4).get_n_splits(X, Y) == 4
    assert repr(StratifiedFolds(4)).startswith("StratifiedFolds(n_splits=4, shares=None")


def test_statistics_do_not_wait_for_the_compiler() -> None:
    code = "import rmls.imbalance, sys; print({'numba', 'sklearn'} & set(sys.modules))"
    command, limit = [sys.executable, "-c", code], patience(1)
    found = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    assert found.stdout.strip() == "set()", found.stderr


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "floor"), [("yeast", 0.99), ("enron", 0.99), ("debtags", 0.99), ("delicious", 0.78)]
)
def test_labels_of_real_sets_are_even(name: str, floor: float) -> None:
    Y = load(name).Y
    folds = assign_folds(Y, FIFTHS)
    assert even_labels(Y, folds, FIFTHS).mean() >= floor
    assert np.ptp(np.bincount(folds)) <= 1
