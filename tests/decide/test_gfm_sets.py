"""The maximiser against all sets under any joint distribution, and against independence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide import ExpectedF1, choose_f_sets, maximize_f


def all_sets(m: int) -> np.ndarray:
    return np.array(list(product([0, 1], repeat=m)))


def expected_f(truths: np.ndarray, chances: np.ndarray, guess: np.ndarray, empty: float) -> float:
    sizes = truths.sum(axis=1) + guess.sum()
    values = np.where(sizes > 0, 2 * (truths @ guess) / np.maximum(sizes, 1), empty)
    return float(chances @ values)


def joint_of(truths: np.ndarray, chances: np.ndarray) -> np.ndarray:
    m = truths.shape[1]
    joint = np.zeros((m, m))
    for truth, chance in zip(truths, chances, strict=True):
        for label in np.flatnonzero(truth):
            joint[label, truth.sum() - 1] += chance
    return joint


@pytest.mark.parametrize("empty", [0.0, 1.0])
@pytest.mark.parametrize("m", [1, 2, 4, 6])
@pytest.mark.parametrize("seed", range(5))
def test_the_set_is_the_best_of_all_whatever_the_dependence(
    m: int, seed: int, empty: float
) -> None:
    truths = all_sets(m)
    # Few truths carry most of the mass, so that labels depend strongly.
    chances = np.random.default_rng(seed).dirichlet(np.full(2**m, 0.1))
    labels, value = maximize_f(joint_of(truths, chances), empty=empty * chances[0])
    best = max(expected_f(truths, chances, guess, empty) for guess in truths)
    found = np.zeros(m, int)
    found[labels] = 1
    assert value == pytest.approx(best)
    assert expected_f(truths, chances, found, empty) == pytest.approx(best)


def test_by_hand_where_the_most_probable_labels_are_wrong() -> None:
    # {0} with 0.4, {1, 2} with 0.3 and {1, 3} with 0.3: label 1 is the most probable one (0.6).
    # {1} promises 0.6 * 2/3 = 0.4, {0, 1} 0.4 * 2/3 + 0.6 * 1/2 = 0.567, and {0, 1, 2}
    # 0.4 * 1/2 + 0.6 * 2/5 + 0.3 * 2/5 = 0.56.
    joint = np.array([[0.4, 0], [0, 0.6], [0, 0.3], [0, 0.3]])
    labels, value = maximize_f(joint)
    assert labels.tolist() == [0, 1]
    assert value == pytest.approx(0.4 * 2 / 3 + 0.6 / 2)


@pytest.mark.parametrize("seed", range(10))
def test_independent_labels_get_the_sets_of_the_rule_f1(seed: int) -> None:
    p = np.random.default_rng(seed).random(6) ** 2
    truths = all_sets(6)
    chances = np.where(truths, p, 1 - p).prod(axis=1)
    labels, _ = maximize_f(joint_of(truths, chances))
    wanted = ExpectedF1().select(Ranking.from_dense([p])).indices
    assert labels.tolist() == sorted(wanted.tolist())


def test_permuted_labels_have_a_permuted_set() -> None:
    rng = np.random.default_rng(0)
    truths = all_sets(5)
    joint = joint_of(truths, rng.dirichlet(np.full(32, 0.2)))
    order = rng.permutation(5)
    first, second = maximize_f(joint), maximize_f(joint[order])
    assert sorted(order[second[0]].tolist()) == first[0].tolist()
    assert first[1] == pytest.approx(second[1])


def test_many_rows_at_once_are_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    tables = [joint_of(all_sets(m), rng.dirichlet(np.full(2**m, 0.2))) for m in (3, 1, 4)]
    wide = np.vstack([np.pad(t, ((0, 0), (0, 4 - t.shape[1]))) for t in tables])
    chosen = choose_f_sets(np.array([0, 3, 4, 8]), wide, np.arange(1, 5))
    parts = np.split(chosen, [3, 4])
    for table, part in zip(tables, parts, strict=True):
        assert np.flatnonzero(part).tolist() == maximize_f(table)[0].tolist()


def test_nothing_possible_is_nothing_chosen() -> None:
    labels, value = maximize_f(np.zeros((3, 2)))
    assert labels.tolist() == []
    assert value == 0


@pytest.mark.parametrize(
    ("joint", "sizes", "named"),
    [
        ([0.1, 0.2], None, "joint must be 2-d"),
        ([[1.5]], None, "joint must hold probabilities"),
        ([[np.nan]], None, "joint must hold probabilities"),
        ([[0.5]], [1, 2], "sizes must be 1 positive"),
        ([[0.5]], [0], "sizes must be 1 positive"),
    ],
    ids=str,
)
def test_wrong_tables_are_refused_in_a_sentence(joint: object, sizes: object, named: str) -> None:
    with pytest.raises(InputError, match=named):
        maximize_f(joint, sizes)  # type: ignore[arg-type]
