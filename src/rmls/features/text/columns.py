"""Columns beside the texts of a row: which they are, and their cells as counts and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.core.cells import read_category, read_numbers
from rmls.core.errors import InputError
from rmls.features.text.characters import encode_pieces, plain
from rmls.features.text.scanning import Scan, take_rows
from rmls.features.text.vocabulary import Numbers, Places, hash_names

Column = str | int


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns of a row are no texts.

    Attributes
    ----------
    categories, numbers : tuple of str, or of int
        Names of the columns of a table, or their positions in tuples.
    separator : str or None
        What parts the categories of a cell.
    """

    categories: tuple[Column, ...] = ()
    numbers: tuple[Column, ...] = ()
    separator: str | None = None

    @property
    def all(self) -> tuple[Column, ...]:
        """Categories and numbers."""
        return (*self.categories, *self.numbers)

    @property
    def by_name(self) -> bool:
        """Whether columns are known by their names."""
        return any(isinstance(column, str) for column in self.all)

    @classmethod
    def of(cls, categories: Any, numbers: Any, separator: Any) -> ColumnRoles:
        """Return the roles that the options of an estimator name, or raise one sentence."""
        if separator is not None and not (isinstance(separator, str) and separator):
            raise InputError(f"category_separator must be a text or None; got {separator!r}.")
        roles = cls(_columns("categories", categories), _columns("numbers", numbers), separator)
        for column in roles.all:
            if roles.all.count(column) > 1:
                raise InputError(
                    f"the column {column!r} is named twice in categories and numbers; "
                    "a column has one role."
                )
        if len({type(column) for column in roles.all}) > 1:
            raise InputError(
                "categories and numbers must be names of columns, or positions in tuples; "
                "got some of both."
            )
        return roles


def _columns(name: str, given: Any) -> tuple[Column, ...]:
    if given is None:
        return ()
    listed = [] if isinstance(given, str) else list(given) if hasattr(given, "__iter__") else []
    found = [int(each) if isinstance(each, np.integer) else each for each in listed]
    positions = [each for each in found if isinstance(each, int) and not isinstance(each, bool)]
    names = [each for each in found if isinstance(each, str)]
    if not found or len(positions) + len(names) < len(found) or min(positions, default=0) < 0:
        raise InputError(
            f"{name} must be a list of the names of columns, or of positions in tuples; "
            f"got {given!r}."
        )
    return tuple(found)


@dataclass(frozen=True)
class ColumnScan:
    """The cells of some rows.

    Attributes
    ----------
    categories : Scan
        The terms ``column=category`` of every row. Those of one cell have length 1 together.
    numbers : ndarray of float64, shape (n_rows, n_numbers)
        nan where there is none.
    """

    categories: Scan
    numbers: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[np.bool_]) -> ColumnScan:
        """Return some of the rows, as if they alone had been scanned."""
        return ColumnScan(self.categories.take(rows), self.numbers[rows])


def scan_columns(
    cells: Mapping[Column, Sequence[Any]], n_rows: int, roles: ColumnRoles, first_row: int = 0
) -> ColumnScan:
    """Return the cells of some rows; a column that is not in ``cells`` is empty."""
    numbers = np.full((n_rows, len(roles.numbers)), np.nan)
    for place, column in enumerate(roles.numbers):
        if column in cells:
            numbers[:, place] = read_numbers(cells[column], column, first_row)
    names: dict[str, int] = {}
    terms = [
        _find_terms(cells.get(column, ()), column, first_row, roles.separator, names)
        for column in roles.categories
    ]
    return ColumnScan(_count(terms, list(names), n_rows), numbers)


class CellTerms(NamedTuple):
    """The terms of one column: how many every cell has, and their numbers one after the other."""

    sizes: Places
    numbers: Numbers


def _find_terms(
    cells: Sequence[Any],
    column: Column,
    first_row: int,
    separator: str | None,
    names: dict[str, int],
) -> CellTerms:
    """Return the terms of a column; adds new ones to ``names``."""
    sizes, numbers = list[int](), list[int]()
    # Most cells were there before: a text is looked at once.
    seen: dict[str, list[int]] = {}
    for row, cell in enumerate(cells, first_row):
        known = seen.get(cell) if isinstance(cell, str) else None
        if known is None:
            found = read_category(cell, column, row, separator)
            known = [names.setdefault(f"{column}={plain(name)}", len(names)) for name in found]
            if len(known) > 1:
                # Names that differ in small and capital letters are the same.
                known = list(dict.fromkeys(known))
            if isinstance(cell, str):
                seen[cell] = known
        sizes.append(len(known))
        numbers.extend(known)
    return CellTerms(np.array(sizes, np.int64), np.array(numbers, np.int32))


def _count(columns: Sequence[CellTerms], names: list[str], n_rows: int) -> Scan:
    """Return the terms of every row, as a scan of words."""
    rows = [np.zeros(0, np.int64)]
    numbers, weights = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for column in columns:
        rows.append(np.repeat(np.arange(len(column.sizes)), column.sizes))
        numbers.append(column.numbers)
        weights.append(np.repeat(np.maximum(column.sizes, 1) ** -0.5, column.sizes))
    row_of = np.concatenate(rows)
    order = np.argsort(row_of, kind="stable")
    ends = np.cumsum(np.bincount(row_of, minlength=n_rows))
    found = (
        np.concatenate([[0], ends]),
        np.concatenate(numbers)[order],
        np.concatenate(weights)[order].astype(np.float32),
    )
    # Numbered by row, so that it does not matter how the table was cut.
    counted, used = take_rows(found, np.ones(n_rows, bool))
    spelled = [names[place] for place in used.tolist()]
    return Scan(counted, hash_names(spelled), *encode_pieces(spelled))
