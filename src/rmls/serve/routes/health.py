"""Whether the service lives, and whether it can answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from rmls.serve.service import Service, get_service

router = APIRouter(tags=["health"])


@router.get("/healthz")
def live() -> dict[str, str]:
    """Tell that the process answers."""
    return {"status": "ok"}


@router.get("/readyz")
def ready(service: Annotated[Service, Depends(get_service)]) -> dict[str, object]:
    """Tell which models can be asked."""
    return {"status": "ready", "models": service.store.names}
