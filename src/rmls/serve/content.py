"""What kind of body a request has, and what numbers are in it."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from pydantic import BeforeValidator

from rmls.serve.problems import Problem


async def takes_json(request: Request) -> None:
    """Refuse a body that is not said to be JSON.

    A page of another site can make a browser send a form, but no JSON without being asked.
    """
    if request.method != "POST":
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Problem(415, "send JSON, with the header Content-Type: application/json.")


def as_whole(value: Any) -> Any:
    """Return a whole number as one, however it is written, and all else as it is.

    Examples
    --------
    >>> as_whole(5.0), as_whole(5.5), as_whole("5")
    (5, 5.5, '5')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


# JSON Schema takes 5.0 for an integer; what else is no int is left to a strict field.
WHOLE = BeforeValidator(as_whole)
