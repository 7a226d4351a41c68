"""How well a model and its labels do, as the service tells it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve_samples import SUBJECTS, save, train

from rmls.models.shared.quality_record import Figure, Group, LabelCounts, Point, QualityRecord


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose record is known: the horse does worst, the garden was not measured."""
    model = train()
    names = [name for name in SUBJECTS if name != "garden party"]
    right = [9 if name != "horse" else 1 for name in names]
    counts = LabelCounts([*names, "gone"], [10] * 6, [9] * 6, [*right, 0])
    model.quality_record_ = QualityRecord(
        *("TextRanker", "nearest neighbours", "2026-11-16T10:00:00+00:00", 30, 60, 3, 0.02),
        figures=[Figure("P@1", "all", 0.8, 0.7, 0.9, 0.6, 0.5, 0.7, 0.75)],
        groups=[Group("head", 2, 20, 18, 9)],
        reliability=[Point(0.5, 0.4, 10)],
        labels=counts,
    )
    return save(tmp_path_factory.mktemp("measured") / "art", model)


@pytest.fixture
def client(make_client: Callable[..., Any], measured: Path) -> Any:
    return make_client({"art": measured})


def test_a_model_tells_its_quality(client: Any) -> None:
    found = client.get("/v1/models/art").json()["quality"]
    assert found["groups"] == [
        {"group": "head", "labels": 2, "precision": 0.5, "recall": 0.45, "f1": 0.4737}
    ]
    assert found["reliability"] == [{"stated": 0.5, "true": 0.4, "count": 10}]
    assert (found["n_rows"], found["n_judges"], found["baseline"]) == (30, 3, "nearest neighbours")
    assert found["figures"][0]["baseline_low"] == 0.5
    # A label that the model has no more is not told of.
    assert found["worst"][0]["label"] == "horse"
    assert "gone" not in [each["label"] for each in found["worst"]]


def test_a_model_tells_its_settings(client: Any) -> None:
    found = client.get("/v1/models/art").json()
    assert found["settings"]["method"] == "RMLSRanker"
    assert found["settings"]["n_components"] == 8
    assert found["stages"]["combination"] >= 0


def test_a_label_tells_its_quality(client: Any) -> None:
    found = client.get("/v1/labels/horse").json()
    assert found["quality"] == {
        "precision": 0.1111,
        "recall": 0.1,
        "f1": 0.1053,
        "held_out_rows": 10,
    }
    assert client.get("/v1/labels/garden party").json()["quality"] is None


def test_labels_that_do_worst_come_first_and_unmeasured_ones_last(client: Any) -> None:
    found = client.get("/v1/labels", params={"sort": "quality"}).json()["labels"]
    assert found[0]["label"] == "horse"
    assert found[-1]["label"] == "garden party"
    assert found[-1]["f1"] is None
    scores = [each["f1"] for each in found[:-1]]
    assert scores == sorted(scores)
    # A search keeps the order.
    found = client.get("/v1/labels", params={"sort": "quality", "query": "h"}).json()["labels"]
    assert [each["label"] for each in found] == ["horse", "harbour"]


def test_a_model_without_a_record_has_none_to_tell(
    make_client: Callable[..., Any], folder: Path
) -> None:
    client = make_client({"art": folder})
    assert client.get("/v1/models/art").json()["quality"] is None
    assert client.get("/v1/labels/horse").json()["quality"] is None
    found = client.get("/v1/labels", params={"sort": "quality"}).json()["labels"]
    assert found == client.get("/v1/labels", params={"sort": "rows"}).json()["labels"]
