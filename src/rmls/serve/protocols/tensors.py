"""Tensors of the Open Inference Protocol: texts in, labels and probabilities out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rmls.serve.content import WHOLE, as_whole
from rmls.serve.problems import Problem
from rmls.serve.protocols.asking import Named

# The name of the texts, and what they are in the protocol.
TEXT, BYTES, FLOATS = "text", "BYTES", "FP32"
LABELS, PROBABILITIES = "labels", "probabilities"
DEFAULT_K = 5

OneCell = Annotated[list[str], Field(min_length=1, max_length=1)]
Size = Annotated[int, Field(ge=0, strict=True), WHOLE]


class TensorKind(BaseModel):
    """A tensor that a model takes or makes; -1 is any size."""

    name: str
    datatype: str
    shape: list[int]


class Tensor(BaseModel):
    """A tensor that is sent."""

    name: str
    shape: Annotated[list[Size], Field(min_length=1, max_length=2)]
    datatype: Literal["BYTES"]
    data: list[str | OneCell]
    parameters: dict[str, Any] | None = None


class Wanted(BaseModel):
    """A tensor that is asked for."""

    name: Literal["labels", "probabilities"]
    parameters: dict[str, Any] | None = None


class InferenceRequest(BaseModel):
    """Texts, and what is wanted of them."""

    id: str | None = None
    parameters: dict[str, Any] | None = None
    inputs: Annotated[list[Tensor], Field(min_length=1, max_length=100)]
    outputs: Annotated[list[Wanted], Field(max_length=100)] | None = None

    model_config = {
        "json_schema_extra": {
            "example": {
                "inputs": [
                    {
                        "name": "text",
                        "shape": [1],
                        "datatype": "BYTES",
                        "data": ["A boat on the lake"],
                    }
                ],
                "parameters": {"k": 5},
            }
        }
    }


class OutputTensor(BaseModel):
    """A tensor that comes back."""

    name: str
    shape: list[int]
    datatype: str
    data: list[str] | list[float]


class InferenceResponse(BaseModel):
    """Labels of texts and their probabilities."""

    model_name: str
    id: str | None = None
    outputs: list[OutputTensor]


def read_rows(inputs: Sequence[Tensor], columns: Sequence[str], limit: int) -> list[dict[str, str]]:
    """Return the cells of tensors, one mapping a row.

    One tensor holds the texts whatever its name, under ``""`` if that is no column of the model.
    Several are columns.
    """
    names = [tensor.name if tensor.name in columns else "" for tensor in inputs]
    if len(names) > 1 and "" in names:
        known = ", ".join(columns) or "none"
        raise Problem(400, f"several inputs must be columns of the model, which are: {known}.")
    sizes = {_check_shape(tensor, limit) for tensor in inputs}
    if len(sizes) > 1 or len(set(names)) < len(names):
        raise Problem(400, "every input needs a name of its own and the same number of texts.")
    cells = [list(_strings(tensor)) for tensor in inputs]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _check_shape(tensor: Tensor, limit: int) -> int:
    flat = len(tensor.shape) == 1 or (len(tensor.shape) == 2 and tensor.shape[1] == 1)
    if not flat:
        raise Problem(400, f"the shape of {tensor.name!r} must be [n] or [n, 1].")
    if tensor.shape[0] > limit:
        raise Problem(413, f"there are {tensor.shape[0]:,} texts; at most {limit:,} are taken.")
    return tensor.shape[0]


def _strings(tensor: Tensor) -> Iterator[str]:
    """Yield the texts; the data may be nested as the shape is."""
    if len(tensor.data) != tensor.shape[0]:
        raise Problem(
            400, f"{tensor.name!r} has {len(tensor.data)} texts; its shape says {tensor.shape[0]}."
        )
    for cell in tensor.data:
        yield cell if isinstance(cell, str) else cell[0]


def read_k(parameters: Mapping[str, Any] | None, limit: int) -> int:
    """Return how many labels of each text are wanted."""
    k = as_whole((parameters or {}).get("k", DEFAULT_K))
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= limit:
        raise Problem(400, f"the parameter k must be a whole number from 1 to {limit}.")
    return k


def make_outputs(
    found: Sequence[Sequence[Named]], k: int, wanted: Iterable[Wanted] | None
) -> list[OutputTensor]:
    """Return the tensors that are asked for; rows with fewer labels are filled up with ``""``."""
    full = [[*row, *([("", 0.0)] * (k - len(row)))] for row in found]
    shape = [len(full), k]
    made = {
        LABELS: OutputTensor(
            name=LABELS,
            shape=shape,
            datatype=BYTES,
            data=[label for row in full for label, _ in row],
        ),
        PROBABILITIES: OutputTensor(
            name=PROBABILITIES,
            shape=shape,
            datatype=FLOATS,
            data=[probability for row in full for _, probability in row],
        ),
    }
    names: list[str] = [tensor.name for tensor in wanted or ()]
    return [made[name] for name in names or made]
