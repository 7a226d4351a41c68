"""The slow, obvious versions: Python sets, one row at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_samples import random_scores, random_sets, random_truth

from rmls import metrics as ours
from rmls.core.ranking import Ranking

Rows = list[set[int]]


def as_sets(matrix: np.ndarray) -> Rows:
    return [set(np.flatnonzero(row)) for row in matrix]


def best(scores: np.ndarray, k: int) -> list[list[int]]:
    return [sorted(range(len(row)), key=lambda j: (-row[j], j))[:k] for row in scores]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def psp(true: Rows, lists: list[list[int]], k: int, weights: np.ndarray) -> float:
    gained = sum(weights[j] for y, row in zip(true, lists, strict=True) for j in row if j in y)
    attainable = sum(sum(sorted((weights[j] for j in y), reverse=True)[:k]) for y in true)
    return gained / attainable


@pytest.mark.parametrize("empty", [0.0, 0.5, 1.0])
def test_example_metrics_give_empty_rows_the_chosen_value(empty: float) -> None:
    truth, predicted = random_truth(), random_sets()
    pairs = list(zip(as_sets(truth), as_sets(predicted), strict=True))
    both = [len(y | p) == 0 for y, p in pairs]
    assert any(both)
    f1 = [2 * len(y & p) / (len(y) + len(p)) if y | p else empty for y, p in pairs]
    jaccard = [len(y & p) / len(y | p) if y | p else empty for y, p in pairs]
    precision = [len(y & p) / len(p) if p else (0.0 if y else empty) for y, p in pairs]
    recall = [len(y & p) / len(y) if y else (0.0 if p else empty) for y, p in pairs]
    assert ours.example_f1(truth, predicted, empty=empty) == pytest.approx(mean(f1))
    assert ours.example_accuracy(truth, predicted, empty=empty) == pytest.approx(mean(jaccard))
    assert ours.example_precision(truth, predicted, empty=empty) == pytest.approx(mean(precision))
    assert ours.example_recall(truth, predicted, empty=empty) == pytest.approx(mean(recall))


@pytest.mark.parametrize("k", [1, 3, 12, 13, 14])
def test_ranking_metrics_equal_the_row_by_row_version(k: int) -> None:
    truth, scores = random_truth(), random_scores()
    true, lists = as_sets(truth), best(scores, k)
    hits = [len(y & set(row)) for y, row in zip(true, lists, strict=True)]
    found = {j for y, row in zip(true, lists, strict=True) for j in row if j in y}
    recall = [h / len(y) if y else 0.25 for h, y in zip(hits, true, strict=True)]
    propensity = ours.propensities(truth.sum(axis=0), 500)
    assert ours.precision_at_k(truth, scores, k) == pytest.approx(mean([h / k for h in hits]))
    assert ours.recall_at_k(truth, scores, k, empty=0.25) == pytest.approx(mean(recall))
    assert ours.coverage_at_k(truth, scores, k) == pytest.approx(len(found) / len(set.union(*true)))
    assert ours.psp_at_k(truth, scores, k, propensity=propensity) == pytest.approx(
        psp(true, lists, k, 1 / propensity)
    )


@pytest.mark.parametrize("k", [1, 3, 13])
def test_macro_at_k_equals_macro_of_the_best_k_sets(k: int) -> None:
    truth, scores = random_truth(), random_scores()
    sets = np.zeros_like(truth)
    for row, labels in enumerate(best(scores, k)):
        sets[row, labels] = 1
    for part in ("precision", "recall", "f1"):
        at_k = getattr(ours, f"macro_{part}_at_k")(truth, scores, k)
        assert at_k == getattr(ours, f"macro_{part}")(truth, sets)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sets(st.integers(0, 5)), min_size=2, max_size=2), min_size=1, max_size=6),
    st.integers(1, 7),
)
def test_short_rankings_count_missing_slots_as_wrong(rows: list[list[set[int]]], k: int) -> None:
    truth = np.array([[int(j in y) for j in range(6)] for y, _ in rows])
    lists = [sorted(ranked) for _, ranked in rows]
    labels = np.array([j for row in lists for j in row], dtype=np.int32)
    indptr = np.cumsum([0, *map(len, lists)])
    ranking = Ranking(indptr, labels, -labels.astype(np.float32), 6)
    hits = [[j in y for j in row[:k]] for (y, _), row in zip(rows, lists, strict=True)]
    gains = [sum(h / math.log2(r + 2) for r, h in enumerate(row)) for row in hits]
    ideal = [sum(1 / math.log2(r + 2) for r in range(min(k, len(y)))) for y, _ in rows]
    ndcg = [g / i if i else 0.0 for g, i in zip(gains, ideal, strict=True)]
    assert ours.precision_at_k(truth, ranking, k) == pytest.approx(mean([sum(h) / k for h in hits]))
    assert ours.ndcg_at_k(truth, ranking, k) == pytest.approx(mean(ndcg))


def test_propensity_follows_the_published_formula() -> None:
    n, a, b = 12_345, 0.6, 2.6
    c = (math.log(n) - 1) * (b + 1) ** a
    expected = [1 / (1 + c * math.exp(-a * math.log(count + b))) for count in (0, 1, 50, 12_345)]
    assert ours.propensities([0, 1, 50, 12_345], n, a, b) == pytest.approx(expected)


def test_propensity_grows_with_the_count_and_stays_in_range() -> None:
    for n in (1, 2, 3, 10**6):
        values = ours.propensities(np.arange(100), n)
        assert (np.diff(values) >= 0).all()
        assert values.min() > 0
        assert values.max() <= 1


def test_psp_with_equal_propensities_orders_rankings_like_precision() -> None:
    truth = np.stack([np.roll([1, 1, 0, 0], s) for s in range(4)])
    scores = random_scores(n_samples=4, n_labels=4)
    flat = ours.psp_at_k(truth, scores, 2, propensity=np.full(4, 0.5))
    assert flat == pytest.approx(ours.precision_at_k(truth, scores, 2))
