"""Rows that wait for a person, ordered by how much an answer would help."""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rmls.serve.texts import Text

RARE_GROUPS = ("tail", "unseen")


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
    """A bounded number of rows in the memory of one process; the least helpful make room."""

    def __init__(self, size: int) -> None:
        self._size, self._rows = size, dict[str, Waiting]()
        self._lock = threading.Lock()

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
            rows.append(Waiting(uuid.uuid4().hex, model, text, suggestions, why, value))
        with self._lock:
            self._rows.update({row.id: row for row in rows})
            for row in self._ordered()[self._size :]:
                del self._rows[row.id]
        return [row.id for row in rows]

    def first(self, model: str, limit: int) -> list[Waiting]:
        """Return the rows of a model whose answers would help most."""
        with self._lock:
            return [row for row in self._ordered() if row.model == model][:limit]

    def answered(self, name: str) -> None:
        """Take out a row that a person has looked at."""
        with self._lock:
            self._rows.pop(name, None)

    def _ordered(self) -> list[Waiting]:
        return sorted(self._rows.values(), key=lambda row: -row.value)


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
