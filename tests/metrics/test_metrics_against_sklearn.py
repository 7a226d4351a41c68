from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from metric_samples import random_scores, random_sets, random_truth
from sklearn import metrics as theirs

from rmls import metrics as ours
from rmls.core.ranking import Ranking

SEEDS = range(3)


def both(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return random_truth(seed), random_sets(seed + 100)


@pytest.mark.parametrize("seed", SEEDS)
def test_hamming_loss_and_subset_accuracy_agree(seed: int) -> None:
    truth, predicted = both(seed)
    assert ours.hamming_loss(truth, predicted) == pytest.approx(
        theirs.hamming_loss(truth, predicted)
    )
    assert ours.subset_accuracy(truth, predicted) == theirs.accuracy_score(truth, predicted)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", ["f1", "precision", "recall"])
@pytest.mark.parametrize("average", ["samples", "micro", "macro"])
def test_precision_recall_and_f1_agree(seed: int, part: str, average: str) -> None:
    truth, predicted = both(seed)
    name = {"samples": "example"}.get(average, average)
    expected = getattr(theirs, f"{part}_score")(truth, predicted, average=average, zero_division=0)
    assert getattr(ours, f"{name}_{part}")(truth, predicted) == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_example_accuracy_agrees_with_jaccard(seed: int) -> None:
    truth, predicted = both(seed)
    expected = theirs.jaccard_score(truth, predicted, average="samples", zero_division=0)
    assert ours.example_accuracy(truth, predicted) == pytest.approx(expected)


def test_sample_weights_agree() -> None:
    truth, predicted = both(0)
    weights = np.random.default_rng(3).random(len(truth))
    options = {"average": "samples", "sample_weight": weights, "zero_division": 0}
    assert ours.example_f1(truth, predicted, sample_weight=weights) == pytest.approx(
        theirs.f1_score(truth, predicted, **options)
    )
    assert ours.hamming_loss(truth, predicted, sample_weight=weights) == pytest.approx(
        theirs.hamming_loss(truth, predicted, sample_weight=weights)
    )


@pytest.mark.parametrize("k", [1, 3, 12, 13, 14])
def test_ndcg_agrees(k: int) -> None:
    truth, scores = random_truth(), random_scores()
    assert ours.ndcg_at_k(truth, scores, k) == pytest.approx(theirs.ndcg_score(truth, scores, k=k))


def test_precision_at_1_agrees_with_top_k_accuracy() -> None:
    scores = random_scores()
    target = np.random.default_rng(6).integers(0, 13, size=len(scores))
    truth = np.eye(13, dtype=int)[target]
    for k in (1, 3):
        expected = theirs.top_k_accuracy_score(target, scores, k=k, labels=range(13))
        assert ours.recall_at_k(truth, scores, k) == pytest.approx(expected)


def test_only_occurring_agrees_with_a_list_of_labels() -> None:
    truth, predicted = both(0)
    occurring = np.flatnonzero(truth.sum(axis=0))
    for part in ("f1", "precision", "recall"):
        expected = getattr(theirs, f"{part}_score")(
            truth, predicted, average="macro", labels=occurring, zero_division=0
        )
        value = getattr(ours, f"macro_{part}")(truth, predicted, only_occurring=True)
        assert value == pytest.approx(expected)


WHOLE = {
    "coverage_error": theirs.coverage_error,
    "ranking_loss": theirs.label_ranking_loss,
    "label_ranking_average_precision": theirs.label_ranking_average_precision_score,
}
whole = pytest.mark.parametrize("name", WHOLE)


def tied_scores(seed: int) -> np.ndarray:
    """Scores of four values only: most labels are tied."""
    return np.random.default_rng(seed).integers(1, 5, size=(40, 13)).astype(float)


@whole
@pytest.mark.parametrize("scores_of", [random_scores, tied_scores])
@pytest.mark.parametrize("seed", SEEDS)
def test_metrics_of_whole_rankings_agree_also_with_ties(
    name: str, scores_of: Callable[[int], np.ndarray], seed: int
) -> None:
    truth, scores = random_truth(seed), scores_of(seed)
    truth[1] = 1
    weights = np.random.default_rng(seed).random(len(truth))
    # scikit-learn gives a row without true labels the best average precision.
    empty = 1.0 if name == "label_ranking_average_precision" else 0.0
    for options in ({}, {"sample_weight": weights}):
        found = getattr(ours, name)(truth, scores, empty=empty, **options)
        assert found == pytest.approx(WHOLE[name](truth, scores, **options))


@whole
@pytest.mark.parametrize("k", [1, 3, 12])
def test_labels_that_are_not_listed_are_tied_behind_all_others(name: str, k: int) -> None:
    truth, scores = random_truth(), random_scores()
    short = Ranking.from_dense(scores, k=k)
    behind = np.where(short.to_sets().toarray() > 0, scores, 0.0)
    expected = WHOLE[name](truth[:3], behind[:3])
    assert getattr(ours, name)(truth[:3], short[:3]) == pytest.approx(expected)


def test_one_error_is_the_share_of_rows_whose_best_label_is_wrong() -> None:
    truth, scores = random_truth(), random_scores()
    filled = truth.any(axis=1)
    wrong = truth[filled, scores[filled].argmax(axis=1)] == 0
    assert ours.one_error(truth[filled], scores[filled]) == wrong.mean()
    assert ours.one_error(truth[filled], scores[filled]) == pytest.approx(
        1 - ours.precision_at_k(truth[filled], scores[filled], 1)
    )
    assert ours.one_error(truth, scores, empty=1.0) == pytest.approx(
        1 - ours.precision_at_k(truth, scores, 1)
    )


@pytest.mark.parametrize("k", [1, 3, 13])
def test_ndcg_and_recall_of_a_group_are_those_of_its_labels_in_the_whole_ranking(k: int) -> None:
    truth, scores = random_truth(), random_scores()
    counts = truth.sum(axis=0) ** 3
    report = ours.evaluate(truth, ranking=scores, ks=[k], train_counts=counts)
    for position, name in enumerate(ours.GROUP_NAMES):
        only = truth * (ours.group_labels(counts) == position)
        rows = only.any(axis=1)
        if rows.any():
            expected = theirs.ndcg_score(only[rows], scores[rows], k=k)
            assert report[name][f"ndcg@{k}"] == pytest.approx(expected)
            best = Ranking.from_dense(scores[rows], k=k).to_sets().toarray()
            found = (best * only[rows]).sum(axis=1) / only[rows].sum(axis=1)
            assert report[name][f"recall@{k}"] == pytest.approx(found.mean())


def test_a_report_has_metrics_of_whole_rankings_where_all_labels_are_listed() -> None:
    truth, scores = random_truth(), random_scores()
    full = ours.evaluate(truth, ranking=scores)
    short = ours.evaluate(truth, ranking=Ranking.from_dense(scores, k=5))
    assert set(full.totals) - set(short.totals) == set(WHOLE)
    # Asked for by name, it is what a list of five labels can promise.
    asked = ours.evaluate(truth, ranking=Ranking.from_dense(scores, k=5), names="ranking_loss")
    assert asked["ranking_loss"] >= full["ranking_loss"]
