from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmls.core.errors import InputError
from rmls.core.labels import read_labels
from rmls.imbalance import StratifiedFolds, assign_folds, folds
from rmls.kernels.cpu.imbalance import stratify as kernels


@st.composite
def label_matrices(draw: st.DrawFn, least: int = 2, most: int = 40) -> np.ndarray:
    n_samples, n_labels = draw(st.integers(least, most)), draw(st.integers(1, 8))
    density, seed = draw(st.sampled_from([0.0, 0.1, 0.3, 0.8])), draw(st.integers(0, 999))
    return (np.random.default_rng(seed).random((n_samples, n_labels)) < density).astype(np.int32)


def uneven(Y: np.ndarray, assigned: np.ndarray, shares: np.ndarray) -> float:
    """The sum that is lowered, from its definition; rows without labels are a label."""
    Y = np.column_stack([Y, ~Y.any(axis=1)])
    total = 0.0
    for column in Y.T[Y.any(axis=0)]:
        exact = column.sum() * shares
        low, high = np.floor(exact + 1e-6), np.ceil(exact - 1e-6)
        counts = np.bincount(assigned, column, len(shares))
        squares = (counts - (low + high) / 2) ** 2 - ((high - low) / 2) ** 2
        total += float(squares.sum()) / column.sum()
    return total


@given(Y=label_matrices(), parts=st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_every_row_is_in_one_fold_and_sizes_are_exact(Y: np.ndarray, parts: list[int]) -> None:
    shares = np.array(parts) / sum(parts)
    exact = shares * len(Y)
    try:
        assigned = assign_folds(Y, list(shares), n_passes=5)
    except InputError:
        assert len(Y) < len(parts) or np.floor(exact + 1e-6).min() == 0
        return
    sizes = np.bincount(assigned, minlength=len(shares))
    assert len(assigned) == len(Y) == sizes.sum()
    assert (np.abs(sizes - exact) < 1).all()
    raised, lowered = (exact - np.floor(exact + 1e-6))[sizes > exact + 1e-6], exact - sizes
    assert not len(raised) or raised.min() >= lowered.max() - 1e-6


@given(Y=label_matrices(least=7), n_splits=st.integers(2, 7), seed=st.integers(0, 9))
def test_the_test_rows_of_all_splits_are_all_rows(Y: np.ndarray, n_splits: int, seed: int) -> None:
    splits = list(StratifiedFolds(n_splits, n_passes=5, random_state=seed).split(None, Y))
    everything = np.arange(len(Y))
    assert len(splits) == n_splits
    assert (np.sort(np.concatenate([test for _, test in splits])) == everything).all()
    assert all((np.sort(np.concatenate(split)) == everything).all() for split in splits)
    assert np.ptp([len(test) for _, test in splits]) <= 1


@given(Y=label_matrices(least=5), n_passes=st.integers(1, 12), uses_fifths=st.booleans())
def test_passes_never_make_it_less_even(Y: np.ndarray, n_passes: int, uses_fifths: bool) -> None:
    shares = np.array([0.2] * 5 if uses_fifths else [0.5, 0.3, 0.2])
    greedy = uneven(Y, assign_folds(Y, list(shares), n_passes=0), shares)
    swapped = uneven(Y, assign_folds(Y, list(shares), n_passes=n_passes), shares)
    assert swapped <= greedy + 1e-9


@given(Y=label_matrices(least=4), seed=st.integers(0, 99))
def test_the_order_of_the_labels_changes_nothing(Y: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(Y.shape[1])
    assert (assign_folds(Y, [0.7, 0.3]) == assign_folds(Y[:, order], [0.7, 0.3])).all()


@given(Y=label_matrices(least=4))
def test_labels_without_rows_change_nothing(Y: np.ndarray) -> None:
    padded = np.column_stack([np.zeros(len(Y), np.int32), Y, np.zeros(len(Y), np.int32)])
    assert (assign_folds(Y, [0.7, 0.3]) == assign_folds(padded, [0.7, 0.3])).all()


@given(
    counts=st.lists(st.integers(1, 20), min_size=1, max_size=8),
    n_folds=st.integers(2, 6),
    n_passes=st.sampled_from([0, 20]),
)
def test_classes_are_always_even(counts: list[int], n_folds: int, n_passes: int) -> None:
    y = np.repeat(np.arange(len(counts) + 1), [*counts, n_folds])
    assigned = assign_folds(y, [1 / n_folds] * n_folds, n_passes=n_passes)
    for label in range(len(counts) + 1):
        assert np.ptp(np.bincount(assigned[y == label], minlength=n_folds)) <= 1


def assign_first(
    Y: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, kernels.Labels, kernels.Spread]:
    """The state of the kernels before the first swap, for the given order of the rows."""
    matrix, rows = folds._standardise(read_labels(Y)[1], np.random.default_rng(0))
    labels, spread = folds._prepare(matrix, shares)
    queue = kernels.make_queue(np.diff(labels.label_start))
    kernels.assign_rarest_first(labels, spread, queue, folds._round_sizes(shares, len(Y)))
    return rows, labels, spread


@settings(max_examples=50)
@given(Y=label_matrices(least=6), seed=st.integers(0, 99))
def test_the_price_of_a_swap_is_what_it_adds(Y: np.ndarray, seed: int) -> None:
    shares = np.array([0.5, 0.3, 0.2])
    rows, labels, spread = assign_first(Y, shares)
    before = uneven(Y[rows], spread.fold, shares)
    row, other = np.random.default_rng(seed).choice(len(Y), 2, replace=False)
    fold, other_fold = spread.fold[[row, other]]
    if fold == other_fold:
        return
    alone = kernels._price_move(labels, spread.excess, row, fold, other_fold)
    swap = (row, fold, other, other_fold)
    price = kernels._price_swap(labels, spread.excess, swap, alone, np.inf)
    swapped = spread.fold.copy()
    swapped[[row, other]] = other_fold, fold
    assert price == pytest.approx(uneven(Y[rows], swapped, shares) - before, abs=1e-9)


@settings(max_examples=50)
@given(Y=label_matrices(least=4), n_folds=st.integers(2, 4), tolerance=st.sampled_from([0.0, 0.5]))
def test_kernels_keep_count_of_every_label(Y: np.ndarray, n_folds: int, tolerance: float) -> None:
    shares = np.full(n_folds, 1 / n_folds)
    rows, labels, spread = assign_first(Y, shares)
    waiting = np.full((n_folds, n_folds), kernels.NONE)
    for _ in range(3):
        believed = kernels.measure_unevenness(labels, spread)
        assert believed == pytest.approx(uneven(Y[rows], spread.fold, shares), abs=1e-9)
        kernels.swap_rows(labels, spread, waiting, tolerance)


def best_possible(Y: np.ndarray, shares: np.ndarray) -> float:
    sizes = np.round(shares * len(Y)).astype(int)
    choices = set(permutations(np.repeat(np.arange(len(shares)), sizes)))
    return min(uneven(Y, np.array(choice), shares) for choice in choices)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [1 / 3] * 3, [0.5, 1 / 3, 1 / 6]])
def test_tiny_problems_are_mostly_solved_to_the_optimum(shares: list[float]) -> None:
    generator, n_best = np.random.default_rng(0), 0
    for _ in range(30):
        Y = (generator.random((6, 4)) < 0.4).astype(np.int32)
        reached = uneven(Y, assign_folds(Y, shares), np.array(shares))
        best = best_possible(Y, np.array(shares))
        assert reached >= best - 1e-9
        n_best += reached <= best + 1e-9
    assert n_best >= 27
