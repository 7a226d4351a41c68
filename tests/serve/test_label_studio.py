"""What Label Studio asks of an ML backend, and what it does with the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from protocol_samples import SEA, read_lines, settings, store

from rmls.serve import make_app
from rmls.serve.problems import Problem
from rmls.serve.protocols.label_config import MAX_DEPTH, read_config

CHOICES = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="topic" toName="text" choice="multiple">
    <Choice value="Sea"/> <Choice value="Taxes" alias="tax"/> <Choice value="Farm"/>
  </Choices>
</View>
"""
SINGLE = CHOICES.replace('choice="multiple"', 'choice="single"')
TAXONOMY = """
<View>
  <Text name="text" value="$text"/>
  <Taxonomy name="topic" toName="text">
    <Choice value="Nature"><Choice value="sea"/><Choice value="farm"/></Choice>
    <Choice value="State"><Choice value="tax"/><Choice value="law"/></Choice>
  </Taxonomy>
</View>
"""
DYNAMIC = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="topic" toName="text" choice="multiple" value="$options"/>
</View>
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "feedback.jsonl"


@pytest.fixture
def client(journal: Path) -> TestClient:
    return TestClient(make_app(store(), settings(journal, max_texts=3)))


def predict(client: TestClient, config: str, *data: Any, model: str = "") -> list[Any]:
    tasks = [{"id": number, "data": each, "project": 1} for number, each in enumerate(data)]
    # All that Label Studio sends along.
    request = {
        "tasks": tasks,
        "project": "1.1700000000",
        "label_config": config,
        "params": {"login": "", "password": "", "context": None},
    }
    answer = client.post(f"/label-studio{model}/predict", json=request)
    assert answer.status_code == 200, answer.text
    results: list[Any] = answer.json()["results"]
    assert len(results) == len(tasks)
    return results


def test_a_backend_can_be_connected(client: TestClient) -> None:
    assert client.get("/label-studio/health").json()["status"] == "UP"
    setup = {
        "project": "1.1700000000",
        "schema": CHOICES,
        "hostname": "http://localhost:8080",
        "access_token": "abc",
        "extra_params": None,
    }
    version = client.post("/label-studio/setup", json=setup).json()["model_version"]
    assert version.startswith("topics 2")
    assert client.get("/label-studio/versions").json() == {"versions": [version]}
    assert client.get("/label-studio/uris/health").json()["model"] == "uris"
    assert client.get("/label-studio/none/health").status_code == 404


def test_several_choices_are_those_the_model_decides_for(client: TestClient) -> None:
    text = "fishing boats quota and taxes revenue levy"
    (prediction,) = predict(client, CHOICES, {"text": text})
    (region,) = prediction["result"]
    assert {name: region[name] for name in ("from_name", "to_name", "type")} == {
        "from_name": "topic",
        "to_name": "text",
        "type": "choices",
    }
    (row,) = store().get("topics").model.rank_sets([text])
    names = {"sea": "Sea", "tax": "tax", "farm": "Farm"}
    decided = [names[entry.label] for entry in row if entry.label in names]
    assert len(decided) >= 2
    # In the words of the configuration: an alias stands for its choice in answers.
    assert region["value"] == {"choices": decided}
    assert 0 < region["score"] == prediction["score"] <= 1
    assert prediction["model_version"].startswith("topics ")


def test_a_single_choice_is_the_most_likely_that_is_offered(client: TestClient) -> None:
    (prediction,) = predict(client, SINGLE, {"text": SEA})
    assert prediction["result"][0]["value"] == {"choices": ["Sea"]}
    without = SINGLE.replace('<Choice value="Sea"/>', "")
    (prediction,) = predict(client, without, {"text": SEA})
    best = store().get("topics").model.suggest([SEA], k=4)[0]
    rest = [name for name, _ in best if name in ("tax", "farm")]
    assert prediction["result"][0]["value"] == {
        "choices": [{"tax": "tax", "farm": "Farm"}[rest[0]]]
    }


def test_a_taxonomy_is_answered_with_ways_from_its_root(client: TestClient) -> None:
    (prediction,) = predict(client, TAXONOMY, {"text": SEA})
    (region,) = prediction["result"]
    assert region["type"] == "taxonomy"
    assert ["Nature", "sea"] in region["value"]["taxonomy"]


def test_tasks_may_bring_their_own_choices(client: TestClient) -> None:
    first, second = predict(
        client,
        DYNAMIC,
        {"text": SEA, "options": [{"value": "SEA"}, {"value": "law"}]},
        {"text": SEA, "options": ["unknown"]},
    )
    assert first["result"][0]["value"]["choices"] == ["SEA"]
    assert second["result"] == []


def test_every_task_has_an_answer_however_many_there_are(client: TestClient) -> None:
    data = [{"text": SEA}, {"other": SEA}, {"text": 7}, None, *[{"text": SEA}] * 7]
    results = predict(client, CHOICES, *data)
    assert [bool(each["result"]) for each in results] == [True, False, False, False] + [True] * 7
    assert results[0] == results[-1]
    assert predict(client, CHOICES) == []


def test_columns_of_the_model_are_found_in_the_tasks(client: TestClient) -> None:
    config = CHOICES.replace("$text", "$body")
    row = {"title": "fishing", "body": "boats and quota"}
    (prediction,) = predict(client, config, row, model="/columns")
    model = store().get("columns").model
    (ranked,) = model.rank_sets({name: [cell] for name, cell in row.items()})
    assert {entry.label for entry in ranked} >= {"sea"}
    assert "Sea" in prediction["result"][0]["value"]["choices"]


def event(action: str = "ANNOTATION_CREATED", **more: Any) -> dict[str, Any]:
    region = {
        "from_name": "topic",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": ["Sea", "tax"]},
    }
    shown = {**region, "value": {"choices": ["Sea", "Farm"]}}
    annotation = {
        "id": 5,
        "result": [region, {**region, "from_name": "other", "value": {"choices": ["x"]}}],
        "was_cancelled": False,
        "updated_at": "2026-01-01T00:00:00Z",
        "prediction": {"id": 3, "result": [shown]},
        **more,
    }
    return {
        "action": action,
        "annotation": annotation,
        "task": {"id": 1, "project": 1, "data": {"text": SEA}},
        "project": {"id": 1, "label_config": CHOICES},
    }


def test_annotations_go_to_the_feedback(client: TestClient, journal: Path) -> None:
    answer = client.post("/label-studio/webhook", json=event())
    assert (answer.status_code, answer.json()) == (201, {"kept": 1})
    (line,) = read_lines(journal)
    assert line["text"] == SEA
    # In the words of the model.
    assert (line["accepted"], line["rejected"]) == (["sea"], ["farm"])
    assert line["added"] == ["tax"]


def test_without_a_prediction_all_labels_are_added(client: TestClient, journal: Path) -> None:
    client.post("/label-studio/webhook", json=event(prediction={}))
    (line,) = read_lines(journal)
    assert (line["accepted"], line["rejected"]) == ([], [])
    assert line["added"] == ["sea", "tax"]


def test_skipped_tasks_and_other_events_leave_no_line(client: TestClient, journal: Path) -> None:
    journal.touch()
    for sent in (
        event(was_cancelled=True),
        event("ANNOTATIONS_DELETED"),
        event("START_TRAINING"),
        {"action": "PROJECT_UPDATED", "project": {"id": 1}},
        event(result=[], prediction=None),
        event(result="none", prediction={"result": 3}),
    ):
        assert client.post("/label-studio/webhook", json=sent).json() == {"kept": 0}
    assert read_lines(journal) == []


def test_many_annotations_at_once(client: TestClient, journal: Path) -> None:
    one = event()
    many = {**one, "annotation": [one["annotation"]], "task": [one["task"]]}
    many["action"] = "ANNOTATIONS_CREATED"
    assert client.post("/label-studio/webhook", json=many).json() == {"kept": 1}
    task = {**one["task"], "annotations": [one["annotation"]]}
    training = {"annotations": [task], "project": "1.17", "label_config": CHOICES, "params": {}}
    answer = client.post("/label-studio/train", json=training)
    assert answer.status_code == 201
    # The same annotation has the same id, by whichever way it comes.
    assert len({line["id"] for line in read_lines(journal)}) == 1


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><View>&b;</View>'
FETCH = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/hostname">]><View>&a;</View>'


@pytest.mark.parametrize(
    "config",
    [
        "",
        "no xml",
        "<View>",
        "<View/>",
        BOMB,
        FETCH,
        '<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><View/>',
        CHOICES.replace("$text", "text"),
        CHOICES.replace('value="$text"', 'value="$text" valueType="url"'),
        CHOICES.replace('toName="text"', 'toName="image"'),
        "<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1),
    ],
)
def test_a_configuration_that_cannot_be_used_is_a_problem(client: TestClient, config: str) -> None:
    request = {"tasks": [], "label_config": config}
    answer = client.post("/label-studio/predict", json=request)
    assert answer.status_code == 400
    assert "labeling" in answer.json()["detail"] or "<Text" in answer.json()["detail"]


def test_a_configuration_has_bounds() -> None:
    with pytest.raises(Problem, match="too large"):
        read_config("<View>" + "<a/>" * 100_001 + "</View>")
    with pytest.raises(Problem, match="too large"):
        read_config("<View>" + " " * 4_000_001 + "</View>")


def test_half_a_character_is_refused(client: TestClient, journal: Path) -> None:
    sent = event(updated_at="\udc00")
    body = json.dumps(sent).encode("ascii")
    headers = {"content-type": "application/json"}
    answer = client.post("/label-studio/webhook", content=body, headers=headers)
    assert answer.status_code == 400
    assert read_lines(journal) == []


def test_a_page_of_another_site_cannot_write_feedback(client: TestClient, journal: Path) -> None:
    # What a form of a browser can send without asking.
    headers = {"content-type": "text/plain"}
    answer = client.post("/label-studio/webhook", content=json.dumps(event()), headers=headers)
    assert answer.status_code == 415
    assert read_lines(journal) == []
