"""MLSMOTE: an example by hand, a slow reference, and rows that lie where they should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from resample_samples import counts_of, make_problem, ratios_of, sets_of
from scipy import sparse

from rmls.imbalance import MLSMOTE, mean_ir
from rmls.imbalance.minority import find_sides
from rmls.kernels.cpu.imbalance import bag_neighbours as kernels

X, Y = make_problem(n_samples=400, n_labels=20, n_features=60)


def reference_neighbours(X: np.ndarray, bag: list[int], row: int, k: int) -> list[set[int]]:
    """The k nearest rows of the bag: one set for each way to break ties at the border."""
    others = [other for other in bag if other != row]
    distance = {other: round(float(((X[row] - X[other]) ** 2).sum()), 9) for other in others}
    border = sorted(distance.values())[min(k, len(others)) - 1]
    inside = {other for other in others if distance[other] < border}
    return [inside, {other for other in others if distance[other] <= border}]


def is_possible(
    x: np.ndarray, labels: set[int], problem: Any, seed: int, bag: list[int], options: Any
) -> bool:
    """Whether a new row can have come from the seed, as the paper says."""
    X, sets = problem
    k, rule = options
    inside, around = reference_neighbours(X, bag, seed, k)
    between = [
        other
        for other in around
        if (np.minimum(X[seed], X[other]) - 1e-6 <= x).all()
        and (x <= np.maximum(X[seed], X[other]) + 1e-6).all()
    ]
    if not between:
        return False
    n_voters = min(k, len(bag) - 1) + 1
    if len(inside) < len(around) and len(around) != n_voters - 1:
        return True  # Which of the equally near rows vote is open.
    votes = [sets[row] for row in [seed, *around]]
    counts = {j: sum(j in vote for vote in votes) for j in set().union(*votes)}
    need = {"ranking": n_voters / 2 + 0.5, "union": 1, "intersection": n_voters}[rule]
    return labels == {j for j, count in counts.items() if count >= need}


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n, m, d = draw(st.integers(4, 30)), draw(st.integers(2, 5)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    Y = (rng.random((n, m)) < rng.random(m) ** 2).astype(int)
    Y[0, 0] = 1
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.3, 1.0])))
    return X, Y


@given(
    problem=problems(),
    k=st.integers(1, 7),
    rule=st.sampled_from(["ranking", "union", "intersection"]),
    seed=st.integers(0, 99),
)
def test_every_new_row_is_one_that_the_paper_allows(
    problem: tuple[np.ndarray, np.ndarray], k: int, rule: str, seed: int
) -> None:
    X, Y = problem
    sampler = MLSMOTE(k, labels=rule, random_state=seed)
    X_new, Y_new = sampler.fit_resample(X, Y)
    sets, n = sets_of(Y), len(Y)
    ratios, mean = ratios_of(sets)
    bags = {
        label: [row for row, labels in enumerate(sets) if label in labels]
        for label in ratios
        if ratios[label] > mean
    }
    bags = {label: bag for label, bag in bags.items() if len(bag) > 1}
    wanted = sorted(row for bag in bags.values() for row in bag)
    assert sorted(sampler.sample_indices_[n:].tolist()) == wanted
    assert sampler.n_synthetic_ == len(wanted)
    for x, labels, origin in zip(
        X_new[n:], sets_of(Y_new)[n:], sampler.sample_indices_[n:].tolist(), strict=True
    ):
        assert any(
            is_possible(x, set(labels), (X, sets), origin, bag, (k, rule))
            for bag in bags.values()
            if origin in bag
        )


# Rows 0 to 7 have label 0 only; 8, 9, 10 also have label 1, and 10 has label 2 instead of 0.
X_HAND = np.array([[0.0, 0.0]] * 8 + [[1.0, 0.0], [2.0, 0.0], [9.0, 1.0]])
Y_HAND = np.array([[1, 0, 0]] * 8 + [[1, 1, 0], [1, 1, 0], [0, 1, 1]])


def test_by_hand() -> None:
    # Counts 10, 3, 1: IRLbl 1, 3.33, 10; MeanIR 4.78: only label 2 is rare, and it has one row.
    X_new, _ = MLSMOTE().fit_resample(X_HAND, Y_HAND)
    assert len(X_new) == 11
    # With a label 2 in row 9 too: IRLbl 1, 3.33, 5; MeanIR 3.11: labels 1 and 2 are rare.
    Y_two = Y_HAND.copy()
    Y_two[9, 2] = 1
    sampler = MLSMOTE(1)
    X_new, Y_new = sampler.fit_resample(X_HAND, Y_two)
    made = {
        (seed, tuple(labels))
        for seed, labels in zip(sampler.sample_indices_[11:], Y_new[11:].tolist(), strict=True)
    }
    # Nearest of 8 is 9 and the reverse; of 10 it is 9. Two voters: labels that both have.
    assert made == {
        (8, (1, 1, 0)),
        (9, (1, 1, 0)),
        (10, (0, 1, 1)),
        (9, (0, 1, 1)),
    }
    assert sorted(sampler.sample_indices_[11:].tolist()) == [8, 9, 9, 10, 10]
    for x, seed, labels in zip(X_new[11:], sampler.sample_indices_[11:], Y_new[11:], strict=True):
        low, high = (1.0, 2.0) if labels[0] else (2.0, 9.0)
        assert low <= x[0] <= high, seed


@pytest.mark.parametrize("rule", ["ranking", "union", "intersection"])
def test_a_new_row_has_the_label_it_was_made_for(rule: str) -> None:
    sampler = MLSMOTE(labels=rule)
    _, Y_new = sampler.fit_resample(X, Y)
    minority = np.flatnonzero(find_sides(Y).minority)
    added = counts_of(Y_new) - counts_of(Y)
    several = counts_of(Y)[minority] > 1
    assert several.any()
    assert (added[minority][several] >= counts_of(Y)[minority][several]).all()


def test_union_gives_most_labels_and_intersection_fewest() -> None:
    added = {
        rule: MLSMOTE(labels=rule).fit_resample(X, Y)[1][Y.shape[0] :]
        for rule in ("intersection", "ranking", "union")
    }
    least, some, most = (matrix.toarray() for matrix in added.values())
    assert (least <= some).all()
    assert (some <= most).all()
    assert least.sum() < some.sum() < most.sum()


def test_every_feature_moves_by_a_share_of_its_own() -> None:
    rng = np.random.default_rng(1)
    X_dense = rng.normal(size=(60, 4))
    Y_dense = np.zeros((60, 2), dtype=int)
    Y_dense[:, 0], Y_dense[:2, 1] = 1, 1
    sampler = MLSMOTE(1)
    X_new, _ = sampler.fit_resample(X_dense, Y_dense)
    seeds = sampler.sample_indices_[60:]
    assert sorted(seeds.tolist()) == [0, 1]
    shares = (X_new[60:] - X_dense[seeds]) / (X_dense[1 - seeds] - X_dense[seeds])
    assert ((shares >= 0) & (shares < 1)).all()
    assert np.ptp(shares, axis=1).min() > 0.01


def test_shares_are_uniform_and_references_equally_likely() -> None:
    X_line = np.concatenate([np.zeros(50), [10.0, 12.0, 8.0]])[:, None]
    Y_line = np.zeros((53, 2), dtype=int)
    Y_line[:, 0], Y_line[50:, 1] = 1, 1
    steps = []
    for seed in range(400):
        sampler = MLSMOTE(2, random_state=seed)
        X_new, _ = sampler.fit_resample(X_line, Y_line)
        middle = sampler.sample_indices_[53:] == 50
        steps.append(float(X_new[53:][middle][0, 0]) - 10.0)
    values = np.array(steps)
    assert abs((values > 0).mean() - 0.5) < 0.1
    assert abs(np.abs(values).mean() - 1.0) < 0.1
    assert np.abs(values).max() < 2.0


@pytest.mark.parametrize(("share", "times"), [(0.5, {0, 1}), (1.0, {1}), (2.0, {2}), (2.5, {2, 3})])
def test_sampling_strategy_is_the_number_of_new_rows_for_a_row(share: float, times: set) -> None:
    sampler = MLSMOTE(sampling_strategy=share)
    plain = MLSMOTE()
    sampler.fit_resample(X, Y)
    plain.fit_resample(X, Y)
    assert sampler.n_synthetic_ == int(share * plain.n_synthetic_ + 0.5)
    Y_one = np.zeros((60, 2), dtype=int)
    Y_one[:, 0], Y_one[:10, 1] = 1, 1
    sampler.fit_resample(np.random.default_rng(0).random((60, 3)), Y_one)
    assert set(np.bincount(sampler.sample_indices_[60:], minlength=10).tolist()) == times


def test_mean_ir_falls_where_rare_labels_do_not_share_rows_with_frequent_ones() -> None:
    counts = [60, 30, 12, 6, 3]
    Y_apart = np.repeat(np.eye(5, dtype=int), counts, axis=0)
    X_apart = np.random.default_rng(0).random((len(Y_apart), 4))
    _, Y_new = MLSMOTE().fit_resample(X_apart, Y_apart)
    # MeanIR is 7.6: labels with 6 and 3 rows are doubled.
    assert counts_of(Y_new).tolist() == [60, 30, 12, 12, 6]
    assert mean_ir(Y_new) < mean_ir(Y_apart)


def test_frequent_labels_that_share_every_row_come_along() -> None:
    """A limit of the method: on strongly mixed labels the frequent ones gain as many rows."""
    Y_mixed = np.zeros((50, 3), dtype=int)
    Y_mixed[:, 0], Y_mixed[:10, 1], Y_mixed[10:15, 2] = 1, 1, 1
    _, Y_new = MLSMOTE().fit_resample(np.random.default_rng(0).random((50, 4)), Y_mixed)
    assert counts_of(Y_new).tolist() == [55, 10, 10]


def test_new_rows_are_canonical() -> None:
    X_new, Y_new = MLSMOTE().fit_resample(X, Y)
    for matrix in (X_new, Y_new):
        assert matrix.has_canonical_format
        assert (matrix.data != 0).all()


def search(X: np.ndarray, bags: list[list[int]], k: int, compiled: bool = True) -> np.ndarray:
    matrix = sparse.csr_matrix(X)
    start = np.cumsum([0, *map(len, bags)]).astype(np.int64)
    members = np.concatenate(bags).astype(np.int64)
    index = kernels.Index(
        np.empty(X.shape[1], np.int64),
        np.zeros(X.shape[1], np.int64),
        np.empty(matrix.nnz, np.int64),
        np.empty(matrix.nnz, np.float64),
    )
    out = np.full((len(members), k), kernels.NONE, np.int64)
    features = kernels.Csr(matrix.indptr, matrix.indices, matrix.data)
    kernel = kernels.nearest_in_bags if compiled else kernels.nearest_in_bags.py_func
    kernel(features, (X**2).sum(axis=1), start, members, index, out)
    assert not index.size.any()
    return out


@pytest.mark.parametrize("density", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("k", [1, 4, 5, 6])
def test_the_kernel_finds_what_brute_force_finds(density: float, k: int) -> None:
    rng = np.random.default_rng(k)
    # Whole numbers: distances are exact and there are ties.
    X = rng.integers(-3, 4, (30, 8)) * (rng.random((30, 8)) < density) * 1.0
    bags = [[3], [29, 4, 7, 1, 0, 12], list(range(10, 30)), [5, 6]]
    found = search(X, bags, k)
    np.testing.assert_array_equal(found, search(X, bags, k, compiled=False))
    slot = 0
    for bag in bags:
        for row in bag:
            others = [other for other in bag if other != row]
            others.sort(key=lambda other, row=row: ((X[row] - X[other]) ** 2).sum())
            wanted = (others + [kernels.NONE] * k)[:k]
            assert found[slot].tolist() == wanted
            slot += 1
