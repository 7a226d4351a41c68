"""Tables that are in memory: of pandas, polars, Arrow, or a mapping of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rmls.core.errors import InputError
from rmls.datasets.tables.chunks import CHUNK_ROWS, Chunk


def column_names(table: Any) -> list[str] | None:
    """Return the columns of a table in memory, None for anything else."""
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    if hasattr(table, "column_names"):  # Arrow
        return [str(name) for name in table.column_names]
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, polars
        return [str(name) for name in table.columns]
    return None


def read_frame(table: Any) -> Iterator[Chunk]:
    """Yield the rows of a table in memory."""
    names = column_names(table)
    if names is None:
        raise InputError(f"this is no table: {type(table).__name__}.")
    if not isinstance(table, Mapping) and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}.")
    own = list(table) if isinstance(table, Mapping) else _own_names(table)
    cells = [_as_list(table[name]) for name in own]
    lengths = {len(column) for column in cells}
    if len(lengths) > 1:
        raise InputError("the columns of the table differ in length.")
    for start in range(0, max(lengths, default=0) or 1, CHUNK_ROWS):
        part = [column[start : start + CHUNK_ROWS] for column in cells]
        yield Chunk(dict(zip(names, part, strict=True)), start + 1)


def _own_names(table: Any) -> list[Any]:
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def _as_list(column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)
