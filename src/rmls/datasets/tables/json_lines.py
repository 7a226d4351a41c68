"""JSON lines, one object a line, and JSON files with a list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError
from rmls.datasets.tables.chunks import MAX_CELL, Chunk, gather
from rmls.datasets.tables.streams import open_text, text_lines

# A list of rows is one value and has to be read whole.
MAX_JSON = 1 << 31


def read_json_lines(path: Path, encoding: str | None) -> Iterator[Chunk]:
    """Yield the rows of a file with one JSON object a line."""
    with open_text(path, encoding) as stream:
        yield from gather(_objects(stream, path))


def read_json(path: Path, encoding: str | None) -> Iterator[Chunk]:
    """Yield the rows of a file that is one JSON list of objects."""
    with open_text(path, encoding) as stream:
        text = "".join(text_lines(stream, path, MAX_JSON))
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            raise FileFormatError(f"this is no JSON ({_reason(error)})", path, line) from None
    if not isinstance(content, list):
        raise FileFormatError("a JSON file must be a list of objects, one for every row", path)
    yield from gather(_checked(value, path, None, row) for row, value in enumerate(content, 1))


def _objects(stream: Iterator[str], path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text_lines(stream, path, 2 * MAX_CELL), 1):
        if line.strip():
            yield _checked(_parsed(line, path, number), path, number, number)


def _parsed(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"this is no JSON object ({_reason(error)})", path, number) from None


def _checked(value: Any, path: Path, line: int | None, row: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise FileFormatError(f"row {row} must be a JSON object with names; got {kind}", path, line)
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:80]
