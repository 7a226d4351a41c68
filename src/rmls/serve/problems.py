"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"


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
