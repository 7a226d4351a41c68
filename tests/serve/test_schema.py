"""Requests made from the OpenAPI document, by schemathesis where it is installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from schema_runs import find_program, run_schema
from serve_samples import running

from rmls.serve.document import PROBLEMS


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "columns"])
def test_answers_are_those_of_the_document(
    folder: Path, table_folder: Path, tmp_path: Path, kind: str
) -> None:
    program = find_program()
    if program is None:
        pytest.skip("schemathesis is not installed")
    model = folder if kind == "plain" else table_folder
    n_examples = int(os.environ.get("RMLS_SCHEMA_EXAMPLES", "10"))
    with running(str(model), "--feedback", str(tmp_path / "feedback.jsonl"), "-q") as (_, port):
        found = run_schema(program, port, tmp_path, n_examples)
    assert found.returncode == 0, found.stdout[-5000:]


def test_every_address_tells_of_every_problem(client: Any) -> None:
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["responses"].keys() >= PROBLEMS.keys(), path


def test_the_document_has_the_names_of_the_models(client: Any) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for path, name in (("/v1/models/{name}", "get"), ("/v2/models/{name}/infer", "post")):
        (parameter,) = paths[path][name]["parameters"]
        assert parameter["schema"]["enum"] == ["art"]


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("k", 5.0, 200),
        ("k", "5", 422),
        ("k", True, 422),
        ("explain", "yes", 422),
        ("explain", 1, 422),
        ("min_probability", "0.5", 422),
        ("tail", True, 422),
        ("tail", 1, 200),
    ],
)
def test_what_the_document_calls_a_number_is_one(
    client: Any, field: str, value: Any, status: int
) -> None:
    asked = {"text": "a ship on the sea", field: value}
    assert client.post("/v1/suggest", json=asked).status_code == status
