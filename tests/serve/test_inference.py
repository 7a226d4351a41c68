"""The Open Inference Protocol: the shapes of its description."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from protocol_samples import SEA, settings, store

from rmls.serve import make_app

INFER = "/v2/models/topics/infer"


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app(store(), settings()))


def tensor(*texts: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": "text",
        "shape": [len(texts)],
        "datatype": "BYTES",
        "data": list(texts),
        **more,
    }


def test_health_and_metadata(client: TestClient) -> None:
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json()["ready"] is True
    assert set(client.get("/v2").json()) == {"name", "version", "extensions"}
    assert client.get("/v2/models/topics/ready").json() == {"name": "topics", "ready": True}
    model = client.get("/v2/models/topics").json()
    assert model["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert [each["name"] for each in model["outputs"]] == ["labels", "probabilities"]
    columns = client.get("/v2/models/columns").json()["inputs"]
    assert [each["name"] for each in columns] == ["title", "body"]


def test_texts_in_labels_and_probabilities_out(client: TestClient) -> None:
    request = {"id": "42", "inputs": [tensor(SEA, "wheat")], "parameters": {"k": 3}}
    answer = client.post(INFER, json=request).json()
    assert (answer["id"], answer["model_name"]) == ("42", "topics")
    labels, probabilities = answer["outputs"]
    assert (labels["name"], labels["datatype"], labels["shape"]) == ("labels", "BYTES", [2, 3])
    assert (probabilities["datatype"], probabilities["shape"]) == ("FP32", [2, 3])
    expected = store().get("topics").model.suggest([SEA, "wheat"], k=3)
    assert labels["data"] == [name for row in expected for name, _ in row]
    given = [probability for row in expected for _, probability in row]
    np.testing.assert_allclose(probabilities["data"], given, rtol=1e-5)


def test_an_answer_has_an_id_only_where_the_request_has_one(client: TestClient) -> None:
    assert "id" not in client.post(INFER, json={"inputs": [tensor(SEA)]}).json()


def test_data_may_be_nested_and_no_more_labels_come_than_there_are(client: TestClient) -> None:
    flat = client.post(INFER, json={"inputs": [tensor(SEA, "x")], "parameters": {"k": 100}}).json()
    nested = tensor([SEA], ["x"], shape=[2, 1])
    assert flat == client.post(INFER, json={"inputs": [nested], "parameters": {"k": 100}}).json()
    assert flat["outputs"][0]["shape"] == [2, 4]
    none = client.post(INFER, json={"inputs": [tensor()]}).json()
    assert none["outputs"][0] == {
        "name": "labels",
        "shape": [0, 4],
        "datatype": "BYTES",
        "data": [],
    }


def test_only_the_outputs_that_are_asked_for_come(client: TestClient) -> None:
    request = {"inputs": [tensor(SEA)], "outputs": [{"name": "probabilities"}]}
    (output,) = client.post(INFER, json=request).json()["outputs"]
    assert output["name"] == "probabilities"


def test_columns_are_inputs_of_their_names(client: TestClient) -> None:
    inputs = [tensor("fishing", name="title"), tensor("boats", name="body")]
    answer = client.post("/v2/models/columns/infer", json={"inputs": inputs}).json()
    expected = store().get("columns").model.suggest({"title": ["fishing"], "body": ["boats"]}, k=4)
    assert answer["outputs"][0]["data"] == [name for name, _ in expected[0]]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"inputs": []},
        {"inputs": [tensor(SEA, shape=[2])]},
        {"inputs": [tensor(SEA, shape=[1, 2])]},
        {"inputs": [tensor(SEA, shape=[])]},
        {"inputs": [tensor(SEA, shape=[-1])]},
        {"inputs": [tensor(7)]},
        {"inputs": [tensor(["a", "b"])]},
        {"inputs": [tensor(7.0, datatype="FP32")]},
        {"inputs": [tensor(SEA), tensor(SEA)]},
        {"inputs": [tensor(SEA)], "outputs": [{"name": "scores"}]},
        {"inputs": [tensor(SEA)], "parameters": {"k": 0}},
        {"inputs": [tensor(SEA)], "parameters": {"k": True}},
        {"inputs": [tensor(SEA)], "parameters": {"k": 101}},
        {"inputs": 3},
        [],
    ],
)
def test_what_is_wrong_is_told_in_the_shape_of_the_protocol(
    client: TestClient, request_: Any
) -> None:
    answer = client.post(INFER, json=request_)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert isinstance(answer.json()["error"], str)


def test_limits_and_names_have_their_own_status(client: TestClient) -> None:
    many = client.post(INFER, json={"inputs": [tensor(*["x"] * 101)]})
    long = client.post(INFER, json={"inputs": [tensor("x" * 200_001)]})
    absent = client.post("/v2/models/none/infer", json={"inputs": [tensor(SEA)]})
    assert [each.status_code for each in (many, long, absent)] == [413, 413, 404]
    assert all(list(each.json()) == ["error"] for each in (many, long, absent))


@pytest.mark.parametrize("body", [b"", b"{", b'{"inputs": "\xff"}', b"[" * 50_000])
def test_what_is_no_json_is_told_in_the_shape_of_the_protocol(
    client: TestClient, body: bytes
) -> None:
    answer = client.post(INFER, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
