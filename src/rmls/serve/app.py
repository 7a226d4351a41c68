"""The service as an application of ASGI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from rmls.core.version import VERSION
from rmls.serve.document import describe
from rmls.serve.guard import Guard
from rmls.serve.problems import answer_problems
from rmls.serve.routes import (
    annif,
    feedback,
    health,
    inference,
    label_studio,
    labels,
    models,
    page,
    review,
    suggest,
)
from rmls.serve.service import Service
from rmls.serve.settings import Settings
from rmls.serve.store import ModelStore

LOG = logging.getLogger("rmls.serve")
ROUTERS = (
    health,
    suggest,
    labels,
    feedback,
    review,
    models,
    page,
    annif,
    inference,
    label_studio,
)


def make_app(store: ModelStore, settings: Settings | None = None) -> FastAPI:
    """Return the application of some models."""
    service = Service(store, settings or Settings())
    app = FastAPI(
        title="rmls",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        lifespan=_live,
        redirect_slashes=False,
    )
    app.state.service = service
    answer_problems(app)
    for family in ROUTERS:
        app.include_router(family.router)
    describe(app, service)
    app.add_middleware(Guard, service=service)
    return app


@asynccontextmanager
async def _live(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    looking = asyncio.create_task(_take_up_changes(service))
    try:
        yield
    finally:
        looking.cancel()
        service.close()


async def _take_up_changes(service: Service) -> None:
    """Look for models that were written anew, as long as the service lives."""
    told: dict[str, str] = {}
    while True:
        await asyncio.sleep(service.settings.refresh_seconds)
        try:
            # On a thread of its own: opening a large model takes a while.
            taken = await asyncio.to_thread(service.store.refresh)
        except Exception:
            LOG.exception("models could not be looked at")
            continue
        for name in taken:
            LOG.info("model %s was taken up anew", name)
        failures = dict(service.store.failures)
        for name in failures.keys() - {key for key in told if told[key] == failures.get(key)}:
            LOG.warning("model %s stays as it was: %s", name, failures[name])
        told = failures
