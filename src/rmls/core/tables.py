"""Tables of pandas, polars and Arrow: their columns, their index, and tables like them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import MissingExtraError

LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(table: Any) -> str:
    """Return whose table it is; pandas stands for all that are not known.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> library_of(DataFrame({"a": [1]}))
    'pandas'
    """
    package = type(table).__module__.partition(".")[0]
    return package if package in LIBRARIES else "pandas"


def columns_of(table: Any) -> list[Any]:
    """Return the names of the columns.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> columns_of(DataFrame({"a": [1], "b": [2]}))
    ['a', 'b']
    """
    # What Arrow calls columns are their values.
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def to_array(table: Any) -> NDArray[Any]:
    """Return the values of a table as an array of one type."""
    if library_of(table) == "pyarrow":
        columns = [column.to_numpy(**_copying(column)) for column in table.columns]
        return np.column_stack(columns) if columns else np.zeros((table.num_rows, 0))
    return np.asarray(table.to_numpy() if hasattr(table, "to_numpy") else table)


def _copying(column: Any) -> dict[str, bool]:
    # An array of Arrow must be allowed to copy; a chunked one always does.
    return {} if hasattr(column, "chunks") else {"zero_copy_only": False}


def make_table(values: NDArray[Any], columns: list[Any], library: str, like: Any = None) -> Any:
    """Return values as a table of a library.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns)
    columns : list
        Their names; polars and Arrow take texts only.
    library : {"pandas", "polars", "pyarrow"}
    like : object, optional
        Where it is a frame of pandas of as many rows, its index is that of the new one.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> make_table(np.eye(2), ["a", "b"], "pandas", DataFrame({"x": [0, 0]}, index=[7, 9]))
         a    b
    7  1.0  0.0
    9  0.0  1.0
    """
    made = _import(library)
    if library == "polars":
        return made.DataFrame(values, schema=[str(name) for name in columns], orient="row")
    if library == "pyarrow":
        return made.table(list(values.T), names=[str(name) for name in columns])
    return made.DataFrame(values, columns=columns, index=index_of(like, len(values)))


def index_of(table: Any, n_rows: int) -> Any:
    """Return the index of a frame of pandas with so many rows, None for anything else."""
    known = hasattr(table, "iloc") and hasattr(table, "index")
    return table.index if known and len(table.index) == n_rows else None


def _import(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise MissingExtraError(
            f"the model answers in tables of {library}, which is not installed; "
            f"install it with: pip install {library}."
        ) from None
