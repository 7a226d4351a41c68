"""What the description of the addresses says of errors."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from rmls.serve.problems import MEDIA_TYPE

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of some errors, those of every address among them."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": PROBLEM}},
        }
        for status in sorted({401, 413, 429, 503, *statuses})
    }
