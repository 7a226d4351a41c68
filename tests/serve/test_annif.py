"""Annif's REST API, as its description of the API and its clients have it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from protocol_samples import SEA, URIS, read_lines, settings, store
from typer.testing import CliRunner

from rmls import load
from rmls.cli.app import app
from rmls.serve import make_app
from rmls.serve.protocols.asking import KnownLabels
from rmls.serve.protocols.subjects import label_of, subject_uri

PROJECT = "/v1/projects/topics"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "feedback.jsonl"


@pytest.fixture
def client(journal: Path) -> TestClient:
    return TestClient(make_app(store(), settings(journal)))


def test_says_who_answers(client: TestClient) -> None:
    assert set(client.get("/v1/").json()) == {"title", "version"}


def test_a_project_has_all_that_annif_tells_of_one(client: TestClient) -> None:
    projects = client.get("/v1/projects").json()["projects"]
    assert [project["project_id"] for project in projects] == ["topics", "columns", "uris"]
    project = client.get(PROJECT).json()
    assert project == projects[0]
    assert datetime.fromisoformat(project.pop("modification_time").replace("Z", "+00:00"))
    vocabulary = {"vocab_id": "topics", "languages": ["en"], "size": 4, "loaded": True}
    assert project == {
        "project_id": "topics",
        "name": "topics",
        "language": "en",
        "backend": {"backend_id": "rmls"},
        "vocab": vocabulary,
        "vocab_language": "en",
        "is_trained": True,
    }
    assert client.get("/v1/vocabs").json()["vocabs"][0] == vocabulary


def test_subjects_are_labels_with_their_probabilities(client: TestClient) -> None:
    found = client.post(f"{PROJECT}/suggest", data={"text": SEA, "limit": 2}).json()["results"]
    expected = store().get("topics").model.suggest([SEA], k=2)[0]
    assert [(each["label"], each["score"]) for each in found] == [
        (name, pytest.approx(probability)) for name, probability in expected
    ]
    assert found[0]["uri"] == "urn:rmls:label:sea"
    assert found[0]["notation"] is None
    found = client.post("/v1/projects/uris/suggest", data={"text": SEA}).json()["results"]
    assert found[0]["uri"] == found[0]["label"] == URIS["sea"]


def test_threshold_and_limit_shorten_the_list(client: TestClient) -> None:
    def ask(**more: Any) -> list[float]:
        answer = client.post(f"{PROJECT}/suggest", data={"text": SEA, **more})
        return [each["score"] for each in answer.json()["results"]]

    everything = ask()
    assert len(everything) == 4
    assert ask(threshold=everything[1]) == everything[:2]
    assert ask(limit=0) == []
    assert ask(limit=10**6) == everything


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"limit": 3}, 400),
        ({"text": SEA, "limit": -1}, 400),
        ({"text": SEA, "limit": "many"}, 400),
        ({"text": SEA, "threshold": 1.5}, 400),
        ({"text": SEA, "threshold": "nan"}, 400),
        ({"text": SEA, "language": "fi"}, 400),
        ({"text": SEA, "language": "en"}, 200),
        ({"text": ""}, 200),
        ({"text": "x" * 200_001}, 413),
        ({f"metadata_{number}": "x" for number in range(200)}, 400),
    ],
)
def test_a_form_that_is_wrong_is_a_problem(
    client: TestClient, form: dict[str, Any], status: int
) -> None:
    answer = client.post(f"{PROJECT}/suggest", data=form)
    assert answer.status_code == status
    if status != 200:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]


def test_only_forms_are_taken_and_odd_bytes_are_text(client: TestClient) -> None:
    assert client.post(f"{PROJECT}/suggest", json={"text": SEA}).status_code == 415
    form = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    answer = client.post(f"{PROJECT}/suggest", content=b"text=%FF%00boats\xff", headers=form)
    assert answer.status_code == 200


def test_a_project_that_is_not_there_is_a_problem_with_a_sentence(client: TestClient) -> None:
    for answer in (
        client.get("/v1/projects/none"),
        client.post("/v1/projects/none/suggest", data={"text": SEA}),
        client.post("/v1/projects/none/suggest-batch", json={"documents": []}),
        client.post("/v1/projects/none/learn", json=[]),
    ):
        assert answer.status_code == 404
        # The client raises this sentence.
        assert "none" in answer.json()["detail"]


def test_a_batch_answers_like_its_documents_alone(client: TestClient) -> None:
    documents = [{"text": SEA, "document_id": "a"}, {"text": "wheat and cattle"}]
    answer = client.post(
        f"{PROJECT}/suggest-batch", json={"documents": documents}, params={"limit": 2}
    ).json()
    assert [each["document_id"] for each in answer] == ["a", None]
    for document, each in zip(documents, answer, strict=True):
        alone = client.post(f"{PROJECT}/suggest", data={"text": document["text"], "limit": 2})
        labels = [subject["label"] for subject in each["results"]]
        assert labels == [subject["label"] for subject in alone.json()["results"]]
    many = {"documents": [{"text": "x"}] * 33}
    assert client.post(f"{PROJECT}/suggest-batch", json=many).status_code in (400, 422)
    assert client.post(f"{PROJECT}/suggest-batch", json={"documents": []}).json() == []


def test_metadata_are_columns_where_the_model_has_them(client: TestClient) -> None:
    served = store().get("columns")
    expected = served.model.suggest({"title": ["fishing"], "body": ["boats and quota"]}, k=4)[0]
    form = {"text": "boats and quota", "metadata_title": "fishing", "metadata_year": "1990"}
    found = client.post("/v1/projects/columns/suggest", data=form).json()["results"]
    assert [each["score"] for each in found] == [
        pytest.approx(probability) for _, probability in expected
    ]


def test_documents_to_learn_from_go_to_the_feedback(client: TestClient, journal: Path) -> None:
    documents = [
        {
            "text": SEA,
            "subjects": [
                {"uri": subject_uri("sea"), "label": "sea"},
                {"uri": "http://elsewhere.example/1", "label": "Tax"},
                {"uri": "http://elsewhere.example/2", "label": "new"},
            ],
        },
        {"text": "a text without subjects"},
        {"subjects": [{"uri": "urn:rmls:label:sea"}]},
    ]
    answer = client.post(f"{PROJECT}/learn", json=documents)
    assert (answer.status_code, answer.content) == (204, b"")
    (line,) = read_lines(journal)
    assert (line["text"], line["model"]) == (SEA, "topics")
    assert line["added"] == ["sea", "tax", "http://elsewhere.example/2"]
    assert line["accepted"] == line["rejected"] == []


def test_what_was_taught_is_what_the_model_learns_from(
    client: TestClient, journal: Path, tmp_path: Path
) -> None:
    text = "zebras zebras zebras in the zoo"
    taught = [{"text": text, "subjects": [{"uri": "urn:rmls:label:zoo%20animal"}]}] * 3
    assert client.post(f"{PROJECT}/learn", json=taught).status_code == 204
    learned = tmp_path / "learned"
    model = store().get("topics").path
    run = CliRunner().invoke(app, ["learn", str(model), str(journal), "-o", str(learned), "-q"])
    assert run.exit_code == 0, run.output
    assert "zoo animal" in load(learned).classes_


def test_learning_is_refused_where_nothing_is_kept() -> None:
    client = TestClient(make_app(store(), settings()))
    answer = client.post(f"{PROJECT}/learn", json=[])
    assert answer.status_code == 403
    assert "--feedback" in answer.json()["detail"]


def test_languages_are_told_by_their_function_words(client: TestClient) -> None:
    question = {"text": "der Fuchs und die Katze sind in dem Haus", "languages": ["en", "de"]}
    best, *_ = client.post("/v1/detect-language", json=question).json()["results"]
    assert best["language"] == "de"
    question["text"] = "12345"
    best, *_ = client.post("/v1/detect-language", json=question).json()["results"]
    assert best == {"language": None, "score": 1.0}
    question["languages"] = ["xx"]
    assert client.post("/v1/detect-language", json=question).status_code in (400, 422)


@pytest.mark.parametrize(
    "label", ["sea", "a/b c", "ä%20", "", "urn:rmls:label:x", "http://x.example/a", "http://x y"]
)
def test_every_address_leads_back_to_its_label(label: str) -> None:
    uri = subject_uri(label)
    assert " " not in uri
    assert label_of(uri, None, KnownLabels([label])) == label
