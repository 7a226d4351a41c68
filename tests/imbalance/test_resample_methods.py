"""Each resampler against an example worked out by hand, a slow reference and its own claims."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resample_samples import (
    counts_of,
    make_problem,
    ratios_of,
    reference_lp_changes,
    reference_mlros,
    reference_mlrus_turns,
    sets_of,
)
from scipy import sparse

from rmls.imbalance import LPROS, LPRUS, MLROS, MLRUS, REMEDIAL, cvir, mean_ir, scumble
from rmls.imbalance.label_sets import group_by_set, share_out
from rmls.imbalance.minority import find_sides
from rmls.kernels.cpu.imbalance import round_robin as kernels

X, Y = make_problem()
SETS = sets_of(Y)
TIMES = 300


def numbered(Y: Any) -> np.ndarray:
    """Features that tell the rows apart."""
    return np.arange(float(np.shape(Y)[0]))[:, None]


@st.composite
def problems(draw: st.DrawFn) -> sparse.csr_matrix:
    n_samples, n_labels = draw(st.integers(3, 25)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    shares = rng.random(n_labels) ** draw(st.integers(1, 4))
    Y = (rng.random((n_samples, n_labels)) < shares).astype(np.int32)
    Y[0, 0] = 1
    return sparse.csr_matrix(Y)


# -- ML-ROS --------------------------------------------------------------------------------------

# a is in 12 rows, b in 6, c in 2, d in 1: IRLbl 1, 2, 6, 12; MeanIR 5.25; c and d are rare.
BY_HAND = [{0}] * 6 + [{0, 1}] * 6 + [{2}, {2}, {3}]
Y_HAND = np.array([[label in row for label in range(4)] for row in BY_HAND], dtype=int)


def test_mlros_by_hand() -> None:
    # d has the first turn: row 14 is its only one. Then d has 2: IRLbl 6, d stays.
    # c's turn: row 12 or 13, and c has 3: IRLbl 4, c leaves. d again: d has 3: IRLbl 4, d leaves.
    # That is all, though half of the rows would be 8.
    sampler = MLROS(0.5)
    _, Y_new = sampler.fit_resample(numbered(Y_HAND), Y_HAND)
    clones = sampler.sample_indices_[15:].tolist()
    assert clones[0] == clones[2] == 14
    assert clones[1] in (12, 13)
    assert len(clones) == 3
    assert counts_of(Y_new).tolist() == [12, 6, 3, 3]
    two = MLROS(2 / 15)
    two.fit_resample(numbered(Y_HAND), Y_HAND)
    assert two.sample_indices_[15:].tolist() == clones[:2]


def test_mlros_skips_a_label_that_clones_of_others_were_enough_for() -> None:
    # The same counts, but d shares its row with c: after d's turn c has 3 rows, IRLbl 4, and leaves
    # without a turn; d has another one.
    rows = [{0}] * 6 + [{0, 1}] * 6 + [{2}, {2, 3}]
    Y_shared = np.array([[label in row for label in range(4)] for row in rows], dtype=int)
    sampler = MLROS(0.5)
    _, Y_new = sampler.fit_resample(numbered(Y_shared), Y_shared)
    assert sampler.sample_indices_[14:].tolist() == [13, 13]
    assert counts_of(Y_new).tolist() == [12, 6, 4, 3]


def test_mlros_draws_every_row_of_a_bag() -> None:
    drawn = set()
    for seed in range(20):
        sampler = MLROS(0.5, random_state=seed)
        sampler.fit_resample(numbered(Y_HAND), Y_HAND)
        drawn.add(int(sampler.sample_indices_[16]))
    assert drawn == {12, 13}


@given(Y=problems(), share=st.sampled_from([0.1, 0.3, 1.0, 3.0]), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_mlros_clones_follow_the_definition_step_by_step(
    Y: sparse.csr_matrix, share: float, seed: int
) -> None:
    """Replay the clones: each is a row of a label whose turn it is."""
    sampler = MLROS(share, random_state=seed)
    sampler.fit_resample(numbered(Y), Y)
    sets, clones = sets_of(Y), sampler.sample_indices_[Y.shape[0] :].tolist()
    ratios, mean = ratios_of(sets)
    active = sorted((label for label in ratios if ratios[label] > mean), key=lambda j: -ratios[j])
    target, done = int(share * len(sets) + 0.5), 0
    while active and done < target:
        # Labels that are equally frequent may take turns in any order: the replay ends there.
        waiting, left = list(active), []
        while waiting and done < target:
            tied = [j for j in waiting if ratios[j] == ratios[waiting[0]]]
            now = ratios_of(sets)[0]
            if len(tied) == 1 and now[tied[0]] <= mean:
                waiting.remove(tied[0])
                continue
            if len(tied) > 1:
                return
            row = sets[clones[done]]
            assert tied[0] in row
            done += 1
            sets.append(row)
            waiting.remove(tied[0])
            if ratios_of(sets)[0][tied[0]] > mean:
                left.append(tied[0])
        active = [label for label in active if label in left]
    assert done == len(clones)


def test_mlros_has_the_statistics_of_the_reference() -> None:
    ours, theirs = [], []
    for seed in range(TIMES):
        _, Y_new = MLROS(0.3, random_state=seed).fit_resample(X, Y)
        ours.append([*counts_of(Y_new), mean_ir(Y_new), cvir(Y_new), Y_new.shape[0]])
        if seed < 25:
            rows = [*range(len(SETS)), *reference_mlros(SETS, 0.3, random.Random(seed))]
            theirs.append([*counts_of(Y[rows]), mean_ir(Y[rows]), cvir(Y[rows]), len(rows)])
    assert_alike(np.array(ours), np.array(theirs))


def assert_alike(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Means of both samples within four standard errors."""
    error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
    difference = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    assert (difference <= 4 * error + 1e-9).all(), difference / (error + 1e-9)


@given(Y=problems(), share=st.sampled_from([0.2, 1.0]))
def test_mlros_lowers_the_ratio_of_minority_labels_and_adds_no_more_than_asked(
    Y: sparse.csr_matrix, share: float
) -> None:
    sampler = MLROS(share)
    _, Y_new = sampler.fit_resample(numbered(Y), Y)
    minority = find_sides(Y).minority
    clones = sampler.sample_indices_[Y.shape[0] :]
    assert len(clones) <= int(share * Y.shape[0] + 0.5)
    assert (counts_of(Y_new) >= counts_of(Y)).all()
    if len(clones):
        assert (Y[clones][:, minority].sum(axis=1) > 0).all()
    elif int(share * Y.shape[0] + 0.5):
        assert not minority.any()


def test_mlros_lowers_mean_ir_and_cvir() -> None:
    _, Y_new = MLROS().fit_resample(X, Y)
    assert mean_ir(Y_new) < mean_ir(Y)
    assert cvir(Y_new) < cvir(Y)
    minority = find_sides(Y).minority
    assert (counts_of(Y_new)[minority] > counts_of(Y)[minority]).all()


# -- ML-RUS --------------------------------------------------------------------------------------


def test_mlrus_by_hand() -> None:
    # Rows 12 to 14 hold the rare labels and stay; a quarter of 15 rows is 3.75, rounded to 4.
    sampler = MLRUS()
    _, Y_new = sampler.fit_resample(numbered(Y_HAND), Y_HAND)
    assert len(Y_new) == 11
    assert sampler.sample_indices_[-3:].tolist() == [12, 13, 14]
    _, Y_new = MLRUS(0.99).fit_resample(numbered(Y_HAND), Y_HAND)
    assert Y_new.tolist() == Y_HAND[12:].tolist()


def test_mlrus_in_turns_by_hand() -> None:
    # a's turn, then b's, and so on: b's rows all have a. After 2 rounds a has at most 10, b 4 or 3.
    sampler = MLRUS(4 / 15, draw="labels")
    sampler.fit_resample(numbered(Y_HAND), Y_HAND)
    deleted = sorted(set(range(15)) - set(sampler.sample_indices_.tolist()))
    assert len(deleted) == 4
    assert len([row for row in deleted if row >= 6]) >= 2
    assert max(deleted) < 12


def test_mlrus_in_turns_leaves_a_label_at_the_mean() -> None:
    # a 20, b 5, c 1: IRLbl 1, 4, 20; MeanIR 8.33. Each round takes one row of a and one of b.
    # After 3 rounds: a 17, b 2, IRLbl 8.5: b leaves, and only rows of a go.
    rows = [{0}] * 20 + [{1}] * 5 + [{2}]
    Y_turns = np.array([[label in row for label in range(3)] for row in rows], dtype=int)
    _, Y_new = MLRUS(0.5, draw="labels").fit_resample(numbered(Y_turns), Y_turns)
    assert counts_of(Y_new).tolist() == [10, 2, 1]


def test_mlrus_in_turns_has_the_statistics_of_the_reference() -> None:
    ours, theirs = [], []
    for seed in range(TIMES):
        _, Y_new = MLRUS(0.1, draw="labels", random_state=seed).fit_resample(X, Y)
        ours.append([*counts_of(Y_new), mean_ir(Y_new), cvir(Y_new), Y_new.shape[0]])
        if seed < 40:
            gone = reference_mlrus_turns(SETS, 0.1, random.Random(seed))
            Y_left = Y[[row for row in range(len(SETS)) if row not in gone]]
            theirs.append([*counts_of(Y_left), mean_ir(Y_left), cvir(Y_left), Y_left.shape[0]])
    assert_alike(np.array(ours), np.array(theirs))


def test_mlrus_has_the_statistics_of_a_draw_without_replacement() -> None:
    minority = find_sides(Y).minority
    free = (Y[:, minority].sum(axis=1).A1 == 0) & (np.diff(Y.indptr) > 0)
    drawn = np.zeros(len(SETS))
    for seed in range(TIMES):
        sampler = MLRUS(0.1, random_state=seed)
        sampler.fit_resample(X, Y)
        drawn += ~np.isin(np.arange(len(SETS)), sampler.sample_indices_)
    assert not drawn[~free].any()
    rate = 30 / free.sum()
    assert np.abs(drawn[free] / TIMES - rate).max() < 5 * np.sqrt(rate * (1 - rate) / TIMES)


@given(
    Y=problems(),
    share=st.sampled_from([0.1, 0.5, 0.9]),
    draw=st.sampled_from(["rows", "labels"]),
)
def test_mlrus_never_deletes_a_row_with_a_minority_label(
    Y: sparse.csr_matrix, share: float, draw: str
) -> None:
    sampler = MLRUS(share, draw=draw)
    _, Y_new = sampler.fit_resample(numbered(Y), Y)
    minority = find_sides(Y).minority
    assert (counts_of(Y_new)[minority] == counts_of(Y)[minority]).all()
    assert Y.shape[0] - Y_new.shape[0] <= int(share * Y.shape[0] + 0.5)


def test_mlrus_lowers_mean_ir() -> None:
    _, Y_new = MLRUS().fit_resample(X, Y)
    assert mean_ir(Y_new) < mean_ir(Y)


def test_the_compiled_turns_are_the_python_ones() -> None:
    by_label, sides = Y.tocsc(), find_sides(Y)
    of_row = kernels.Rows(Y.indptr, Y.indices)
    rare, frequent = (
        kernels.Bags(chosen, part.indptr, part.indices)
        for chosen in (np.flatnonzero(sides.minority), np.flatnonzero(sides.majority))
        for part in [by_label[:, chosen]]
    )
    draws, found = np.random.default_rng(0).random(50), []
    for kernel in (kernels.clone_round_robin, kernels.clone_round_robin.py_func):
        out, counts = np.zeros(50, np.int64), counts_of(Y)
        done = kernel(of_row, rare, counts, sides.mean_ir, draws, out)
        found.append([done, *out[:done], *counts])
    assert found[0] == found[1]
    found = []
    for kernel in (kernels.delete_round_robin, kernels.delete_round_robin.py_func):
        deleted, counts = np.zeros(Y.shape[0], bool), counts_of(Y)
        done = kernel(of_row, frequent, counts, sides.mean_ir, 60, deleted)
        found.append([done, *deleted, *counts])
        assert counts.tolist() == counts_of(Y[~deleted]).tolist()
    assert found[0] == found[1]


# -- LP-ROS and LP-RUS ---------------------------------------------------------------------------

# Label sets {0}: 10 rows, {1}: 3, {0, 1}: 2, {2}: 1; the mean is 4.
SET_ROWS = [{0}] * 10 + [{1}] * 3 + [{0, 1}] * 2 + [{2}] + [set()]
Y_SETS = np.array([[label in row for label in range(3)] for row in SET_ROWS], dtype=int)


def size_of(Y: Any) -> dict[frozenset[int], int]:
    sets = sets_of(Y)
    return {labels: sets.count(labels) for labels in set(sets)}


def test_lpros_by_hand() -> None:
    # 6 rows to add, 2 for each of 3 sets: {1} has room for 1; 5 are left for 2 sets, 2 for {0, 1},
    # which has room for 2; 3 for {2}, which has room for 3.
    _, Y_new = LPROS(6 / 17).fit_resample(numbered(Y_SETS), Y_SETS)
    wanted = {
        frozenset({0}): 10,
        frozenset({1}): 4,
        frozenset({0, 1}): 4,
        frozenset({2}): 4,
        frozenset(): 1,
    }
    assert size_of(Y_new) == wanted
    _, Y_new = LPROS(5.0).fit_resample(numbered(Y_SETS), Y_SETS)
    assert size_of(Y_new) == wanted
    _, Y_new = LPROS(2 / 17).fit_resample(numbered(Y_SETS), Y_SETS)
    assert size_of(Y_new) == wanted | {frozenset({1}): 3, frozenset({0, 1}): 3, frozenset({2}): 2}


def test_lprus_by_hand() -> None:
    for share, left in ((0.2, 7), (0.9, 4)):
        _, Y_new = LPRUS(share).fit_resample(numbered(Y_SETS), Y_SETS)
        assert size_of(Y_new) == size_of(Y_SETS) | {frozenset({0}): left}


@given(Y=problems(), share=st.sampled_from([0.1, 0.4, 0.9]), over=st.booleans())
def test_lp_changes_are_those_of_the_reference(
    Y: sparse.csr_matrix, share: float, over: bool
) -> None:
    method = LPROS if over else LPRUS
    _, Y_new = method(share).fit_resample(numbered(Y), Y)
    before, after = size_of(Y), size_of(Y_new)
    wanted = reference_lp_changes(sets_of(Y), share, over)
    found = {labels: abs(after[labels] - before[labels]) for labels in before}
    # Sets of the same size may change places.
    by_size = {
        size: sorted(wanted.get(s, 0) for s in before if before[s] == size and s)
        for size in before.values()
    }
    for size, changes in by_size.items():
        assert changes == sorted(found[s] for s in before if before[s] == size and s)
    assert found.get(frozenset(), 0) == 0
    assert set(after) == set(before)


def test_sets_of_the_same_size_take_turns_by_chance() -> None:
    Y_single = np.vstack([np.tile([1, 0, 0, 0, 0, 0], (14, 1)), np.eye(6, dtype=int)[1:]])
    grown = set()
    for seed in range(30):
        sampler = LPROS(1 / 19, random_state=seed)
        sampler.fit_resample(numbered(Y_single), Y_single)
        grown.add(int(sampler.sample_indices_[-1]))
    assert grown == set(range(14, 19))


def test_no_label_set_shrinks_below_the_mean_and_none_grows_above_it() -> None:
    bags = group_by_set(Y, np.random.default_rng(0))
    mean = np.mean([len(bag) for bag in bags])
    before = size_of(Y)
    assert mean > 1
    for method in (LPROS(9.0), LPRUS(0.9)):
        after = size_of(method.fit_resample(X, Y)[1])
        for labels in before:
            if labels:
                low, high = sorted((before[labels], after[labels]))
                assert low == high or (np.floor(mean) <= high and low <= np.ceil(mean))
                assert after[labels] >= min(before[labels], np.floor(mean))
                assert after[labels] <= max(before[labels], np.ceil(mean))


@pytest.mark.parametrize("target", [0, 1, 5, 17, 100])
def test_shares_never_exceed_room_or_target(target: int) -> None:
    room = np.random.default_rng(target).integers(0, 9, 7)
    given_rows = share_out(target, np.sort(room))
    assert (given_rows <= np.sort(room)).all()
    assert given_rows.sum() == min(target, room.sum())


# -- REMEDIAL ------------------------------------------------------------------------------------


def test_remedial_by_hand() -> None:
    # IRLbl 1, 2, 6, 12 and MeanIR 5.25 once more, but now row 12 also has a (13 rows: 1, 13/6, 6.5,
    # 13; MeanIR 5.67). SCUMBLE: {0, 1} 0.07, {0, 2} 0.32, {2, 3} 0.06; mean 0.06.
    rows = [{0}] * 6 + [{0, 1}] * 6 + [{0, 2}, {2, 3}]
    Y_mixed = np.array([[label in row for label in range(4)] for row in rows], dtype=int)
    sampler = REMEDIAL(empty_copies=False)
    _, Y_new = sampler.fit_resample(numbered(Y_mixed), Y_mixed)
    # Rows {0, 1} hold only frequent labels and row {2, 3} only rare ones: they stay.
    assert sampler.sample_indices_[14:].tolist() == [12]
    assert sets_of(Y_new)[12:] == [{0}, {2, 3}, {2}]
    assert sets_of(Y_new)[:12] == sets_of(Y_mixed)[:12]
    # The authors' code splits all of them.
    sampler = REMEDIAL()
    _, Y_new = sampler.fit_resample(numbered(Y_mixed), Y_mixed)
    found = sets_of(Y_new)
    copies = dict(zip(sampler.sample_indices_[14:].tolist(), found[14:], strict=True))
    assert found[6:14] == [*[{0, 1}] * 6, {0}, set()]
    assert copies == {**{row: set() for row in range(6, 12)}, 12: {2}, 13: {2, 3}}


@given(Y=problems(), threshold=st.sampled_from(["mean", 0.0, 0.2]), empty_copies=st.booleans())
def test_remedial_keeps_the_counts_and_splits_what_the_definition_says(
    Y: sparse.csr_matrix, threshold: Any, empty_copies: bool
) -> None:
    sampler = REMEDIAL(threshold, empty_copies=empty_copies)
    _, Y_new = sampler.fit_resample(numbered(Y), Y)
    assert counts_of(Y_new).tolist() == counts_of(Y).tolist()
    sets = sets_of(Y)
    ratios, mean = ratios_of(sets)
    scores = []
    for labels in sets:
        values = [ratios[label] for label in labels]
        scores.append(1 - np.prod(values) ** (1 / len(values)) / np.mean(values) if values else 0.0)
    level = np.mean(scores) if threshold == "mean" else threshold
    rare = {label for label in ratios if ratios[label] > mean}
    split = [
        row
        for row, labels in enumerate(sets)
        if scores[row] > level + 1e-12 and (empty_copies or (labels & rare and labels - rare))
    ]
    assert sorted(sampler.sample_indices_[len(sets) :].tolist()) == split
    found = sets_of(Y_new)
    for row, labels in enumerate(sets):
        assert found[row] == (labels - rare if row in split else labels)
    for row, labels in zip(sampler.sample_indices_[len(sets) :], found[len(sets) :], strict=True):
        assert labels == sets[row] & rare


@pytest.mark.parametrize("frequent", [4, 6, 13, 16, 18, 30])
def test_remedial_leaves_a_row_at_the_threshold(frequent: int) -> None:
    # Labels of 4 rows and of 1: 1 - sqrt(4) / 2.5 = 0.2, often a little more by rounding.
    rows = [{1, 2}, {1}, {1}, {1}, *[{0}] * frequent]
    Y_mixed = np.array([[label in row for label in range(3)] for row in rows], dtype=int)
    for threshold, split in ((0.2, []), (0.199, [0])):
        sampler = REMEDIAL(threshold)
        sampler.fit_resample(numbered(Y_mixed), Y_mixed)
        assert sampler.sample_indices_[len(rows) :].tolist() == split


def test_remedial_lowers_scumble_and_keeps_mean_ir() -> None:
    _, Y_new = REMEDIAL().fit_resample(X, Y)
    assert scumble(Y_new) < 0.8 * scumble(Y)
    assert mean_ir(Y_new) == mean_ir(Y)
    assert Y_new.nnz == Y.nnz
