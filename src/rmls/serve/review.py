"""Rows that wait for a person, ordered by how much an answer would help."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmls.serve.texts import Text

RARE_GROUPS = ("tail", "unseen")
LOCK_SECONDS = 5.0
TABLE = """
CREATE TABLE IF NOT EXISTS waiting
(number INTEGER PRIMARY KEY, id TEXT UNIQUE, model TEXT, value REAL, content TEXT)
"""
# The most helpful first; of equals, that which came first.
ORDER = "ORDER BY value DESC, number LIMIT ?"


@dataclass(frozen=True)
class Waiting:
    """A row that waits.

    Attributes
    ----------
    id : str
    model : str
    text : str or mapping of columns
    suggestions : list of dict
    why : str
        What an answer would help with.
    value : float
        How much it would.
    """

    id: str
    model: str
    text: Text
    suggestions: list[dict[str, Any]]
    why: str
    value: float


class ReviewQueue:
    """A bounded number of rows; the least helpful make room.

    With a file the processes of a service share them, so that a row is shown by whichever is asked,
    and by none when it was answered. Without one they are in the memory of this process.
    """

    def __init__(self, size: int, path: Path | None = None) -> None:
        self._size, self._lock = size, threading.Lock()
        # Threads take turns by the lock, processes by that of the file.
        self._rows = sqlite3.connect(
            path or ":memory:", timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        # It lives as long as the service: nothing has to be on the disk.
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute(TABLE)

    def add(
        self,
        model: str,
        texts: Sequence[Text],
        found: Sequence[list[dict[str, Any]]],
        groups: Sequence[Sequence[str]],
    ) -> list[str]:
        """Put rows into the queue, with suggestions and the groups of their labels."""
        rows = []
        for text, suggestions, rare in zip(texts, found, groups, strict=True):
            value, why = judge(suggestions, rare)
            content = json.dumps({"text": text, "suggestions": suggestions, "why": why})
            rows.append((uuid.uuid4().hex, model, value, content))
        with self._changing():
            insert = "INSERT INTO waiting (id, model, value, content) VALUES (?, ?, ?, ?)"
            self._rows.executemany(insert, rows)
            self._rows.execute(
                f"DELETE FROM waiting WHERE id NOT IN (SELECT id FROM waiting {ORDER})",
                (self._size,),
            )
        return [name for name, *_ in rows]

    def first(self, model: str, limit: int) -> list[Waiting]:
        """Return the rows of a model whose answers would help most."""
        with self._lock:
            found = self._rows.execute(
                f"SELECT id, model, value, content FROM waiting WHERE model = ? {ORDER}",
                (model, limit),
            ).fetchall()
        return [
            Waiting(id=name, model=model, value=value, **json.loads(content))
            for name, model, value, content in found
        ]

    def answered(self, name: str) -> None:
        """Take out a row that a person has looked at."""
        with self._changing():
            self._rows.execute("DELETE FROM waiting WHERE id = ?", (name,))

    def close(self) -> None:
        """Let the rows go."""
        with self._lock:
            self._rows.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change rows, all or nothing."""
        with self._lock, self._rows:
            # At once: a lock that is asked for in the middle could be refused.
            self._rows.execute("BEGIN IMMEDIATE")
            yield


def judge(suggestions: Sequence[dict[str, Any]], groups: Sequence[str]) -> tuple[float, str]:
    """Return how much an answer would help, and with what.

    The variance of every suggestion, weighed up where few rows show its label: one more row is
    half of all that is known of a label with one.

    Examples
    --------
    >>> sure, unsure = {"probability": 0.99, "rows": 50}, {"probability": 0.5, "rows": 50}
    >>> judge([sure], ["head"])[0] < judge([unsure], ["head"])[0]
    True
    >>> judge([{"probability": 0.5, "rows": 1}], ["tail"])[1]
    'rare label'
    """
    total, best, why = 0.0, 0.0, "uncertain"
    for each, group in zip(suggestions, groups, strict=True):
        chance = each["probability"] if each["probability"] is not None else 0.5
        value = chance * (1 - chance) * (1 + 1 / math.log2(2 + each["rows"]))
        total += value
        if value > best:
            best, why = value, "rare label" if group in RARE_GROUPS else "uncertain"
    return total, why
