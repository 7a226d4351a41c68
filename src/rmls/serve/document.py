"""The OpenAPI document: problems at every address, and the limits and columns of this service."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from rmls.serve.problems import MEDIA_TYPE
from rmls.serve.protocols.described import describe_models
from rmls.serve.schemas import ProblemDocument
from rmls.serve.service import Service
from rmls.serve.texts import ALONE

PROBLEMS = {
    "400": "The request cannot be read.",
    "401": "The token is missing or wrong.",
    "403": "The service is not set up for this.",
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
REQUESTS = ("OneText", "ManyTexts", "WhyAsked", "Told", "RowsAsked")
TEXT, NUMBER = ("string", "null"), ("number", "null")
LISTED = {"items": {"type": "string"}}
# What the framework would answer.
FOREIGN = ("HTTPValidationError", "ValidationError")


def describe(app: FastAPI, service: Service) -> None:
    """Let the document of an application tell of problems, of its limits and of its columns."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_limits(_with_problems(make()), service)
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


def _with_limits(document: dict[str, Any], service: Service) -> dict[str, Any]:
    """Say how many texts a request may have, and which columns a text."""
    schemas, settings = document["components"]["schemas"], service.settings
    columns = _columns_schema(service)
    # In words: what is longer is refused with 413, not as a text that breaks the document.
    longest = f"At most {settings.max_characters:,} characters."
    for name in REQUESTS:
        properties = schemas[name]["properties"]
        if "texts" in properties:
            properties["texts"]["maxItems"] = settings.max_texts
        given = properties["texts"]["items"] if "texts" in properties else properties["text"]
        given["anyOf"] = [
            {**kind, "description": longest} if kind["type"] == "string" else columns
            for kind in given["anyOf"]
        ]
    describe_models(document, service)
    return document


def _columns_schema(service: Service) -> dict[str, Any]:
    """Return what a text of columns looks like, for all models together."""
    properties: dict[str, Any] = {}
    for name in service.store.names:
        features = service.store.get(name).model.features_
        roles = features.column_roles_
        properties |= {str(field): {"type": [*TEXT]} for field in features.fields_ or ()}
        properties |= {str(name): {"type": [*TEXT, "array"], **LISTED} for name in roles.categories}
        properties |= {str(column): {"type": [*NUMBER]} for column in roles.numbers}
        if features.vectors is not None:
            numbers = {"type": "number"}
            size = {"minItems": features.n_dense_, "maxItems": features.n_dense_}
            properties[str(features.vectors)] = {"type": "array", "items": numbers, **size}
    shape: dict[str, Any] = {"type": "object", "additionalProperties": False, "minProperties": 1}
    if properties:
        return {**shape, "properties": properties}
    # Without columns an object is a text by another name.
    return {**shape, "properties": {ALONE: {"type": "string"}}, "required": [ALONE]}
