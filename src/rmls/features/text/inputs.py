"""Texts in whatever container they come: lists, arrays, columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.features.text.columns import Column, ColumnRoles, ColumnScan, scan_columns

MAX_SHOWN = 40
LONGEST = 8
UNEVEN = "the columns of the table differ in length."


@dataclass(frozen=True)
class TextRows:
    """Rows of one or several text fields.

    Attributes
    ----------
    pieces : list of str
        The fields of the first row, then those of the second, and so on.
    fields : tuple of str or None
        Names of the fields, where they have names.
    n_fields : int
    """

    pieces: list[str]
    fields: tuple[str, ...] | None
    n_fields: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.pieces) // self.n_fields


def read_texts(X: Any, fields: Sequence[str] | None = None) -> TextRows:
    """Return the text fields of every row.

    Parameters
    ----------
    X : sequence of str, sequence of tuples of str, mapping of columns, or table
        Tables are those of pandas, polars and Arrow. None and nan are empty texts.
    fields : sequence of str, optional
        The columns of a table to read; all of them without it.

    Examples
    --------
    >>> read_texts(["one text", "another"]).n_fields
    1
    >>> read_texts({"title": ["A"], "body": ["a text"]}).pieces
    ['A', 'a text']
    """
    columns = _columns(X, fields)
    if columns is not None:
        names = tuple(columns)
        rows: Iterable[Sequence[Any]] = zip(*_listed(columns), strict=True)
        return TextRows(_pieces(rows, names), names, len(names))
    listed = _list_rows(X)
    if listed and isinstance(listed[0], (tuple, list)):
        return TextRows(_pieces(listed, None), None, len(listed[0]))
    return TextRows(_pieces(((text,) for text in listed), None), None, 1)


def read_rows(
    X: Any, fields: Sequence[str] | None, roles: ColumnRoles, *, alone: bool
) -> tuple[TextRows, dict[Column, list[Any]]]:
    """Return the text fields of every row, and the cells of the columns that are no texts.

    Parameters
    ----------
    X : as for `read_texts`
    fields : sequence of str, optional
        The columns with the texts; all that have no other role without it.
    roles : ColumnRoles
    alone : bool
        Whether texts may come without the columns, which are empty then.
    """
    if not roles.all:
        return read_texts(X, fields), {}
    names = table_names(X)
    if names is not None:
        columns = _columns(X, roles.all) or {}
        texts = [name for name in names if name not in roles.all] if fields is None else fields
        cells = dict(zip(roles.all, _listed(columns), strict=True))
        n_rows = len(next(iter(cells.values())))
        # Without a text there is an empty one, so that rows are rows.
        rows = read_texts(X, texts) if texts else TextRows([""] * n_rows, (), 1)
        if rows.n_rows != n_rows:
            raise InputError(UNEVEN)
        return rows, cells
    listed = _list_rows(X)
    if listed and isinstance(listed[0], (tuple, list)):
        return _divide_tuples(listed, roles)
    if not alone:
        raise InputError(
            "categories and numbers need rows with columns: a table, a mapping of columns or "
            "tuples; got texts alone."
        )
    return read_texts(listed), {}


def read_again(
    X: Any, fields: Sequence[str] | None, n_fields: int, roles: ColumnRoles
) -> tuple[TextRows, list[ColumnScan]]:
    """Return new rows as those that were learned from, and their other columns."""
    rows, cells = read_rows(X, fields, roles, alone=fields != ())
    columns = [scan_columns(cells, rows.n_rows, roles)] if roles.all else []
    if rows.n_fields == 1 and n_fields > 1 and rows.fields is None:
        # A text of its own, where the table had several fields: all of it is in the first.
        empty = [""] * (n_fields - 1)
        pieces = [piece for text in rows.pieces for piece in (text, *empty)]
        rows = TextRows(pieces, None, n_fields)
    if rows.n_fields != n_fields:
        raise InputError(f"texts have {rows.n_fields} field(s) but {n_fields} were learned from.")
    return rows, columns


def _divide_tuples(rows: list[Any], roles: ColumnRoles) -> tuple[TextRows, dict[Column, list[Any]]]:
    size = len(rows[0])
    for column in roles.all:
        if isinstance(column, str):
            raise InputError(
                f"the column {column!r} has a name, but rows are tuples; give a table or a mapping "
                "of columns, or say the position."
            )
        if column >= size:
            raise InputError(f"rows have {size} fields; there is none at position {column}.")
    cells: dict[Column, list[Any]] = {
        column: [row[column] for row in rows] for column in roles.all if isinstance(column, int)
    }
    places = [place for place in range(size) if place not in roles.all]
    if not places:
        return TextRows([""] * len(rows), (), 1), cells
    texts = [tuple(row[place] for place in places) for row in rows]
    return TextRows(_pieces(texts, None), None, len(places)), cells


def _list_rows(X: Any) -> list[Any]:
    """Return rows as a list; where they are tuples, all have the same length."""
    if isinstance(X, str):
        raise InputError("texts must be a list of strings; got one string: put it in a list.")
    listed = _as_list(X)
    if listed and isinstance(listed[0], (tuple, list)):
        n_fields = len(listed[0])
        for number, row in enumerate(listed):
            if not isinstance(row, (tuple, list)) or len(row) != n_fields or not n_fields:
                raise InputError(
                    f"row {number} has other fields than row 0; every row needs the same number."
                )
    return listed


def _listed(columns: Mapping[Any, Any]) -> list[list[Any]]:
    """Return the cells of columns, which are all of one length."""
    cells = [_as_list(column) for column in columns.values()]
    if len({len(column) for column in cells}) > 1:
        raise InputError(UNEVEN)
    return cells


def table_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a table, None where ``X`` is none."""
    if isinstance(X, Mapping):
        return list(X)
    if hasattr(X, "column_names"):  # Arrow
        return list(X.column_names)
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):  # pandas, polars
        return list(X.columns)
    return None


def _columns(X: Any, fields: Sequence[Any] | None) -> dict[str, Any] | None:
    """Return columns of a table by name, None where ``X`` is no table."""
    names = table_names(X)
    if names is None:
        return None
    wanted = names if fields is None else list(fields)
    missing = [name for name in wanted if name not in names]
    if missing or not wanted:
        shown = ", ".join(map(str, names)) or "none"
        raise InputError(f"the table has no column {missing[:1]}; its columns are: {shown}.")
    return {str(name): X[name] for name in wanted}


def _as_list(values: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            listed = getattr(values, method)()
            return listed if isinstance(listed, list) else [listed]
    try:
        return list(values)
    except TypeError:
        kind = type(values).__name__
        raise InputError(f"texts must be a sequence of strings; got {kind}.") from None


def _pieces(rows: Iterable[Sequence[Any]], names: tuple[str, ...] | None) -> list[str]:
    pieces: list[str] = []
    for number, row in enumerate(rows):
        for place, value in enumerate(row):
            if isinstance(value, str):
                pieces.append(value)
            # nan is the one value that differs from itself: how pandas writes an empty cell.
            elif value is None or value != value:
                pieces.append("")
            else:
                where = f"row {number}" + ("" if names is None else f", column {names[place]!r}")
                shown = repr(value)[:MAX_SHOWN]
                raise InputError(f"{where}: texts must be strings; got {shown}.")
    return pieces


# -- options -------------------------------------------------------------------------------------


def read_lengths(characters: Any) -> tuple[int, int]:
    """Return the shortest and the longest sequence of characters, or raise one sentence."""
    try:
        shortest, longest = (int(length) for length in characters)
    except (TypeError, ValueError):
        shortest, longest = 0, 0
    if not 1 <= shortest <= longest <= LONGEST:
        raise InputError(
            f"characters must be the shortest and the longest length, from 1 to {LONGEST}; "
            f"got {characters!r}."
        )
    return shortest, longest


def read_field_weights(field_weights: Any, n_fields: int) -> NDArray[np.float32]:
    """Return what a word counts in every field, or raise one sentence."""
    if field_weights is None:
        return np.ones(n_fields, np.float32)
    try:
        weights = np.asarray(field_weights, dtype=np.float32)
    except (TypeError, ValueError):
        weights = np.zeros(0, np.float32)
    if weights.shape != (n_fields,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise InputError(
            f"field_weights must be {n_fields} positive numbers, one for every field; "
            f"got {field_weights!r}."
        )
    return weights
