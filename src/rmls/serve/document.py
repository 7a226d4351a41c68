"""The OpenAPI document: what is answered when something is wrong, at every address."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from rmls.serve.problems import MEDIA_TYPE
from rmls.serve.schemas import ProblemDocument

PROBLEMS = {
    "400": "The request cannot be read.",
    "401": "The token is missing or wrong.",
    "404": "There is no such model, label or address.",
    "408": "The request took too long to arrive.",
    "409": "The request contradicts itself.",
    "413": "The request, a text or a batch is too large.",
    "415": "The body is not said to be JSON.",
    "421": "The service is not known by this name.",
    "422": "The request is not what the service can work with.",
    "429": "Too many requests are waiting.",
    "500": "The service failed.",
    "503": "The service is busy.",
}
SCHEMA = "Problem"
# What the framework would answer.
FOREIGN = ("HTTPValidationError", "ValidationError")


def describe_problems(app: FastAPI) -> None:
    """Let the document of an application tell of problems."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_problems(make())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _with_problems(document: dict[str, Any]) -> dict[str, Any]:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in FOREIGN:
        schemas.pop(name, None)
    schemas[SCHEMA] = ProblemDocument.model_json_schema()
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{SCHEMA}"}}}
    operations = (each for path in document["paths"].values() for each in path.values())
    for operation in operations:
        for status, description in PROBLEMS.items():
            # Protocols of others have their own shape of an error.
            own = _own_content(operation["responses"].get(status, {}))
            told = {"description": description, "content": {**own, **content}}
            operation["responses"][status] = told
    return document


def _own_content(response: dict[str, Any]) -> dict[str, Any]:
    """Return what a route itself says of an answer, nothing where the framework says it."""
    content: dict[str, Any] = response.get("content", {})
    ours = [str(kind.get("schema", {}).get("$ref", "")) for kind in content.values()]
    return {} if any(name.endswith(FOREIGN) for name in ours) else content
