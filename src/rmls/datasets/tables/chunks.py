"""Rows of a table as they are read: some at a time, by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# Rows that are held at a time; a file larger than memory is read like any other.
CHUNK_ROWS = 4096
# A cell beyond it is a file that was read wrongly: a quotation mark that is never closed.
MAX_CELL = 1 << 24


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a table.

    Attributes
    ----------
    columns : dict of str to list
        The cells of every column, of equal number.
    first_row : int
        Number of the first row, from 1, without the header.
    """

    columns: dict[str, list[Any]]
    first_row: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0


@dataclass(frozen=True)
class Table:
    """A table that is read chunk by chunk.

    Attributes
    ----------
    name : str
        What messages call it.
    chunks : callable
        Returns the rows from the beginning, every time it is called; a stream only once.
    text, labels : str or None
        The columns with these roles, where the format knows them.
    """

    name: str
    chunks: Callable[[], Iterator[Chunk]]
    text: str | None = None
    labels: str | None = None


def gather(rows: Iterator[dict[str, Any]]) -> Iterator[Chunk]:
    """Return chunks of rows that come as mappings; a column that a row lacks is None there."""
    first, number = 1, 0
    columns: dict[str, list[Any]] = {}
    for row in rows:
        if number == CHUNK_ROWS:
            yield Chunk(columns, first)
            first += number
            # Known columns stay, so that every chunk has those of the one before.
            columns, number = {name: [] for name in columns}, 0
        for name in row:
            if name not in columns:
                columns[name] = [None] * number
        for name, cells in columns.items():
            cells.append(row.get(name))
        number += 1
    if number:
        yield Chunk(columns, first)
