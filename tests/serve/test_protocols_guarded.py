"""Addresses of other protocols stand behind the same token, and are described with the rest."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from protocol_samples import settings, store

from rmls.serve import make_app

PATHS = ["/v1/projects", "/v2/models/topics", "/label-studio/versions"]


@pytest.mark.parametrize("path", PATHS)
def test_a_token_is_taken_as_a_bearer_or_as_a_password(path: str) -> None:
    client = TestClient(make_app(store(), settings(token="secret")))
    assert client.get(path).status_code == 401
    assert client.get(path, auth=("anybody", "wrong")).status_code == 401
    assert client.get(path, headers={"Authorization": "Basic !"}).status_code == 401
    # Tools that know no tokens put a name and a password into the address.
    assert client.get(path, auth=("anybody", "secret")).status_code == 200
    assert client.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_errors_are_described_in_the_shape_they_have() -> None:
    document = make_app(store(), settings()).openapi()["paths"]
    infer = document["/v2/models/{name}/infer"]["post"]["responses"]
    schema = infer["400"]["content"]["application/json"]["schema"]
    assert schema["$ref"].endswith("/Failure")
    suggest = document["/v1/projects/{project_id}/suggest"]["post"]
    assert list(suggest["responses"]["400"]["content"]) == ["application/problem+json"]
    assert "application/x-www-form-urlencoded" in suggest["requestBody"]["content"]
    batch = document["/v1/projects/{project_id}/suggest-batch"]["post"]["responses"]
    assert list(batch["422"]["content"]) == ["application/problem+json"]


def test_every_address_has_an_id_of_its_own() -> None:
    paths = make_app(store(), settings()).openapi()["paths"]
    ids = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(ids) == len(set(ids))
