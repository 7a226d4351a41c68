"""Feedback that a service has kept, as rows to learn from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError, InputError

KEYS = {"id", "time", "model", "text", "accepted", "rejected", "added"}
# Rows that are learned at a time.
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class ToldRows:
    """Rows that people said something about.

    Attributes
    ----------
    X : texts, as the model takes them
    right, wrong : list of list of str
    n_empty : int
        Entries that say nothing.
    """

    X: Any
    right: list[list[str]]
    wrong: list[list[str]]
    n_empty: int


def is_feedback(data: str) -> bool:
    """Tell whether a file is one that `rmls serve` has written."""
    path = Path(data)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        first = stream.readline(1 << 24)
    try:
        entry = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and entry.keys() >= KEYS


def read_feedback(model: Any, path: Path, name: str) -> Iterator[ToldRows]:
    """Yield the rows of a file; of several models those of the one that has this name."""
    served = {entry["model"] for entry in _entries(path)}
    if len(served) > 1 and name not in served:
        listed = ", ".join(sorted(map(str, served)))
        raise InputError(f"{path} has feedback for {listed}; the model is called {name!r}.")
    some: list[dict[str, Any]] = []
    for entry in _entries(path):
        if len(served) == 1 or entry["model"] == name:
            some.append(entry)
        if len(some) == CHUNK_ROWS:
            yield _rows(model, some)
            some = []
    if some:
        yield _rows(model, some)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                if not line.endswith(b"\n"):
                    # The service is writing it just now, or was killed while it did.
                    return
                raise FileFormatError("the line is no JSON", path, line=number) from None
            if not isinstance(entry, dict) or not entry.keys() >= KEYS:
                raise FileFormatError("the line is no feedback", path, line=number)
            yield entry


def _rows(model: Any, entries: list[dict[str, Any]]) -> ToldRows:
    from rmls.serve.texts import as_rows

    known = set(map(str, model.classes_.tolist()))
    right = [sorted({*entry["accepted"], *entry["added"]}) for entry in entries]
    # A label that is gone since cannot be suggested any more.
    wrong = [[label for label in entry["rejected"] if label in known] for entry in entries]
    told = [i for i in range(len(entries)) if right[i] or wrong[i]]
    X = as_rows(model, [entries[i]["text"] for i in told]) if told else []
    return ToldRows(X, [right[i] for i in told], [wrong[i] for i in told], len(entries) - len(told))
