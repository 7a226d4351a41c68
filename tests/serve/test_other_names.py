"""Labels are found by whatever they are called, and tell it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve_samples import SUBJECTS, save

from rmls import RMLSRanker, TextRanker

CALLED = {"c1": ["sea", "open water"], "c2": ["harbour", "seaport", "Häfen"], "c9": ["seal"]}


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [f"{SUBJECTS[name]} {number}" for number in range(30) for name in ("sea", "harbour")]
    labels = [[code] for _ in range(30) for code in ("c1", "c2")]
    model = TextRanker(RMLSRanker(8, max_iter=2)).fit(texts, labels, label_text=CALLED)
    return save(tmp_path_factory.mktemp("called") / "codes", model)


@pytest.fixture
def client(make_client: Callable[..., Any], called: Path) -> Any:
    return make_client({"codes": called})


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("open wat", ["c1"]),
        ("sea", ["c1", "c2", "c9"]),
        ("hafen", ["c2"]),
        ("c2", ["c2"]),
        ("sea water", ["c1"]),
        ("boat", []),
    ],
)
def test_labels_are_found_by_any_name(client: Any, query: str, found: list[str]) -> None:
    answer = client.get("/v1/labels", params={"query": query, "sort": "name"}).json()
    assert sorted(each["label"] for each in answer["labels"]) == found


def test_a_name_that_begins_with_the_query_comes_first(client: Any) -> None:
    answer = client.get("/v1/labels", params={"query": "water"}).json()["labels"]
    assert [each["label"] for each in answer] == ["c1"]
    answer = client.get("/v1/labels", params={"query": "h", "sort": "name"}).json()["labels"]
    assert answer[0]["label"] == "c2"


def test_a_label_tells_what_else_it_is_called(client: Any) -> None:
    assert client.get("/v1/labels/c2").json()["names"] == ["harbour", "seaport", "Häfen"]
    answer = client.get("/v1/labels", params={"query": "seal"}).json()["labels"]
    assert answer[0]["names"] == ["seal"]


def test_labels_without_other_names_have_none(
    make_client: Callable[..., Any], folder: Path
) -> None:
    assert make_client({"art": folder}).get("/v1/labels/sea").json()["names"] == []
