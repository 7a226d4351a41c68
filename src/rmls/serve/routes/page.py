"""The page: files of the package, read once, and nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request, Response

from rmls.serve.problems import Problem

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

router = APIRouter(include_in_schema=False)

START: Final = "index.html"
MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page as it is sent.

    Attributes
    ----------
    content : bytes
    headers : dict of str to str
    """

    content: bytes
    headers: dict[str, str]

    @property
    def tag(self) -> str:
        """What tells this content from any other."""
        return self.headers["ETag"]


@cache
def page_files() -> dict[str, PageFile]:
    """Return all files of the page by name.

    A request is answered from this dictionary: what it names is looked up and never opened.
    """
    return dict(_walk(files("rmls.serve").joinpath("page"), ""))


def _walk(folder: Traversable, above: str) -> list[tuple[str, PageFile]]:
    found = []
    for entry in folder.iterdir():
        name = above + entry.name
        if entry.is_dir():
            found += _walk(entry, f"{name}/")
        elif (media_type := MEDIA_TYPES.get(name[name.rfind(".") :])) is not None:
            found.append((name, _make_file(entry.read_bytes(), media_type)))
    return found


def _make_file(content: bytes, media_type: str) -> PageFile:
    headers = {
        "Content-Type": media_type,
        # Kept by the browser, but asked for each time: a new version shows at once.
        "Cache-Control": "no-cache",
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
    }
    return PageFile(content, headers)


@router.api_route("/", methods=["GET", "HEAD"])
def start(request: Request) -> Response:
    """Answer with the page."""
    return _answer(request, START)


@router.api_route("/page/{name:path}", methods=["GET", "HEAD"])
def page_file(request: Request, name: str) -> Response:
    """Answer with a file of the page."""
    return _answer(request, name)


def _answer(request: Request, name: str) -> Response:
    found = page_files().get(name)
    if found is None:
        raise Problem(404, "the page has no such file.")
    known = [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]
    # A proxy that compresses makes the tag a weak one; the content is the same.
    if "*" in known or found.tag in [tag.removeprefix("W/") for tag in known]:
        kept = {key: value for key, value in found.headers.items() if key != "Content-Type"}
        return Response(status_code=304, headers=kept)
    return Response(found.content, headers=found.headers)
