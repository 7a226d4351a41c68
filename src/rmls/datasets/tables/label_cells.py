"""Labels as they stand in tables: lists, separated names, or one 0/1 column for every label."""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rmls.core.errors import InputError
from rmls.datasets.tables.chunks import Chunk

# In this order where two fit equally well; a comma may be part of a name.
SEPARATORS = ("|", ";", "\t", "\n", ",", " ")
SWITCHES = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
# <one><two>, as Stack Exchange writes its tags.
_BRACKETS = re.compile(r"(?:<[^<>]+>)+\Z")
BRACKETS = "<>"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_GLUED = re.compile(r"""['"]\s+['"]""")
# Python's parser takes hundreds of times the memory of the text.
LONGEST_LITERAL = 100_000


class LabelCells(Protocol):
    """Reads the labels of rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold them."""

    def read(self, chunk: Chunk) -> list[list[str]]:
        """Return the labels of every row; none where cells are empty."""


@dataclass(frozen=True)
class OneColumn:
    """All labels of a row in one cell.

    Attributes
    ----------
    column : str
    separator : str or None
        None where cells hold lists, or one label each.
    """

    column: str
    separator: str | None

    @classmethod
    def of(cls, column: str, cells: Sequence[Any], separator: str | None) -> OneColumn:
        """Return the reader of a column, with the separator that its first cells suggest."""
        if separator is None:
            texts = [cell for cell in cells if isinstance(cell, str) and not _as_list(cell)]
            separator = find_separator(texts)
        return cls(column, separator)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that holds the labels."""
        return (self.column,)

    def read(self, chunk: Chunk) -> list[list[str]]:
        """Return the labels of every row."""
        rows: list[list[str]] = []
        try:
            rows.extend(split_cell(cell, self.separator) for cell in chunk.columns[self.column])
        except InputError as error:
            row = chunk.first_row + len(rows)
            raise InputError(f"row {row}, column {self.column!r}: {error}") from None
        return rows


@dataclass(frozen=True)
class SwitchColumns:
    """One column of 0 and 1 for every label."""

    columns: tuple[str, ...]

    def read(self, chunk: Chunk) -> list[list[str]]:
        """Return the names of the columns that are 1 in every row."""
        rows: list[list[str]] = [[] for _ in range(chunk.n_rows)]
        for name in self.columns:
            for number, cell in enumerate(chunk.columns[name]):
                if not is_switch(cell):
                    raise InputError(
                        f"row {chunk.first_row + number}, column {name!r}: a label of its own "
                        f"column is 0 or 1; got {str(cell)[:40]!r}."
                    )
                if _is_on(cell):
                    rows[number].append(name)
        return rows


def is_switch(cell: Any) -> bool:
    """Tell whether a cell is 0, 1, true, false or empty."""
    return _is_empty(cell) or str(cell).strip().lower() in SWITCHES


def _is_on(cell: Any) -> bool:
    return not _is_empty(cell) and SWITCHES[str(cell).strip().lower()]


def _is_empty(cell: Any) -> bool:
    # nan is the one value that differs from itself.
    return cell is None or (isinstance(cell, float) and cell != cell) or cell == ""


def find_separator(cells: Sequence[str]) -> str | None:
    """Return what parts the labels of cells, None where each holds one label.

    A separator is right where the parts it makes come again in other cells.

    Examples
    --------
    >>> find_separator(["tax; law", "law", "sea; law; tax"])
    ';'
    >>> find_separator(["New York", "New Delhi", "Rome"]) is None
    True
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    if filled and all(_BRACKETS.match(cell) for cell in filled):
        return BRACKETS
    whole = len(set(filled))
    best, fewest = None, math.inf
    for separator in SEPARATORS:
        holding = sum(separator in cell for cell in filled)
        if not holding:
            continue
        parts = Counter(part for cell in filled for part in _split(cell, separator))
        # Distinct parts against distinct cells: labels repeat, pieces of names do not. Names hold
        # commas, and spaces even more often: these must explain more.
        ratio = len(parts) / max(whole, 1)
        limit = {",": 1.2, " ": 0.5}.get(separator, math.inf)
        if ratio < limit and (best is None or ratio < fewest * 0.8):
            best, fewest = separator, ratio
    return best


def split_cell(cell: Any, separator: str | None) -> list[str]:
    """Return the labels of one cell, each once, in order.

    Examples
    --------
    >>> split_cell("tax; law;tax", ";"), split_cell('["a, b", "c"]', None), split_cell(None, ";")
    (['tax', 'law'], ['a, b', 'c'], [])
    >>> split_cell("['a', 'b']", None), split_cell("{'a'}", ","), split_cell("['a' 'b']", None)
    (['a', 'b'], ['a'], ['a', 'b'])
    """
    if _is_empty(cell):
        return []
    listed = _as_list(cell) if isinstance(cell, str) else cell
    if listed is None:
        listed = [cell] if separator is None else _split(cell, separator)
    elif not isinstance(listed, (list, tuple)) and not hasattr(listed, "tolist"):
        listed = [listed]
    names = [_name(label) for label in listed]
    return list(dict.fromkeys(name for name in names if name))


def _split(cell: str, separator: str) -> list[str]:
    if separator == BRACKETS:
        return [part for part in re.split("[<>]", cell) if part]
    parts = cell.split() if separator == " " else cell.split(separator)
    return [part.strip() for part in parts if part.strip()]


def _name(label: Any) -> str:
    if isinstance(label, str):
        # One string for all rows of a label: its copies would take a tenth of the memory of texts.
        return sys.intern(label.strip())
    if isinstance(label, (dict, list, tuple, set)) or label is None:
        raise InputError(f"a label is a name or a number; got {str(label)[:40]}.")
    return str(label)


def _as_list(cell: str) -> list[Any] | None:
    """Return the list that a cell spells in JSON or, as data frames write it, in Python."""
    text = cell.strip()
    if not text or text[0] + text[-1] not in ("[]", "{}", "()"):
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = _as_python(text)
    return list(listed) if isinstance(listed, (list, tuple, set)) else None


def _as_python(text: str) -> Any:
    if len(text) > LONGEST_LITERAL:
        return None
    if _GLUED.search(text):
        # ['a' 'b'], as NumPy writes it, would be one word to Python.
        return [quoted[1:-1] for quoted in _QUOTED.findall(text)]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
