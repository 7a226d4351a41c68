"""Figures with intervals: equal to `evaluate`, covering, and paired with a baseline."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rmls import evaluate
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_label_csr
from rmls.review.baseline import predict_baseline
from rmls.review.quality import GROUPS, METRICS, Prediction, Quality, measure_quality

N_LABELS = 30


def sample(n_rows: int, seed: int) -> tuple[sparse.csr_matrix, Prediction, np.ndarray]:
    """Rows of unequal labels, and a method that finds each with a chance of its own."""
    generator = np.random.default_rng(seed)
    frequency = 0.5 / np.arange(1, N_LABELS + 1)
    Y = generator.random((n_rows, N_LABELS)) < frequency
    scores = generator.normal(size=Y.shape) + np.linspace(3, 1, N_LABELS) * Y
    counts = np.maximum(1, np.round(1000 * frequency)).astype(np.int64)
    sets = as_label_csr(scores > 2)
    return as_label_csr(Y), Prediction("model", Ranking.from_dense(scores), sets), counts


def measure(n_rows: int, seed: int) -> Quality:
    Y, prediction, counts = sample(n_rows, seed)
    return measure_quality(Y, [prediction], counts, 1000, seed)


def test_figures_are_those_of_evaluate() -> None:
    Y, prediction, counts = sample(400, 0)
    found = measure_quality(Y, [prediction], counts, 1000).values
    report = evaluate(
        Y, prediction.sets, prediction.ranking, train_counts=counts, n_train=1000, ks=(1, 5)
    )
    names = {
        "P@1": "precision@1",
        "P@5": "precision@5",
        "PSP@5": "psp@5",
        "example F": "example_f1",
    }
    for short, name in names.items():
        for group in GROUPS:
            values = report.totals if group == "all" else report.groups[group]
            assert found["model", short, group].value == pytest.approx(values[name])
    # All labels occur: the mean over those that do is that over all.
    assert found["model", "macro F", "all"].value == pytest.approx(report["macro_f1"])


def test_intervals_hold_their_figure_and_shrink_with_the_rows() -> None:
    few, many = measure(100, 1).values, measure(6400, 1).values
    for key, found in few.items():
        assert found.low <= found.value <= found.high
        # Eight times narrower by the square root; macro F of rare labels is not as regular.
        assert many[key].high - many[key].low < (found.high - found.low) / 2


def test_intervals_cover_the_figure_of_all_rows() -> None:
    truth = measure(40_000, 99).values
    found = [measure(500, seed).values for seed in range(60)]
    for metric in METRICS:
        key = ("model", metric, "all")
        covered = sum(each[key].low <= truth[key].value <= each[key].high for each in found)
        # 57 of 60 are expected; fewer than 51 would come once in 500 times.
        assert covered >= 51, metric


def test_a_method_against_itself_differs_by_nothing() -> None:
    Y, prediction, counts = sample(200, 3)
    twin = Prediction("twin", prediction.ranking, prediction.sets)
    found = measure_quality(Y, [prediction, twin], counts, 1000)
    assert all(each == (0, 0, 0) for each in found.differences.values())


def test_a_worse_method_is_told_apart_by_paired_rows() -> None:
    Y, prediction, counts = sample(1000, 4)
    noise = np.random.default_rng(0).random(Y.shape)
    other = Prediction("other", Ranking.from_dense(noise), as_label_csr(noise > 0.9))
    found = measure_quality(Y, [prediction, other], counts, 1000)
    assert found.differences["P@5", "all"].low > 0


@pytest.mark.parametrize("n_rows", [1, 2])
def test_one_row_is_enough(n_rows: int) -> None:
    found = measure(n_rows, 0)
    assert found.n_rows == n_rows


@pytest.mark.parametrize("kind", ["svm", "knn", "auto"])
def test_a_baseline_learns_what_there_is_to_learn(kind: str) -> None:
    generator = np.random.default_rng(0)
    topic = generator.integers(6, size=400)
    X = sparse.csr_matrix(np.eye(6, dtype=np.float32)[topic])
    # The last label has no row, as one that only held-out rows have.
    Y = as_label_csr(np.eye(7)[topic])
    found = predict_baseline(X[:300], Y[:300], X[300:], kind)
    assert evaluate(Y[300:], found.sets, found.ranking)["p@1"] == 1.0
    assert found.sets.shape == (100, 7)
    assert (found.sets != Y[300:]).nnz == 0
