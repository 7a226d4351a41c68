"""What schemathesis cannot read in the OpenAPI document: formats, and numbers that must agree.

Loaded by schemathesis (the variable SCHEMATHESIS_HOOKS), in whatever interpreter that runs.
"""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import schemathesis
from hypothesis import strategies as st

MAX_TEXTS = 100
# XML has no place for other control characters, nor for halves of characters.
NAMES = st.text(st.characters(exclude_categories=("C",)), min_size=1, max_size=20)


@st.composite
def label_configs(draw: st.DrawFn) -> str:
    """Return a configuration of Label Studio that asks for labels of a text."""
    text, control, key = (quoteattr(draw(NAMES).replace(",", ".").strip() or "x") for _ in "abc")
    tag = draw(st.sampled_from(("Choices", "Taxonomy")))
    choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in draw(st.lists(NAMES)))
    how = draw(st.sampled_from(("", ' choice="multiple"', ' choice="single"', ' maxUsages="1"')))
    return (
        f"<View><Text name={text} value={key[0]}${key[1:]}/>"
        f"<{tag} name={control} toName={text}{how}>{choices}</{tag}></View>"
    )


schemathesis.openapi.format("label-config", label_configs())


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Let tensors agree with one another and with their shapes; no schema can say that."""
    body = case.body
    if not case.path.endswith("/infer") or not isinstance(body, dict):
        return
    inputs = body.get("inputs")
    if isinstance(inputs, list) and all(isinstance(tensor, dict) for tensor in inputs):
        _differ(inputs, _columns(case.operation.schema.raw_schema))
        size = max((len(data) for tensor in inputs if (data := _data(tensor))), default=0)
        for tensor in inputs:
            _agree(tensor, size)


def _columns(document: dict[str, Any]) -> list[str]:
    """Return the names that several tensors may have."""
    request = document["components"]["schemas"]["InferenceRequest"]["properties"]
    several = request["inputs"]["anyOf"][1:]
    return several[0]["items"]["allOf"][1]["properties"]["name"]["enum"] if several else []


def _differ(inputs: list[dict[str, Any]], columns: list[str]) -> None:
    """Give another name to a tensor that has the name of one before it."""
    seen: list[Any] = []
    for tensor in inputs:
        name = tensor.get("name")
        if name in columns and name in seen:
            tensor["name"] = next((other for other in columns if other not in seen), name)
        seen.append(tensor.get("name"))


def _data(tensor: dict[str, Any]) -> list[Any]:
    data = tensor.get("data")
    return data if isinstance(data, list) else []


def _agree(tensor: dict[str, Any], size: int) -> None:
    """Fill up the data of a tensor and correct its shape; one that is wrong by itself stays."""
    shape, data = tensor.get("shape"), tensor.get("data")
    if not (isinstance(shape, list) and shape and isinstance(data, list) and size <= MAX_TEXTS):
        return
    if type(shape[0]) in (int, float) and shape[0] in range(MAX_TEXTS + 1):
        tensor["data"] = [*data, *[""] * (size - len(data))]
        tensor["shape"] = [size, *shape[1:]]
