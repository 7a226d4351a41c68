"""Metrics of whole lists by group: true labels of other groups are neither true nor false."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from metric_samples import random_scores, random_truth

from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.core.ranking import Ranking
from rmls.metrics import METRICS, evaluate

M = 13
Labels = set[int]
Scores = dict[int, float]


def tied_scores(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 4, size=(40, M)).astype(float)


# -- the slow, obvious versions: one row, Python sets ---------------------------------------------


def at_least(score: float, among: Labels, listed: Scores) -> int:
    return sum(listed.get(label, 0.0) >= score for label in among)


def ranking_loss(own: Labels, false: Labels, listed: Scores) -> float | None:
    pairs = [(listed.get(t, 0.0), listed.get(f, 0.0)) for t in own for f in false]
    return float(np.mean([f >= t for t, f in pairs])) if pairs else 0.0


def coverage_error(own: Labels, false: Labels, listed: Scores) -> float | None:
    return float(max(at_least(listed.get(t, 0.0), own | false, listed) for t in own))


def average_precision(own: Labels, false: Labels, listed: Scores) -> float | None:
    scores = [listed.get(t, 0.0) for t in own]
    shares = [at_least(s, own, listed) / at_least(s, own | false, listed) for s in scores]
    return float(np.mean(shares))


def one_error(own: Labels, false: Labels, listed: Scores) -> float | None:
    left = [label for label in listed if label in own | false]
    if not left:
        return None if listed else 1.0
    return float(min(left, key=lambda label: (-listed[label], label)) not in own)


SLOW: dict[str, Callable[[Labels, Labels, Scores], float | None]] = {
    "one_error": one_error,
    "coverage_error": coverage_error,
    "ranking_loss": ranking_loss,
    "label_ranking_average_precision": average_precision,
}
each_metric = pytest.mark.parametrize("name", SLOW)


def by_hand(name: str, truth: np.ndarray, ranking: Ranking, group: Labels) -> float:
    values = []
    for row, y in enumerate(truth):
        true = set(np.flatnonzero(y))
        entries = slice(*ranking.indptr[[row, row + 1]])
        labels, scores = ranking.labels[entries].tolist(), ranking.scores[entries].tolist()
        if true & group:
            listed = dict(zip(labels, scores, strict=True))
            values.append(SLOW[name](true & group, set(range(M)) - true, listed))
    return float(np.mean([value for value in values if value is not None]))


@each_metric
@pytest.mark.parametrize("k", [1, 3, M - 1, M])
@pytest.mark.parametrize("scores_of", [random_scores, tied_scores])
@pytest.mark.parametrize("seed", range(3))
def test_groups_equal_the_row_by_row_version(
    name: str, k: int, scores_of: Callable[[int], np.ndarray], seed: int
) -> None:
    truth = random_truth(seed)
    truth[1] = 1
    counts = truth.sum(axis=0) ** 3
    ranking = Ranking.from_dense(scores_of(seed), k)
    report = evaluate(truth, ranking=ranking, names=[name], train_counts=counts)
    groups = group_labels(counts)
    for position, group in enumerate(GROUP_NAMES):
        expected = by_hand(name, truth, ranking, set(np.flatnonzero(groups == position)))
        assert report[group][name] == pytest.approx(expected)


# -- answers known by construction -----------------------------------------------------------------


@each_metric
def test_a_perfect_ranking_is_perfect_in_every_group(name: str) -> None:
    report = evaluate([[1, 1, 0]], ranking=[[0.9, 0.8, 0.1]], names=[name], train_counts=[90, 9, 1])
    best = 1.0 if METRICS[name].greater_is_better or name == "coverage_error" else 0.0
    assert report.groups == {"head": {name: best}, "torso": {}, "tail": {name: best}}


@each_metric
@pytest.mark.parametrize("k", [1, 2, 5, M])
def test_a_perfect_ranking_is_perfect_in_every_group_of_many_rows(name: str, k: int) -> None:
    truth = random_truth()
    counts = truth.sum(axis=0) ** 3
    # Of whole lists only; the first label is known also of lists that are cut.
    ranking = Ranking.from_dense(truth + random_scores() / 2, k if name == "one_error" else M)
    report = evaluate(truth, ranking=ranking, names=[name], train_counts=counts)
    for position, group in enumerate(GROUP_NAMES):
        sizes = truth[:, group_labels(counts) == position].sum(axis=1)
        best = {"coverage_error": sizes[sizes > 0].mean(), "label_ranking_average_precision": 1}
        assert report[group][name] == pytest.approx(best.get(name, 0.0))


def test_a_row_whose_list_ends_before_a_label_that_counts_has_no_first_label() -> None:
    truth, counts = [[1, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]], [90, 1, 1, 9]
    # The second row names a false label; the third one names nothing, which is wrong.
    lists = Ranking(np.array([0, 1, 2, 2]), np.int32([0, 1]), np.float32([0.9, 0.9]), n_labels=4)
    report = evaluate(truth, ranking=lists, names=["one_error"], train_counts=counts)
    assert report["tail"]["one_error"] == 1.0
    assert report["head"]["one_error"] == 0.5
    first = evaluate(truth[:1], ranking=lists[:1], names=["one_error"], train_counts=counts)
    assert "one_error" not in first["tail"]


def test_precision_recall_and_ndcg_keep_the_whole_ranking() -> None:
    report = evaluate(
        [[1, 1, 0]], ranking=[[0.9, 0.8, 0.1]], ks=[1], train_counts=[90, 9, 1], by_group=True
    )
    assert [report["tail"][f"{name}@1"] for name in ("precision", "recall", "ndcg")] == [0, 0, 0]
