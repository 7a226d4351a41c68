"""Lists of RMLSRanker that are as long as the labels need."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rmls
from rmls import RMLSRanker, make_longtail
from rmls.datasets import Dataset
from rmls.models.ranker import label_index, scoring

SHORT, LONG, N_LABELS = 4, 30, 80


@cache
def data() -> Dataset:
    return make_longtail(600, 300, N_LABELS, labels_per_row=3, noise=0.5, random_state=0)


@pytest.fixture(autouse=True)
def _small_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_index, "SHORT", SHORT)
    monkeypatch.setattr(label_index, "LONG", LONG)


def fit(**options: Any) -> RMLSRanker:
    settings: dict[str, Any] = {"n_components": 8, "max_iter": 3, "calibration_folds": 0}
    return RMLSRanker(**{**settings, **options}).fit(data().train.X, data().train.Y)


def test_lists_are_lengthened_where_they_miss_many_labels() -> None:
    short, model = fit(shortlist_size=SHORT), fit()
    assert short.shortlist_recall_ < scoring.ENOUGH_RECALL
    assert (short.shortlist_size_, model.shortlist_size_) == (SHORT, LONG)
    assert model.shortlist_recall_ > short.shortlist_recall_ + 0.1
    # All else is as if the length had been given.
    given = fit(shortlist_size=LONG)
    ours, theirs = (each.rank(data().test.X, LONG) for each in (model, given))
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_array_equal(ours.scores, theirs.scores)


def test_lists_that_find_enough_stay_short(monkeypatch: pytest.MonkeyPatch) -> None:
    recall = fit(shortlist_size=SHORT).shortlist_recall_
    monkeypatch.setattr(scoring, "ENOUGH_RECALL", recall - 0.01)
    assert fit().shortlist_size_ == SHORT
    monkeypatch.setattr(scoring, "ENOUGH_RECALL", recall + 0.01)
    assert fit().shortlist_size_ == LONG


def test_lists_of_many_rows_stay_short(monkeypatch: pytest.MonkeyPatch) -> None:
    n_pairs = len(np.unique(data().train.X.toarray(), axis=0)) * LONG
    monkeypatch.setattr(scoring, "MAX_LONG_PAIRS", n_pairs - 1)
    assert fit().shortlist_size_ == SHORT
    monkeypatch.setattr(scoring, "MAX_LONG_PAIRS", n_pairs)
    assert fit().shortlist_size_ == LONG


@pytest.mark.parametrize("options", [{"calibration_folds": 2}, {"index": "clusters"}], ids=str)
def test_without_a_measured_recall_lists_stay_short(options: dict[str, Any]) -> None:
    assert fit(**options).shortlist_size_ == SHORT


@pytest.mark.parametrize(("long", "size"), [(N_LABELS + 9, N_LABELS), (SHORT, SHORT)])
def test_no_list_is_longer_than_there_are_labels(
    long: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_index, "LONG", long)
    assert fit().shortlist_size_ == size


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "wanted"),
    [
        (9_000, 150, (150, 150)),
        (9_000, 151, (100, 151)),
        (9_000, 1_000, (100, 500)),
        (9_000, 1_001, (150, 500)),
        (5_000, 400, (150, 400)),
    ],
)
def test_lists_are_shorter_of_few_labels_where_rows_are_held_out(
    n_rows: int, n_labels: int, wanted: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert label_index.list_lengths("auto", n_rows, n_labels) == wanted
    assert label_index.list_lengths(120, n_rows, n_labels) == (120, 0)


def test_the_length_is_saved_with_the_model(tmp_path: Path) -> None:
    model = fit()
    model.save(tmp_path / "model")
    again = rmls.load(tmp_path / "model")
    assert (again.shortlist_size, again.shortlist_size_) == ("auto", LONG)
    for rule in ("f1", "macro_f1"):
        sets = [each.predict_sets(data().test.X, rule) for each in (model, again)]
        assert (sets[0] != sets[1]).nnz == 0


def test_models_of_folds_list_as_the_kept_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kept model finds its lists long enough, those of the folds, with fewer rows, do not."""
    answers = iter((False, False, True, True))
    monkeypatch.setattr(scoring.Proposer, "misses_labels", lambda *_: next(answers))
    assert fit(calibration_folds=3).shortlist_size_ == SHORT
