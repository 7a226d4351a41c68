"""Labels from a mapping: id to name, or id to an object; of Python or a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError, InputError
from rmls.core.label_text import LabelText
from rmls.core.words import shorten
from rmls.datasets.label_text.entries import Entry, build, read_cell, read_cells
from rmls.datasets.label_text.tables import Wanted, read_table
from rmls.datasets.tables.chunks import Chunk, gather
from rmls.datasets.tables.json_lines import MAX_JSON
from rmls.datasets.tables.streams import open_text, text_lines

# The column that the keys of a mapping would be.
KEY = "id"


class _Object(dict[str, Any]):
    """A JSON object that remembers a name that it has twice."""

    twice: str | None = None


def read_json_file(path: Path, encoding: str | None) -> Any:
    """Return what a JSON file holds."""
    with open_text(path, encoding) as stream:
        text = "".join(text_lines(stream, path, MAX_JSON))
    try:
        return json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        reason = getattr(error, "msg", "nested too deeply")
        raise FileFormatError(f"this is no JSON ({reason})", path, line) from None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        found.twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return found


def read_json_content(content: Any, wanted: Wanted) -> LabelText:
    """Return the labels of a JSON file: a mapping, a list of objects, or a list of names."""
    if isinstance(content, Mapping):
        return read_mapping(content, wanted)
    if not isinstance(content, list):
        raise InputError("labels are a JSON object or a list.")
    if all(isinstance(value, str) for value in content):
        return read_table([Chunk({"name": content}, 1)], wanted)
    for number, value in enumerate(content, 1):
        if not isinstance(value, dict):
            raise InputError(
                f"row {number} must be a JSON object with names; got {type(value).__name__}."
            )
    return read_table(gather(iter(content)), wanted)


def read_mapping(mapping: Mapping[Any, Any], wanted: Wanted) -> LabelText:
    """Return the labels of a mapping from ids to names, lists of names, or objects."""
    twice = getattr(mapping, "twice", None)
    if twice is not None:
        raise InputError(f"the label {shorten(twice)!r} is there twice.")
    values = [value for value in mapping.values() if value is not None]
    if any(isinstance(value, Mapping) for value in values):
        return read_table(gather(_objects(mapping)), wanted)
    entries = list(_entries(mapping.items()))
    return build(entries, found=["a mapping from labels to names"])


def _objects(mapping: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for key, value in mapping.items():
        if value is not None and not isinstance(value, (Mapping, str)):
            raise InputError(
                f"label {shorten(str(key))!r}: an object with its name is needed; "
                f"got {type(value).__name__}."
            )
        fields = value if isinstance(value, Mapping) else {"name": value}
        yield {**fields, KEY: key}


def _entries(items: Iterable[tuple[Any, Any]]) -> Iterator[Entry]:
    for key, value in items:
        label = read_cell(key, "a label")
        where = f"label {shorten(label)!r}"
        if not label:
            raise InputError("a label of the mapping is empty.")
        names = read_cells(value, where, None)
        name, others = (names[0], names[1:]) if names else ("", [])
        yield Entry(id=label, name=name, alternatives=others)
