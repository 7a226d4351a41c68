"""Lists of labels and of what becomes of them, as they stand in files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError
from rmls.datasets.label_text.mappings import read_json_file
from rmls.datasets.tables.chunks import MAX_CELL
from rmls.datasets.tables.delimited import find_delimiter
from rmls.datasets.tables.streams import OPENERS, open_text, text_lines

# Words that head a column rather than name a label, where a whole first line consists of them.
HEADINGS = frozenset(
    ("label", "labels", "name", "id", "old", "new", "from", "to", "into", "old_name", "new_name")
)


def read_label_lines(source: str | Path, n_cells: int | None = None) -> list[tuple[str, ...]]:
    """Return the rows of a file that says what becomes of labels.

    Parameters
    ----------
    source : str or path
        A table (``.csv``, ``.tsv``), lines with tabs between the cells (``.txt`` and all others,
        ``-`` for standard input), an object a line (``.jsonl``), or a list or an object
        (``.json``). The first line may name the columns.
    n_cells : int, optional
        Refuse rows that have another number of cells; without it, fewer than two.
    """
    path = Path(source)
    ending = _ending(path)
    rows: Iterable[list[str]]
    if ending == ".json":
        rows = _of_json(read_json_file(path, None), path)
    elif ending in (".jsonl", ".ndjson"):
        rows = _of_lines(path)
    else:
        rows = _without_heading(_of_table(path, ending))
    found: list[tuple[str, ...]] = []
    for number, row in enumerate(rows, 1):
        cells = tuple(cell.strip() for cell in row)
        wrong = len(cells) < 2 if n_cells is None else len(cells) != n_cells
        if wrong or not all(cells):
            wanted = "at least two" if n_cells is None else str(n_cells)
            raise FileFormatError(f"entry {number} must have {wanted} labels", path)
        found.append(cells)
    if not found:
        raise FileFormatError("there is no label in it", path)
    return found


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in OPENERS), "")


def _of_table(path: Path, ending: str) -> Iterator[list[str]]:
    with open_text(path) as stream:
        lines = [line for line in text_lines(stream, path, MAX_CELL) if line.strip()]
    if ending != ".csv":
        # A comma may be part of a name; a tab is not.
        yield from (line.rstrip("\r\n").split("\t") for line in lines)
        return
    try:
        yield from csv.reader(lines, delimiter=find_delimiter("".join(lines[:100])), strict=True)
    except csv.Error as error:
        raise FileFormatError(str(error), path) from None


def _without_heading(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    first = next(rows, None)
    if first is not None and not all(cell.strip().casefold() in HEADINGS for cell in first):
        yield first
    yield from rows


def _of_lines(path: Path) -> Iterator[list[str]]:
    with open_text(path) as stream:
        for number, line in enumerate(text_lines(stream, path, MAX_CELL), 1):
            if not line.strip():
                continue
            try:
                yield _cells(json.loads(line))
            except (ValueError, RecursionError):
                raise FileFormatError("no list or object of labels", path, number) from None


def _of_json(content: Any, path: Path) -> Iterator[list[str]]:
    items: Iterable[Any] = content
    if isinstance(content, Mapping):
        items = ([key, value] for key, value in content.items())
    elif not isinstance(content, list):
        raise FileFormatError("a list or an object of labels is needed", path)
    try:
        yield from map(_cells, items)
    except ValueError:
        raise FileFormatError("an entry is no list or object of labels", path) from None


def _cells(value: Any) -> list[str]:
    """Return the names in a name, a list or an object, lists inside laid flat."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list):
        raise ValueError
    return [name for item in value for name in _cells(item)]
