"""What the routes of a service share."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from rmls.serve.settings import Settings
from rmls.serve.store import ModelStore


@dataclass(frozen=True)
class Service:
    """Models and limits."""

    store: ModelStore
    settings: Settings


def get_service(request: Request) -> Service:
    """Return the service that a request came to."""
    service: Service = request.app.state.service
    return service
