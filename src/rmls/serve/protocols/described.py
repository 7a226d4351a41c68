"""What the OpenAPI document says of this service's own models: names, languages and tensors."""

from __future__ import annotations

from typing import Any

from rmls.serve.protocols.asking import MAX_SUGGESTIONS, text_columns
from rmls.serve.protocols.languages import UNKNOWN, language_code
from rmls.serve.service import Service

MODELS = ("model", "name", "project_id")
LANGUAGE = "language"
FORM = "/v1/projects/{project_id}/suggest"


def describe_models(document: dict[str, Any], service: Service) -> None:
    """Write the names of the models, their languages and the size of tensors into a document."""
    languages = _languages(service)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in MODELS:
                    parameter["schema"] = _one_of(service.store.names, parameter)
                elif parameter["name"] == LANGUAGE and languages:
                    parameter["schema"] = _one_of(languages, parameter)
    if languages:
        (form,) = document["paths"][FORM]["post"]["requestBody"]["content"].values()
        form["schema"]["properties"][LANGUAGE]["enum"] = languages
    _describe_tensors(document["components"]["schemas"], service)


def _one_of(values: list[str], parameter: dict[str, Any]) -> dict[str, Any]:
    choice: dict[str, Any] = {"type": "string", "enum": values}
    title = {"title": parameter["schema"]["title"]}
    if parameter["in"] == "path":
        return {**choice, **title}
    return {"anyOf": [choice, {"type": "null"}], **title}


def _languages(service: Service) -> list[str]:
    """Return the languages that may be asked for; none where any may."""
    served = [service.store.get(name) for name in service.store.names]
    own = {language_code(one.model.features_.language_) for one in served}
    # An empty one is that of the model.
    return [] if UNKNOWN in own else ["", *sorted(own)]


def _describe_tensors(schemas: dict[str, Any], service: Service) -> None:
    limit = service.settings.max_texts
    tensor, request = schemas["Tensor"]["properties"], schemas["InferenceRequest"]["properties"]
    sizes = [{"type": "integer", "minimum": 0, "maximum": limit}, {"const": 1}]
    shape = {"type": "array", "prefixItems": sizes, "minItems": 1, "maxItems": 2}
    tensor["shape"] = {**shape, "title": "Shape", "description": "[n] or [n, 1], as the data is."}
    tensor["data"]["maxItems"] = limit
    k = {"type": "integer", "minimum": 1, "maximum": MAX_SUGGESTIONS}
    request["parameters"]["anyOf"][0]["properties"] = {"k": k}
    names = [text_columns(service.store.get(name)) for name in service.store.names]
    columns = list(dict.fromkeys(column for one in names for column in one))
    # One tensor is the text whatever its name; several are columns.
    one = {**request["inputs"], "maxItems": 1}
    request["inputs"] = {"title": one.pop("title"), "anyOf": [one]}
    if columns:
        column = {"properties": {"name": {"enum": columns}}}
        several = {**one, "maxItems": max(map(len, names)), "minItems": 2}
        several["items"] = {"allOf": [one["items"], column]}
        request["inputs"]["anyOf"].append(several)
