"""The Open Inference Protocol, version 2: health, what there is, and texts in, labels out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from rmls.core.errors import RmlsError
from rmls.core.version import VERSION
from rmls.serve.content import takes_json
from rmls.serve.problems import Problem
from rmls.serve.protocols import tensors
from rmls.serve.protocols.asking import (
    MAX_SUGGESTIONS,
    check_text,
    place,
    suggest,
    text_columns,
)
from rmls.serve.service import Service, get_service
from rmls.serve.work import run


class Failure(BaseModel):
    """What went wrong, in the protocol's shape."""

    error: str


class ProtocolRoute(APIRoute):
    """An address whose errors have the protocol's shape."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except Problem as problem:
                return JSONResponse({"error": problem.detail}, problem.status, problem.headers)
            except HTTPException as error:
                # A body that is no text, or too deep.
                return JSONResponse({"error": f"{error.detail}."}, error.status_code)
            except RmlsError as error:
                return JSONResponse({"error": str(error)}, 400)
            except RequestValidationError as error:
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"] if part != "body")
                sentence = f"{where}: {first['msg']}." if where else f"{first['msg']}."
                return JSONResponse({"error": sentence}, 400)

        return handle


FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Failure, "description": HTTPStatus(status).phrase}
    for status in (400, 404, 413, 415, 429, 503)
}


router = APIRouter(
    prefix="/v2",
    dependencies=[Depends(takes_json)],
    tags=["Open Inference Protocol"],
    route_class=ProtocolRoute,
    responses=FAILURES,
)
Here = Annotated[Service, Depends(get_service)]


class Live(BaseModel):
    """Whether the server lives."""

    live: bool


class Ready(BaseModel):
    """Whether the server can answer; one version of the protocol's text calls that live, too."""

    ready: bool
    live: bool


class ModelReady(BaseModel):
    """Whether a model can answer."""

    name: str
    ready: bool


class Server(BaseModel):
    """Who answers."""

    name: str
    version: str
    extensions: list[str]


class Metadata(BaseModel):
    """A model, what it takes and what it makes."""

    name: str
    platform: str
    inputs: list[tensors.TensorKind]
    outputs: list[tensors.TensorKind]


@router.get("/health/live")
def show_live() -> Live:
    """Tell that the process answers."""
    return Live(live=True)


@router.get("/health/ready")
def show_ready(service: Here) -> Ready:
    """Tell whether all models can be asked."""
    return Ready(ready=bool(service.store.names), live=True)


@router.get("")
def describe_server() -> Server:
    """Tell the name and the version of this service."""
    return Server(name="rmls", version=VERSION, extensions=[])


@router.get("/models/{name}")
def describe_model(service: Here, name: str) -> Metadata:
    """Tell the tensors of a model."""
    columns = text_columns(service.store.get(name)) or (tensors.TEXT,)
    kind = tensors.TensorKind
    return Metadata(
        name=name,
        platform="rmls",
        inputs=[kind(name=one, datatype=tensors.BYTES, shape=[-1]) for one in columns],
        outputs=[
            kind(name=tensors.LABELS, datatype=tensors.BYTES, shape=[-1, -1]),
            kind(name=tensors.PROBABILITIES, datatype=tensors.FLOATS, shape=[-1, -1]),
        ],
    )


@router.get("/models/{name}/ready")
def show_model_ready(service: Here, name: str) -> ModelReady:
    """Tell whether a model can be asked."""
    return ModelReady(name=service.store.get(name).name, ready=True)


@router.post("/models/{name}/infer", response_model_exclude_none=True)
async def infer(
    service: Here, name: str, asked: tensors.InferenceRequest
) -> tensors.InferenceResponse:
    """Return the best labels of texts, and how likely each is right."""
    served = service.store.get(name)
    k = tensors.read_k(asked.parameters, MAX_SUGGESTIONS)
    limit = service.settings.max_texts
    texts = []
    for row in tensors.read_rows(asked.inputs, text_columns(served), limit):
        cells = {name: check_text(service, text) for name, text in row.items()}
        texts.append(place(served, cells.pop("", ""), cells))
    found = await run(service, suggest, served, texts, k)
    width = min(k, len(served.model.classes_))
    outputs = tensors.make_outputs(found, width, asked.outputs)
    return tensors.InferenceResponse(model_name=name, id=asked.id, outputs=outputs)
