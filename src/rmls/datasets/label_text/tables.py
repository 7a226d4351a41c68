"""Labels from tables: a row for every label, columns with names or two without."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rmls.core.errors import FileFormatError, InputError
from rmls.core.label_text import LabelText, is_words
from rmls.datasets.label_text.entries import Entry, build, clean, read_cell, read_cells, split_text
from rmls.datasets.label_text.roles import LabelColumns, find_columns, looks_like_header
from rmls.datasets.tables.chunks import MAX_CELL, Chunk
from rmls.datasets.tables.delimited import SAMPLE_CHARACTERS, find_delimiter
from rmls.datasets.tables.streams import open_text, text_lines

SEPARATORS = ("|", ";", "\n", "\t")
NO_HEADER = ("id", "name", "codes")
TITLES = {
    "id": "labels",
    "name": "names",
    "alternatives": "alternative names",
    "description": "descriptions",
    "parents": "parents",
    "related": "related labels",
    "codes": "codes",
}


class Wanted(NamedTuple):
    """What the user said about a table of labels; None is found out."""

    columns: Mapping[str, str | Sequence[str]] | None = None
    language: str | None = None
    separator: str | None = None


def read_table(chunks: Iterable[Chunk], wanted: Wanted) -> LabelText:
    """Return the labels of a table that has names of columns."""
    table = _whole(chunks)
    columns = find_columns(table, wanted.columns, wanted.language)
    separators = {
        role: _separator(table, columns, role, wanted.separator)
        for role in ("alternatives", "parents", "related", "codes")
    }
    entries = list(_entries(table, columns, separators))
    language = columns.language
    return build(entries, found=_found(columns, separators), language=language)


def _whole(chunks: Iterable[Chunk]) -> dict[str, list[Any]]:
    """Return all rows by column: labels are few beside texts."""
    table: dict[str, list[Any]] = {}
    n_rows = 0
    for chunk in chunks:
        for name in {**table, **chunk.columns}:
            # A column may begin late, or end early, in files of JSON objects.
            cells = table.setdefault(name, [None] * n_rows)
            cells.extend(chunk.columns.get(name, [None] * chunk.n_rows))
        n_rows += chunk.n_rows
    return table


def _separator(
    table: Mapping[str, Sequence[Any]], columns: LabelColumns, role: str, given: str | None
) -> str | None:
    """Return what parts the texts of cells: the first sign that no name holds."""
    if given is not None:
        return given
    cells = [
        cell for title in columns.of[role] for cell in table[title] if cell and type(cell) is str
    ]
    for separator in SEPARATORS:
        if any(separator in cell for cell in cells):
            return separator
    # Names such as "boat, sailing" have commas of their own; where none does, it parts them.
    name = columns.one("name") or columns.one("id")
    plain = name is not None and not any("," in str(cell) for cell in table[name])
    return "," if plain and any("," in cell for cell in cells) else None


def _entries(
    table: Mapping[str, Sequence[Any]],
    columns: LabelColumns,
    separators: Mapping[str, str | None],
) -> Iterator[Entry]:
    """Yield the labels, column by column for speed: there may be millions."""
    title = columns.one("id") or columns.one("name") or ""
    ids = _texts(table, title)
    name = columns.one("name")
    names = [_own_name(label) for label in ids] if name is None else _texts(table, name)
    described = [_texts(table, column) for column in columns.of["description"]]
    lists = {
        role: [_lists(table, column, separators[role]) for column in columns.of[role]]
        for role in ("alternatives", "parents", "codes", "related")
    }
    for number, label in enumerate(ids):
        if not label:
            if any(read_cells(cells[number], "", None) for cells in table.values()):
                raise InputError(f"{_cell(number, title)}: the label is empty.")
            continue
        many: dict[str, Sequence[str]] = {
            role: [text for cells in found for text in cells[number]] if found else ()
            for role, found in lists.items()
        }
        yield Entry(
            id=label,
            name=names[number],
            alternatives=many["alternatives"],
            description=" ".join(texts[number] for texts in described if texts[number]),
            parents=many["parents"],
            codes=many["codes"],
            related=many["related"],
            row=number + 1,
        )


def _texts(table: Mapping[str, Sequence[Any]], title: str) -> list[str]:
    return [
        clean(cell) if type(cell) is str else read_cell(cell, _cell(number, title))
        for number, cell in enumerate(table[title])
    ]


def _lists(
    table: Mapping[str, Sequence[Any]], title: str, separator: str | None
) -> list[list[str]]:
    return [
        split_text(cell, separator)
        if type(cell) is str
        else read_cells(cell, _cell(number, title), separator)
        for number, cell in enumerate(table[title])
    ]


def _cell(number: int, title: str) -> str:
    return f"row {number + 1}, column {title!r}"


def _own_name(label: str) -> str:
    return label if is_words(label) else ""


def _found(columns: LabelColumns, separators: Mapping[str, str | None]) -> Iterator[str]:
    for role, titles in columns.of.items():
        if titles:
            separator = separators.get(role)
            parted = f", separated by {separator!r}" if separator else ""
            yield f"{TITLES[role]}: {', '.join(titles)}{parted}"
    if not columns.of["id"]:
        yield "labels: the names"
    if columns.language:
        yield f"language: {columns.language}"


# -- without names of columns ------------------------------------------------------------------


def has_header(path: Path, encoding: str | None, delimiter: str | None) -> bool:
    """Tell whether the first row of a delimited file names the columns."""
    with open_text(path, encoding) as stream:
        try:
            head = stream.read(SAMPLE_CHARACTERS)
        except UnicodeError:
            # The reader says where it is.
            return True
    if not head.strip():
        raise FileFormatError("the file is empty", path)
    try:
        chosen = delimiter or find_delimiter(head)
        first = next(csv.reader(head.lstrip().splitlines(), delimiter=chosen), [])
    except (csv.Error, TypeError):
        return True
    return len(first) > len(NO_HEADER) or looks_like_header(first)


def read_without_header(path: Path, encoding: str | None, delimiter: str | None) -> LabelText:
    """Return the labels of a file with a label, a name and perhaps a code in every row."""
    with open_text(path, encoding) as stream:
        lines = text_lines(stream, path, MAX_CELL)
        try:
            if delimiter is None:
                entries = list(_plain_entries(_split(lines), path))
            else:
                entries = list(
                    _plain_entries(csv.reader(lines, delimiter=delimiter, strict=True), path)
                )
        except csv.Error as error:
            raise FileFormatError(f"this is no table ({error})", path) from None
    two = any(entry.name not in ("", entry.id) for entry in entries)
    what = "a label and its name in every line" if two else "a label in every line"
    return build(entries, found=[f"no names of columns: {what}"])


def plain_delimiter(path: Path, encoding: str | None) -> str:
    """Return the delimiter of a file without names of columns."""
    with open_text(path, encoding) as stream:
        return find_delimiter(stream.read(SAMPLE_CHARACTERS))


def _split(lines: Iterable[str]) -> Iterator[list[str]]:
    # A comma or a quotation mark belongs to a name here; only a tab parts.
    return (line.rstrip("\r\n").split("\t") for line in lines)


def _plain_entries(rows: Iterable[list[str]], path: Path) -> Iterator[Entry]:
    for number, cells in enumerate(rows, 1):
        texts = [read_cell(cell, f"row {number}") for cell in cells]
        if not any(texts):
            continue
        if len(texts) > len(NO_HEADER):
            raise InputError(
                f"row {number} has {len(texts)} cells; without names of columns a row has a "
                f"label, its name and perhaps a code."
            )
        # Other tools write addresses in angle brackets.
        label = texts[0].removeprefix("<").removesuffix(">")
        if not label:
            raise InputError(f"row {number}, column 1: the label is empty.")
        yield Entry(
            id=label,
            name=texts[1] if len(texts) > 1 else _own_name(label),
            codes=[text for text in texts[2:] if text],
            row=number,
        )
