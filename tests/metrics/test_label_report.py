"""Figures of every label: against a loop over labels, and against the macro metrics."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from metric_samples import random_sets, random_truth
from scipy import sparse
from sklearn.metrics import precision_recall_fscore_support

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.metrics import group_labels, macro_f1, macro_precision, macro_recall, per_label

TRUTH = random_truth()
SETS = random_sets()
CHANCES = np.random.default_rng(5).random(TRUTH.shape)
COUNTS = np.arange(13) * 10


def test_figures_are_those_of_scikit_learn() -> None:
    report = per_label(TRUTH, SETS)
    wanted = precision_recall_fscore_support(TRUTH, SETS, zero_division=0)
    for found, expected in zip(
        (report.precision, report.recall, report.f1, report.test_rows), wanted, strict=True
    ):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(report.predicted, SETS.sum(axis=0))
    np.testing.assert_array_equal(report.correct, (SETS * TRUTH).sum(axis=0))
    np.testing.assert_allclose(report.gain, TRUTH.sum(axis=0) * (1 - report.f1))


def test_means_over_labels_are_the_macro_metrics() -> None:
    report = per_label(sparse.csr_matrix(TRUTH), sparse.csr_matrix(SETS))
    assert report.precision.mean() == pytest.approx(macro_precision(TRUTH, SETS))
    assert report.recall.mean() == pytest.approx(macro_recall(TRUTH, SETS))
    assert report.f1.mean() == pytest.approx(macro_f1(TRUTH, SETS))


def test_probability_and_share_are_over_the_listed_rows() -> None:
    report = per_label(TRUTH, SETS, probabilities=CHANCES)
    assert report.mean_probability is not None
    np.testing.assert_allclose(report.mean_probability, CHANCES.mean(axis=0))
    np.testing.assert_allclose(report.observed_share, TRUTH.mean(axis=0))
    ranking = Ranking.from_dense(CHANCES, 3)
    report = per_label(TRUTH, SETS, probabilities=ranking)
    listed = ranking.to_sets().toarray() == 1
    assert report.listed is not None
    assert report.listed.tolist() == listed.sum(axis=0).tolist()
    for label in range(13):
        rows = listed[:, label]
        chance, share = CHANCES[rows, label].mean(), TRUTH[rows, label].mean()
        assert report.mean_probability[label] == pytest.approx(chance, rel=1e-5)
        assert report.observed_share[label] == pytest.approx(share)


def test_the_worst_labels_come_first_and_occur() -> None:
    report = per_label(TRUTH, SETS, train_counts=COUNTS, names=[f"l{j}" for j in range(13)])
    worst = report.worst(4)
    assert worst.gain.tolist() == sorted(report.gain, reverse=True)[:4]
    by_f = report.worst(50, by="f1")
    occurring = np.flatnonzero(TRUTH.any(axis=0))
    assert sorted(by_f.label) == sorted(f"l{j}" for j in occurring)
    assert by_f.f1.tolist() == sorted(by_f.f1)
    places = [int(name[1:]) for name in by_f.label]
    assert by_f.train_rows is not None
    assert by_f.train_rows.tolist() == COUNTS[places].tolist()
    assert by_f.group == [("head", "torso", "tail")[g] for g in group_labels(COUNTS)[places]]


def test_equal_f_goes_to_the_label_with_more_rows() -> None:
    truth = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 0]])
    assert per_label(truth, np.zeros_like(truth)).worst(by="f1").label == [0, 1, 2]
    assert per_label(truth[:, ::-1], np.zeros_like(truth)).worst(by="f1").label == [2, 0, 1]


def test_what_is_not_defined_is_none_in_a_row() -> None:
    truth, sets = np.array([[1, 0, 0], [0, 0, 0]]), np.array([[0, 1, 0], [0, 0, 0]])
    rows = list(
        per_label(truth, sets, probabilities=sparse.csr_matrix([[0.5, 0, 0], [0, 0, 0]])).rows()
    )
    assert [row["precision"] for row in rows] == [None, 0.0, None]
    assert [row["recall"] for row in rows] == [0.0, None, None]
    assert [row["f1"] for row in rows] == [0.0, 0.0, None]
    assert [row["mean_probability"] for row in rows] == [0.5, None, None]
    assert [row["observed_share"] for row in rows] == [1.0, None, None]


def test_the_columns_make_a_frame() -> None:
    report = per_label(TRUTH, SETS, train_counts=COUNTS)
    frame = pd.DataFrame(report.as_dict())
    assert list(frame.columns) == report.columns
    assert len(frame) == len(report) == 13
    assert "mean_probability" not in frame
    assert repr(report).startswith("LabelReport of 13 labels: label, group, train_rows")


def test_wrong_input_is_told() -> None:
    with pytest.raises(InputError, match="2 names were given for 13 labels"):
        per_label(TRUTH, SETS, names=["a", "b"])
    with pytest.raises(InputError, match="by must be one of 'gain', 'f1'; got 'x'"):
        per_label(TRUTH, SETS).worst(by="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n must be a whole number"):
        per_label(TRUTH, SETS).worst(0)
    with pytest.raises(InputError, match="train_counts has shape"):
        per_label(TRUTH, SETS, train_counts=[1])


def test_thirty_thousand_labels_cost_what_their_entries_cost() -> None:
    m, n = 30_000, 2_000
    random = np.random.default_rng(0)

    def draw(per_row: int) -> sparse.csr_matrix:
        labels = np.sort(random.integers(0, m, (n, per_row)), axis=1).ravel()
        matrix = sparse.csr_matrix(
            (np.ones(n * per_row), labels, np.arange(0, n * per_row + 1, per_row)), (n, m)
        )
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix

    truth, sets, chances = draw(5), draw(5), draw(100)
    chances.data[:] = random.random(chances.nnz)
    # Processor time, and far above the quarter of a second that it takes: a loop over pairs would
    # need minutes.
    start = time.process_time()
    report = per_label(truth, sets, probabilities=chances, train_counts=np.ones(m))
    report.worst(20)
    assert time.process_time() - start < 5
