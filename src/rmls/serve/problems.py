"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rmls.core.errors import RmlsError

MEDIA_TYPE = "application/problem+json"
# Errors of a request that are told; the rest is counted.
MAX_ERRORS = 5
LOG = logging.getLogger("rmls.serve")
SENTENCES = {
    400: "the body is no JSON.",
    404: "there is nothing at this address.",
    405: "this address does not take this method.",
}


class Problem(Exception):
    """An answer that is no success: a status, one sentence, and what a program may want to know."""

    def __init__(
        self, status: int, detail: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, headers, more

    def response(self) -> JSONResponse:
        """Return the document."""
        content = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def busy(status: int, detail: str, seconds: int = 1) -> Problem:
    """Return a problem that goes away by itself."""
    return Problem(status, detail, headers={"Retry-After": str(seconds)})


def answer_problems(app: FastAPI) -> None:
    """Let an application answer every error with a problem document."""
    # Coroutines all: a plain function would be called on another thread.
    app.add_exception_handler(Problem, _of_problem)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(RmlsError, _of_input)


def internal_problem(error: BaseException) -> Problem:
    """Return what is answered when we are wrong; the log holds where, and no part of a text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    # The message of an error may repeat what was asked.
    LOG.error("%s%s", type(error).__name__, where)
    return Problem(500, "the service failed; its log says where.")


async def _of_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = SENTENCES.get(error.status_code, str(error.detail))
    headers = None if error.headers is None else dict(error.headers)
    return Problem(error.status_code, detail, headers=headers).response()


async def _of_input(_: Request, error: Exception) -> Response:
    return Problem(422, str(error)).response()


async def _of_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        # What was given is not repeated: it may be long, and no text at all.
        {"at": ".".join(map(str, each["loc"]))[:200], "detail": str(each["msg"])[:200]}
        for each in error.errors()[:MAX_ERRORS]
    ]
    if any(each["type"] == "json_invalid" for each in error.errors()):
        return Problem(400, "the body is no JSON.", errors=found).response()
    first = f"{found[0]['at']}: {found[0]['detail']}" if found else "the request is not valid"
    return Problem(422, f"{first}.", errors=found).response()
