"""What a request may hold: kinds of bodies, numbers and lengths of texts."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from rmls.serve.problems import Problem
from rmls.serve.settings import Settings
from rmls.serve.texts import Text, count_characters


async def takes_json(request: Request) -> None:
    """Refuse a body that is not said to be JSON.

    A page of another site can make a browser send a form, but no JSON without being asked.
    """
    if request.method != "POST":
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Problem(415, "send JSON, with the header Content-Type: application/json.")


def check_texts(texts: Sequence[Text], settings: Settings) -> None:
    """Refuse more or longer texts than a request may have."""
    if len(texts) > settings.max_texts:
        raise Problem(413, f"a request may have {settings.max_texts:,} texts; got {len(texts):,}.")
    longest = max(map(count_characters, texts), default=0)
    if longest > settings.max_characters:
        raise Problem(
            413, f"a text may have {settings.max_characters:,} characters; got {longest:,}."
        )
