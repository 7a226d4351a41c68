"""The page: files of the package, read once, at addresses that are known before."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Response

from rmls.serve.problems import Problem

router = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).parent.parent / "page"
START = "index.html"
# What systems disagree about, or do not know.
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2"}


@dataclass(frozen=True)
class PageFile:
    """A file of the page."""

    content: bytes
    kind: str
    tag: str


@cache
def read_files() -> dict[str, PageFile]:
    """Return the files of the page by name: no name of a request is ever opened."""
    found = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return {path.relative_to(FOLDER).as_posix(): _read(path) for path in found}


def _read(path: Path) -> PageFile:
    content = path.read_bytes()
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    kind = kind or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return PageFile(content, kind, f'"{sha256(content).hexdigest()[:16]}"')


IfNoneMatch = Annotated[str | None, Header()]


@router.api_route("/", methods=["GET", "HEAD"])
async def start(if_none_match: IfNoneMatch = None) -> Response:
    """Show the page."""
    return _answer(START, if_none_match)


@router.api_route("/page/{name:path}", methods=["GET", "HEAD"])
async def file(name: str, if_none_match: IfNoneMatch = None) -> Response:
    """Return a file of the page."""
    return _answer(name or START, if_none_match)


def _answer(name: str, known: str | None) -> Response:
    found = read_files().get(name)
    if found is None:
        raise Problem(404, "there is nothing at this address.")
    # Asked for again each time, and answered in a few bytes where nothing has changed.
    headers = {"ETag": found.tag, "Cache-Control": "no-cache"}
    if known == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.kind)
