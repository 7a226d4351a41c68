"""Keyed draws of irrelevant labels."""

import numpy as np
import pytest
from scipy import stats

from rmls.kernels.cpu.sgd.draw import draw_irrelevant, mix


def draw(key, count, relevant, n_labels):
    out = np.full(n_labels, -1, np.int32)
    seen = np.zeros(n_labels, np.int64)
    relevant = np.asarray(relevant, np.int32)
    drawn = draw_irrelevant(np.uint64(key), count, relevant, seen, 1, out)
    return out[:drawn]


@pytest.mark.parametrize("count", [0, 1, 3, 8, 15, 16, 17])
def test_draws_are_distinct_and_never_relevant(count):
    relevant = [0, 7, 11, 19]
    for key in range(300):
        labels = draw(key, count, relevant, 20)
        assert len(labels) == min(count, 16)
        assert len(set(labels.tolist())) == len(labels)
        assert not set(labels.tolist()) & set(relevant)
        assert ((labels >= 0) & (labels < 20)).all()


def test_wanting_more_than_there_are_takes_every_irrelevant_label():
    assert draw(5, 99, [1, 2], 6).tolist() == [0, 3, 4, 5]


def test_a_row_with_every_label_draws_nothing():
    assert len(draw(5, 10, range(6), 6)) == 0


@pytest.mark.parametrize(("count", "n_labels"), [(3, 40), (20, 40), (30, 40)])
def test_draws_are_uniform_over_the_irrelevant_labels(count, n_labels):
    relevant = [4, 31]
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**63, size=4000)
    tallies = np.zeros(n_labels, int)
    for key in keys:
        tallies[draw(key, count, relevant, n_labels)] += 1
    irrelevant = np.delete(tallies, relevant)
    expected = len(keys) * min(count, 38) / 38
    share = min(count, 38) / 38
    # Draws within a row are without replacement, which shrinks the variance by (1 - share).
    statistic = ((irrelevant - expected) ** 2 / (expected * (1 - share))).sum() * 37 / 38
    assert tallies[relevant].sum() == 0
    assert 1e-4 < stats.chi2.sf(statistic, df=37) < 1 - 1e-4


def test_the_same_key_gives_the_same_labels_and_another_key_others():
    first, again, other = draw(1, 10, [3], 1000), draw(1, 10, [3], 1000), draw(2, 10, [3], 1000)
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_the_python_body_agrees_with_the_compiled_one():
    with np.errstate(over="ignore"):
        assert mix.py_func(np.uint64(12345)) == mix(np.uint64(12345))
