"""Cells of a table that are a number, or the name of one or several categories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from rmls.core.errors import InputError

# How people and programs write that there is no number.
NO_NUMBER = {"", "na", "n/a", "nan", "null", "none"}
MAX_SHOWN = 40


def read_numbers(cells: Iterable[Any], column: object, first_row: int = 0) -> list[float]:
    """Return the numbers of a column, nan where there is none.

    Parameters
    ----------
    cells : iterable
        Numbers, texts of numbers, None, nan.
    column : str or int
        What messages call the column.
    first_row : int, default=0
        What messages call the first row.

    Examples
    --------
    >>> read_numbers([3, "2.5", "", None], "price")
    [3.0, 2.5, nan, nan]
    """
    found = []
    for row, cell in enumerate(cells, first_row):
        value = _number(cell)
        if value is None:
            raise InputError(f"{_place(row, column)}: a number is needed; got {_shown(cell)}.")
        if math.isinf(value):
            raise InputError(f"{_place(row, column)}: a finite number is needed; got infinity.")
        found.append(value)
    return found


def _number(cell: Any) -> float | None:
    """Return a number, nan for none, None for what is no number."""
    if is_empty(cell):
        return math.nan
    try:
        if isinstance(cell, str):
            return math.nan if cell.strip().lower() in NO_NUMBER else float(cell)
        # Decimals have no common ancestor with the other numbers.
        return float(cell) if isinstance(cell, Real) or hasattr(cell, "as_tuple") else None
    except ValueError:
        return None
    except OverflowError:
        return math.inf


def read_category(
    cell: Any, column: object, row: int = 0, separator: str | None = None
) -> list[str]:
    """Return the categories of a cell, each once; none where it is empty.

    Parameters
    ----------
    cell : object
        A name, a number, a truth value or a date; a list of them; None, nan.
    column : str or int
        What messages call the column.
    row : int, default=0
        What messages call the row.
    separator : str, optional
        What parts the categories of a text; without it every text is one category.

    Examples
    --------
    >>> read_category("oil; ink", "medium", separator=";"), read_category(3.0, "floor")
    (['oil', 'ink'], ['3'])
    """
    if isinstance(cell, str) and separator is None:
        name = " ".join(cell.split())
        return [name] if name else []
    names = [_name(value) for value in _parts(cell, separator)]
    if None in names:
        raise InputError(
            f"{_place(row, column)}: a category is a name or a number, or a list of them; "
            f"got {_shown(cell)}."
        )
    return list(dict.fromkeys(name for name in names if name))


def _parts(cell: Any, separator: str | None) -> Sequence[Any]:
    if isinstance(cell, str):
        return cell.split(separator) if separator else (cell,)
    if isinstance(cell, (set, frozenset)):
        return sorted(cell, key=str)
    if _is_array(cell):
        listed: list[Any] = cell.tolist()
        return listed
    return cell if isinstance(cell, (list, tuple)) else (cell,)


def _name(value: Any) -> str | None:
    """Return a category as text, an empty one for none, None for what is no category."""
    if isinstance(value, str):
        return " ".join(value.split())
    if is_empty(value):
        return ""
    # A column of whole numbers with a gap is one of floats in pandas; 3 and 3.0 are the same.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    known = isinstance(value, Real) or hasattr(value, "isoformat") or hasattr(value, "as_tuple")
    return str(value) if known else None


def is_empty(cell: Any) -> bool:
    """Tell whether a cell is None, or a number that is none."""
    if cell is None:
        return True
    if isinstance(cell, (str, list, tuple, set, frozenset, dict)) or _is_array(cell):
        return False
    try:
        # nan and its kin are the values that do not equal themselves.
        return not bool(cell == cell)
    except (TypeError, ValueError):
        # The missing value of pandas cannot even tell.
        return True


def _is_array(cell: Any) -> bool:
    return hasattr(cell, "tolist") and bool(getattr(cell, "shape", ()))


def _place(row: int, column: object) -> str:
    return f"row {row}, column {column!r}"


def _shown(cell: Any) -> str:
    text = repr(cell) if not isinstance(cell, dict) else "a mapping"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
