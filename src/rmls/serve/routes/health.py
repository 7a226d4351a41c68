"""Whether the service lives, whether it can answer, and what it counts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel

from rmls.serve.service import Service, get_service

router = APIRouter(tags=["health"])
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Live(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """Models can be asked."""

    status: Literal["ready"] = "ready"
    models: list[str]
    failures: dict[str, str] = {}


@router.get("/healthz")
async def live() -> Live:
    """Tell that the process answers."""
    return Live()


@router.get("/readyz")
async def ready(service: Annotated[Service, Depends(get_service)]) -> Ready:
    """Tell which models can be asked, and which of them could not be taken up anew."""
    store = service.store
    return Ready(models=store.names, failures=dict(store.failures))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(service: Annotated[Service, Depends(get_service)]) -> Response:
    """Count requests, for Prometheus; of one process, where there are several workers."""
    return Response(service.telemetry.text(), media_type=METRICS_TYPE)
