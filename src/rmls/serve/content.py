"""What kind of body a request has."""

from __future__ import annotations

from fastapi import Request

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
