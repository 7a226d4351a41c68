from __future__ import annotations

import numpy as np
import pytest
from metric_samples import random_scores, random_sets, random_truth
from sklearn import metrics as theirs

from rmls import metrics as ours

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
