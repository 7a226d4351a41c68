"""The streamed cardinality threshold against sorting everything at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmls.decide import CardinalityCount


def make_scores(seed: int, n: int = 40, m: int = 7, ties: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if ties:
        return rng.integers(0, 6, (n, m)).astype(np.float32)
    return rng.standard_normal((n, m)).astype(np.float32)


def stream(scores: np.ndarray, weights: np.ndarray, wanted: float, cuts: list[int]) -> float:
    counter = CardinalityCount(wanted)
    edges = sorted({0, len(scores), *cuts})
    for start, stop in pairwise(edges):
        counter.add(scores[start:stop], weights[start:stop])
    return counter.threshold()


def count(scores: np.ndarray, weights: np.ndarray, threshold: float) -> float:
    return float(weights @ (scores >= np.float32(threshold)).sum(axis=1))


def smallest_count_reaching(scores: np.ndarray, weights: np.ndarray, wanted: float) -> float:
    """By brute force: the least predicted labels, of all thresholds, that reach ``wanted``."""
    counts = [count(scores, weights, value) for value in np.unique(scores)]
    return min((c for c in counts if c >= wanted * (1 - 1e-9)), default=max(counts))


@given(
    seed=st.integers(0, 10**6),
    share=st.floats(0.01, 1.0),
    cuts=st.lists(st.integers(1, 39), max_size=5),
    weighted=st.sampled_from(["ones", "integers", "fractions"]),
    ties=st.booleans(),
)
def test_blocks_of_any_size_predict_what_brute_force_predicts(
    seed: int, share: float, cuts: list[int], weighted: str, ties: bool
) -> None:
    scores = make_scores(seed, ties=ties)
    rng = np.random.default_rng(seed)
    weights = {
        "ones": np.ones(40),
        "integers": rng.integers(1, 5, 40).astype(float),
        "fractions": rng.random(40) + 0.01,
    }[weighted]
    wanted = share * weights.sum() * 7
    threshold = stream(scores, weights, wanted, cuts)
    assert count(scores, weights, threshold) == pytest.approx(
        smallest_count_reaching(scores, weights, wanted)
    )


@given(
    seed=st.integers(0, 10**6),
    wanted=st.integers(1, 279),
    cuts=st.lists(st.integers(1, 39), max_size=5),
)
def test_rows_of_weight_one_give_one_threshold_for_all_blocks(
    seed: int, wanted: int, cuts: list[int]
) -> None:
    scores = make_scores(seed)
    ordered = np.sort(scores.ravel())[::-1].astype(np.float64)
    half_way = (ordered[wanted - 1] + ordered[wanted]) / 2
    found = stream(scores, np.ones(40), wanted, cuts)
    assert found == pytest.approx(half_way, rel=1e-9)


def test_weighted_rows_give_one_threshold_for_all_blocks() -> None:
    scores, weights = np.float32([[0.9, 0.8], [0.5, 0.1]]), np.ones(2)
    together, apart = (stream(scores, weights, 1.5, cuts) for cuts in ([], [1]))
    assert together == pytest.approx(apart, rel=1e-9)


def test_nothing_wanted_means_nothing_predicted() -> None:
    scores = make_scores(0)
    threshold = stream(scores, np.ones(40), 0.0, [10])
    assert count(scores, np.ones(40), threshold) == 0


def test_everything_wanted_means_everything_predicted() -> None:
    scores = make_scores(0)
    assert count(scores, np.ones(40), stream(scores, np.ones(40), 280.0, [10])) == 280


def test_no_scores_mean_nothing_predicted() -> None:
    assert CardinalityCount(3.0).threshold() == np.finfo(np.float32).max


def test_little_more_than_the_wanted_scores_is_kept() -> None:
    counter = CardinalityCount(50.0)
    for seed in range(20):
        counter.add(make_scores(seed), np.ones(40))
        assert len(counter._scores) <= 53
