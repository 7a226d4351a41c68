"""The service as an application of ASGI."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from rmls.core.version import VERSION
from rmls.serve.problems import Problem
from rmls.serve.routes import health
from rmls.serve.service import Service
from rmls.serve.settings import Settings
from rmls.serve.store import ModelStore


def make_app(store: ModelStore, settings: Settings | None = None) -> FastAPI:
    """Return the application of some models."""
    app = FastAPI(title="rmls", version=VERSION, docs_url=None, redoc_url=None)
    app.state.service = Service(store, settings or Settings())
    app.add_exception_handler(Problem, _answer_problem)
    app.include_router(health.router)
    return app


def _answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()
