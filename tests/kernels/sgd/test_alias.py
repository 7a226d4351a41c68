"""Alias tables, and the draws by shares that are made with them."""

import numpy as np
import pytest
from scipy import stats

from rmls.kernels.cpu.sgd.alias import (
    MAX_TRIES,
    build_alias,
    draw_distinct,
    draw_union,
    draw_weighted,
)

SHARES = {
    "equal": np.ones(7),
    "one label": np.ones(1),
    "a zero": np.array([0.2, 0.0, 0.8]),
    "all but one zero": np.array([0.0, 0.0, 3.0, 0.0]),
    "long tail": np.arange(1, 1001) ** -1.3,
    "not normalised": np.array([10.0, 30.0, 60.0]),
    "tiny": np.array([1e-12, 1.0, 1e-12]),
    "random": np.random.default_rng(0).random(501),
}
every_share = pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)


def implied(table):
    """Return the probability that a table gives to every label."""
    height = table[:, 0].astype(np.float64) / 2**32
    total = height.copy()
    np.add.at(total, table[:, 1], 1 - height)
    return total / len(table)


@every_share
def test_a_table_implies_the_shares_it_was_built_from(shares):
    table = build_alias(shares)
    np.testing.assert_allclose(implied(table), shares / shares.sum(), atol=1e-7)
    assert implied(table).sum() == pytest.approx(1)


def test_a_label_of_share_zero_is_never_drawn():
    table = build_alias(SHARES["all but one zero"])
    assert set(draw(draw_weighted, 1, 50, [], table).tolist()) == {2}


def draw(function, key, count, relevant, table):
    n_labels = len(table)
    seen, out = np.zeros(n_labels, np.int64), np.full(max(n_labels, count), -1, np.int32)
    relevant = np.asarray(relevant, np.int32)
    drawn = function(np.uint64(key), count, relevant, table, seen, 1, out)
    return out[:drawn]


LONG_TAIL = np.arange(1, 31) ** -1.0
RELEVANT = [0, 4, 17]


@pytest.mark.parametrize("shares", [LONG_TAIL, np.ones(30), LONG_TAIL**0.5 + 0.2], ids=len)
def test_draws_follow_the_shares_of_the_irrelevant_labels(shares):
    table = build_alias(shares)
    keys = np.random.default_rng(1).integers(0, 2**63, size=3000)
    drawn = np.concatenate([draw(draw_weighted, key, 8, RELEVANT, table) for key in keys])
    assert len(drawn) == 8 * len(keys)
    tallies = np.bincount(drawn, minlength=30)
    assert tallies[RELEVANT].sum() == 0
    expected = np.delete(shares, RELEVANT)
    expected *= len(drawn) / expected.sum()
    assert 1e-4 < stats.chisquare(np.delete(tallies, RELEVANT), expected).pvalue < 1 - 1e-4


@pytest.mark.parametrize("tries", [3, 20])
def test_distinct_draws_keep_a_label_with_one_less_the_chance_of_missing_it(tries):
    q = LONG_TAIL / LONG_TAIL.sum()
    table = build_alias(q)
    keys = np.random.default_rng(2).integers(0, 2**63, size=4000)
    tallies = np.zeros(30)
    for key in keys:
        labels = draw(draw_distinct, key, tries, RELEVANT, table)
        assert len(set(labels.tolist())) == len(labels) <= tries
        tallies[labels] += 1
    assert tallies[RELEVANT].sum() == 0
    rate = 1 - (1 - q) ** tries
    error = np.sqrt(rate * (1 - rate) * len(keys))
    z = np.delete((tallies - rate * len(keys)) / error, RELEVANT)
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("function", [draw_weighted, draw_distinct])
@pytest.mark.parametrize("relevant", [range(1, 20), range(19), range(20), []], ids=str)
def test_draws_end_whatever_the_relevant_labels_hold(function, relevant):
    # Label 0 holds nearly all of the shares; where it is relevant, few draws find another.
    shares = np.full(20, 1e-9)
    shares[0] = 1.0
    labels = draw(function, 3, 10, relevant, build_alias(shares))
    assert not set(labels.tolist()) & set(relevant)
    assert len(labels) <= 10
    if 0 not in relevant:
        assert set(labels.tolist()) == {0}


def test_a_row_with_all_but_one_label_draws_that_one():
    table = build_alias(np.ones(20))
    assert draw(draw_weighted, 3, 4, range(19), table).tolist() == [19] * 4
    assert draw(draw_distinct, 3, 20 * MAX_TRIES, range(19), table).tolist() == [19]


@pytest.mark.parametrize("function", [draw_weighted, draw_distinct])
def test_the_same_key_gives_the_same_labels_and_another_key_others(function):
    table = build_alias(np.ones(1000))
    first, again, other = (draw(function, key, 10, [3], table).tolist() for key in (1, 1, 2))
    assert first == again
    assert first != other


def test_one_label_that_is_irrelevant_is_drawn():
    assert draw(draw_weighted, 0, 3, [], build_alias(np.ones(1))).tolist() == [0, 0, 0]
    assert draw(draw_distinct, 0, 3, [], build_alias(np.ones(1))).tolist() == [0]


def test_the_compiled_table_is_that_of_the_python_body():
    shares = SHARES["random"]
    np.testing.assert_array_equal(build_alias.py_func(shares), build_alias(shares))


def test_a_union_holds_the_labels_of_that_many_draws_with_replacement():
    table = build_alias(LONG_TAIL)
    for key in range(200):
        drawn = draw(draw_weighted, key, 12, RELEVANT, table).tolist()
        # The same key gives the same draws; Algorithm 1 takes their union.
        assert draw(draw_union, key, 12, RELEVANT, table).tolist() == list(dict.fromkeys(drawn))


@pytest.mark.parametrize(("relevant", "found"), [([0, 1, 2], 0), ([], 3), ([1], 2)])
def test_a_union_of_many_draws_ends_with_all_irrelevant_labels(relevant, found):
    labels = draw(draw_union, 5, 10**6, relevant, build_alias(np.ones(3)))
    assert sorted(labels.tolist()) == [label for label in range(3) if label not in relevant]
    assert len(labels) == found
