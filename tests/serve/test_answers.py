"""What a service answers: the numbers of the model, in the shape that was promised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve_samples import SUBJECTS, TEXT

import rmls


def suggest(client: Any, **asked: Any) -> list[dict[str, Any]]:
    answer = client.post("/v1/suggest", json={"text": TEXT, **asked})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"][0]["suggestions"]
    return found


def names(found: list[dict[str, Any]]) -> list[str]:
    return [each["label"] for each in found]


def test_suggestions_are_those_of_the_model(client: Any, folder: Path) -> None:
    own = rmls.load(folder).suggest([TEXT], k=4)[0]
    found = suggest(client, k=4)
    assert names(found) == [each.name for each in own]
    assert [each["probability"] for each in found] == pytest.approx(
        [each.probability for each in own], abs=1e-4
    )


def test_every_text_has_its_own_result(client: Any) -> None:
    texts = [TEXT, "a horse", ""]
    answer = client.post("/v1/suggest", json={"texts": texts, "k": 2}).json()
    assert answer["model"] == "art"
    assert [len(each["suggestions"]) for each in answer["results"]] == [2, 2, 2]
    assert answer["results"][0]["suggestions"] == suggest(client, k=2)


def test_no_text_has_no_result(client: Any) -> None:
    assert client.post("/v1/suggest", json={"texts": []}).json()["results"] == []


def test_the_tail_ranks_rare_labels_higher(client: Any, folder: Path) -> None:
    head, tail = (suggest(client, k=6, tail=tail) for tail in (0, 1))
    chances = [each["probability"] for each in head]
    assert chances == sorted(chances, reverse=True)
    for found in (head, tail):
        scores = [each["score"] for each in found]
        assert scores == sorted(scores, reverse=True)
    gained = {
        each["label"]: each["score"] - next(x["score"] for x in head if x["label"] == each["label"])
        for each in tail
    }
    rows = {each["label"]: each["rows"] for each in tail}
    assert max(rows, key=lambda label: rows[label]) == min(gained, key=lambda label: gained[label])
    inner = rmls.load(folder).estimator_
    rarity = dict(zip(inner.classes_.tolist(), inner._frequencies.rarity(), strict=True))
    assert gained == pytest.approx({label: rarity[label] for label in gained}, abs=1e-4)


def test_a_rule_decides_how_many(client: Any, folder: Path) -> None:
    decided = rmls.load(folder).rank_sets([TEXT], "f1").to_lists()[0]
    assert sorted(names(suggest(client, decision="f1"))) == sorted(decided)
    assert len(suggest(client, decision="top_2")) == 2
    assert len(suggest(client, decision="top_3", k=1)) == 1


def test_unlikely_labels_are_left_out(client: Any) -> None:
    everything = suggest(client, k=6)
    least = (everything[1]["probability"] + everything[2]["probability"]) / 2
    assert suggest(client, k=6, min_probability=least) == everything[:2]


def test_an_explanation_adds_up_and_its_words_stand_in_the_text(client: Any) -> None:
    text = "Ein Schiff 🚢 on the sea"
    answer = client.post("/v1/explain", json={"text": text, "label": "sea"}).json()
    assert sum(answer["parts"].values()) == pytest.approx(answer["score"], abs=1e-4)
    assert [text[word["start"] : word["end"]] for word in answer["words"]] == [
        word["text"] for word in answer["words"]
    ]
    assert {word["field"] for word in answer["words"]} == {"text"}
    best = max(answer["words"], key=lambda word: word["part"])
    assert best["text"] == "sea"
    assert answer["similar_rows"]
    assert all("sea" in row["labels"] for row in answer["similar_rows"])


def test_suggestions_can_be_explained_at_once(client: Any) -> None:
    found = suggest(client, k=2, explain=True)
    alone = client.post("/v1/explain", json={"text": TEXT, "label": found[0]["label"]}).json()
    assert found[0]["explanation"] == alone


def test_columns_are_given_by_name(make_client: Callable[..., Any], table_folder: Path) -> None:
    client = make_client({"table": table_folder})
    whole = client.post("/v1/suggest", json={"text": {"title": TEXT, "body": "a horse"}}).json()
    text = {"texts": [TEXT, {"title": TEXT}, {"title": TEXT, "body": None}]}
    rest = client.post("/v1/suggest", json=text).json()["results"]
    assert rest[0] == rest[1] == rest[2] != whole["results"][0]
    wrong = client.post("/v1/suggest", json={"text": {"colour": "red"}})
    assert (wrong.status_code, "title, body" in wrong.json()["detail"]) == (422, True)
    asked = {"text": {"title": TEXT, "body": "the sea"}, "label": "sea"}
    words = client.post("/v1/explain", json=asked).json()["words"]
    assert {word["field"] for word in words} == {"title", "body"}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("riv", {"river thames"}),
        ("th ri", {"river thames"}),
        ("GARDEN", {"garden party"}),
        ("part gard", {"garden party"}),
        ("ames", set()),
        ("", set(SUBJECTS)),
        ("🚢", set(SUBJECTS)),
    ],
)
def test_labels_are_found_by_the_beginnings_of_their_words(
    client: Any, query: str, found: set[str]
) -> None:
    answer = client.get("/v1/labels", params={"query": query}).json()
    assert set(names(answer["labels"])) == found
    assert answer["total"] == len(found)


def test_labels_come_in_the_order_that_was_asked_for(client: Any) -> None:
    by_rows = client.get("/v1/labels").json()["labels"]
    rows = [each["rows"] for each in by_rows]
    assert rows == sorted(rows, reverse=True)
    by_name = client.get("/v1/labels", params={"sort": "name"}).json()["labels"]
    assert names(by_name) == sorted(SUBJECTS)
    part = client.get("/v1/labels", params={"sort": "name", "limit": 2, "offset": 1}).json()
    assert names(part["labels"]) == sorted(SUBJECTS)[1:3]


def test_a_label_tells_its_words_and_what_is_like_it(client: Any, folder: Path) -> None:
    found = client.get("/v1/labels/river%20thames").json()
    own = rmls.load(folder)
    assert found["top_features"][0]["feature"] == own.top_features("river thames", 1)[0].feature
    assert found["similar"][0]["label"] == own.similar_labels("river thames", 1)[0].label
    assert found["rows"] == own.label_counts_[own.classes_.tolist().index("river thames")]
    assert found["group"] in ("head", "torso", "tail")


def test_models_tell_what_they_are(
    make_client: Callable[..., Any], folder: Path, table_folder: Path
) -> None:
    client = make_client({"art": folder, "table": table_folder})
    rows = client.get("/v1/models").json()["models"]
    assert [(row["name"], row["default"]) for row in rows] == [("art", True), ("table", False)]
    page = client.get("/v1/models/table").json()
    assert page["columns"] == ["title", "body"]
    assert page["description"] == {"data": "sample"}
    assert sum(each["labels"] for each in page["frequencies"]) == page["labels"] == len(SUBJECTS)
    asked = {"text": TEXT, "model": "table"}
    assert client.post("/v1/suggest", json=asked).json()["model"] == "table"


def test_the_queue_shows_rows_without_an_answer_the_helpful_ones_first(client: Any) -> None:
    texts = [TEXT, "a horse on a green field", "people"]
    ids = client.post("/v1/review/rows", json={"texts": texts}).json()["ids"]
    rows = client.get("/v1/review").json()["rows"]
    assert sorted(row["id"] for row in rows) == sorted(ids)

    def doubt(row: dict[str, Any]) -> float:
        return sum(each["probability"] * (1 - each["probability"]) for each in row["suggestions"])

    assert doubt(rows[0]) > doubt(rows[-1])
    told = {"id": rows[0]["id"], "text": rows[0]["text"], "accepted": []}
    assert client.post("/v1/feedback", json=told).status_code == 201
    left = client.get("/v1/review", params={"limit": 5}).json()["rows"]
    assert [row["id"] for row in left] == [row["id"] for row in rows[1:]]


def test_a_full_queue_keeps_the_helpful_rows(make_client: Callable[..., Any]) -> None:
    client = make_client(max_queued=2)
    texts = [TEXT, "sea", "a horse on a green field", "nothing of it"]
    client.post("/v1/review/rows", json={"texts": texts})
    assert len(client.get("/v1/review").json()["rows"]) == 2


def test_health_needs_nothing_and_metrics_count(client: Any) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["models"] == ["art"]
    suggest(client)
    text = client.get("/metrics").text
    assert 'rmls_requests_total{route="/v1/suggest",status="200"} 1.0' in text
    assert f'rmls_model_labels{{model="art"}} {float(len(SUBJECTS))}' in text


def test_the_document_has_examples_that_work(client: Any) -> None:
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    for name in ("OneText", "ManyTexts", "WhyAsked", "Told"):
        (example,) = schemas[name]["examples"]
        path = {"WhyAsked": "/v1/explain", "Told": "/v1/feedback"}.get(name, "/v1/suggest")
        assert client.post(path, json=example).status_code in (200, 201)
    assert all(
        "422" in operation["responses"]
        for path in document["paths"].values()
        for operation in path.values()
    )
