"""Texts in whatever container they come: lists, arrays, columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmls.core.errors import InputError

MAX_SHOWN = 40


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
        values = [_as_list(column) for column in columns.values()]
        rows: Iterable[Sequence[Any]] = zip(*values, strict=True)
        return TextRows(_pieces(rows, names), names, len(names))
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
        return TextRows(_pieces(listed, None), None, n_fields)
    return TextRows(_pieces(((text,) for text in listed), None), None, 1)


def _columns(X: Any, fields: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the text columns of a table by name, None where ``X`` is no table."""
    if isinstance(X, Mapping):
        names: Sequence[Any] = list(X)
    elif hasattr(X, "column_names"):  # Arrow
        names = X.column_names
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):  # pandas, polars
        names = list(X.columns)
    else:
        return None
    wanted = list(names) if fields is None else list(fields)
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
