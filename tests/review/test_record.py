"""What is kept of a review, in the archive of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from review_samples import topic_table

import rmls
from rmls import RMLSRanker, TextRanker, review_model
from rmls.archive import amend_archive, read_archive
from rmls.core.errors import ArchiveError
from rmls.models.shared.quality_record import QualityRecord

TABLE, HELD = topic_table(160), topic_table(80, seed=1)


@pytest.fixture(scope="module")
def model() -> TextRanker:
    estimator = RMLSRanker(8, max_iter=3)
    return TextRanker(estimator).fit(TABLE.texts, TABLE.labels)


@pytest.fixture(scope="module")
def record(model: TextRanker) -> QualityRecord:
    found = review_model(model, HELD, TABLE).record
    assert found is not None
    return found


def test_labels_are_counted_as_they_are_predicted(model: TextRanker, record: Any) -> None:
    predicted = model.predict(HELD.texts)
    for name in model.classes_.tolist():
        true = [name in row for row in HELD.labels]
        found = [name in row for row in predicted]
        both = sum(np.logical_and(true, found))
        scores = record.of_label(name)
        assert record.rows_of(name) == sum(true)
        assert scores.recall == pytest.approx(both / sum(true))
        assert scores.precision == pytest.approx(both / sum(found))
        assert scores.f1 == pytest.approx(2 * both / (sum(true) + sum(found)))
    assert record.of_label("no such label") is None


def test_figures_are_those_of_the_review(model: TextRanker, record: Any) -> None:
    review = review_model(model, HELD, TABLE)
    assert record.baseline == review.quality.methods[1]
    own, baseline = (
        review.quality.values[method, "macro F", "all"] for method in review.quality.methods
    )
    kept = next(each for each in record.figures if (each.metric, each.group) == ("macro F", "all"))
    assert (kept.value, kept.low, kept.high) == pytest.approx(own, abs=1e-6)
    assert kept.baseline == pytest.approx(baseline.value, abs=1e-6)
    pairs = sum(group.true for group in record.groups)
    assert pairs == sum(map(len, HELD.labels)) == sum(record.labels.true)
    assert sum(point.count for point in record.reliability) == len(HELD) * len(model.classes_)


def test_own_rows_say_how_many_judged_them(model: TextRanker) -> None:
    found = review_model(model, train=TABLE, baseline=None).record
    assert found is not None
    assert (found.n_judges, found.baseline, found.n_rows) == (3, None, 160)


def test_the_record_is_saved_with_the_model(
    model: TextRanker, record: QualityRecord, tmp_path: Path
) -> None:
    model.quality_record_ = record
    model.save(tmp_path / "m")
    again = rmls.load(tmp_path / "m")
    assert again.quality_record_ == record
    # Labels that come later do not lose those that were measured.
    again.add_labels(["space travel"]).save(tmp_path / "m")
    assert rmls.load(tmp_path / "m").quality_record_ == record
    again.fit(TABLE.texts, TABLE.labels)
    assert again.quality_record_ is None


def test_a_folder_without_a_record_is_loaded(model: TextRanker, tmp_path: Path) -> None:
    model.quality_record_ = None
    model.save(tmp_path / "m")
    assert "quality" not in read_archive(tmp_path / "m").manifest
    assert rmls.load(tmp_path / "m").quality_record_ is None


def change(record: QualityRecord, **values: Any) -> dict[str, Any]:
    return {**record.as_dict(), **values}


def test_a_record_of_a_newer_version_is_passed_over(
    model: TextRanker, record: QualityRecord, tmp_path: Path
) -> None:
    model.save(tmp_path / "m")
    newer = change(record, version=2, figures="drawn by hand")
    assert amend_archive(tmp_path / "m", lambda manifest: {**manifest, "quality": newer})
    assert rmls.load(tmp_path / "m").quality_record_ is None


@pytest.mark.parametrize(
    "values",
    [
        {"n_rows": -1},
        {"groups": None},
        {"groups": [{"group": "head"}]},
        {"groups": [{"group": "head", "labels": 1, "true": 1, "predicted": 1, "right": 2}]},
        {"reliability": [{"stated": 2.0, "true": 0.5, "count": 1}]},
        {"figures": [{"metric": 1, "group": "all", "value": 0.1, "low": 0.1, "high": 0.1}]},
        {"figures": [{"metric": "P@1", "group": "all", "value": "a", "low": 0, "high": 1}]},
        {"labels": {"names": ["a"], "true": [1, 2], "predicted": [1], "right": [1]}},
        {"labels": {"names": ["a"], "true": [1], "predicted": [1], "right": [True]}},
        {"labels": []},
        {"version": "1"},
        {"more": 1},
    ],
)
def test_a_record_that_nobody_measured_is_refused(
    model: TextRanker, record: QualityRecord, values: Any, tmp_path: Path
) -> None:
    model.save(tmp_path / "m")
    edited = change(record, **values)
    assert amend_archive(tmp_path / "m", lambda manifest: {**manifest, "quality": edited})
    with pytest.raises(ArchiveError, match="does not make sense"):
        rmls.load(tmp_path / "m")
