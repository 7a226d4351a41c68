"""Texts, labels and names of rows from any table: a file, a folder, a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmls.core.cells import read_category, read_numbers
from rmls.core.errors import FileFormatError, InputError
from rmls.datasets.tables.chunks import Chunk
from rmls.datasets.tables.columnar import read_excel, read_feather, read_parquet
from rmls.datasets.tables.delimited import read_delimited
from rmls.datasets.tables.fasttext import looks_like_fasttext, read_fasttext
from rmls.datasets.tables.folder import read_folder
from rmls.datasets.tables.frames import column_names, read_frame
from rmls.datasets.tables.json_lines import read_json, read_json_lines
from rmls.datasets.tables.roles import Roles, Wanted, find_roles
from rmls.datasets.tables.streams import OPENERS, STDIN, open_text

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "excel",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
}
NAMES = ("csv", "jsonl", "json", "parquet", "feather", "excel", "fasttext", "folder")


@dataclass
class TextTable:
    """Texts of rows, with their labels and names where there are any.

    Attributes
    ----------
    fields : tuple of str
        Names of the text columns.
    texts : list of tuple of str
        The fields of every row.
    labels : list of list of str, or None
        Labels of every row; None where the table has no such column.
    ids : list or None
        What the rows are called.
    found : tuple of str
        What was found out about the columns, in words.
    other : dict of str to list
        All columns of the table as they are, where they were asked for.
    beside : dict of str to list
        The columns of categories as they are, and those of numbers as float, nan where there is
        none.
    missing : tuple of str
        Columns of categories or numbers that are not there.
    """

    fields: tuple[str, ...]
    texts: list[tuple[str, ...]] = field(default_factory=list)
    labels: list[list[str]] | None = None
    ids: list[Any] | None = None
    found: tuple[str, ...] = ()
    other: dict[str, list[Any]] = field(default_factory=dict)
    beside: dict[str, list[Any]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The texts by field and the columns beside them, as `rmls.TextRanker` takes them."""
        texts = {name: [row[place] for row in self.texts] for place, name in enumerate(self.fields)}
        return {**texts, **self.beside}

    @property
    def n_unlabelled(self) -> int:
        """Number of rows without a label."""
        return len(self) if self.labels is None else sum(not row for row in self.labels)

    def row(self, place: int) -> dict[str, Any]:
        """Return the cells of one row as they stood in the table, where they were kept."""
        return {name: cells[place] for name, cells in self.other.items()}

    def take(self, rows: slice | Sequence[int]) -> TextTable:
        """Return some of the rows."""
        places = range(len(self))[rows] if isinstance(rows, slice) else rows

        def pick(cells: list[Any] | None) -> Any:
            return None if cells is None else [cells[place] for place in places]

        other, beside = (
            {name: pick(cells) for name, cells in columns.items()}
            for columns in (self.other, self.beside)
        )
        parts = (pick(self.texts), pick(self.labels), pick(self.ids))
        return TextTable(self.fields, *parts, self.found, other, beside, self.missing)

    def extend(self, part: TextTable) -> None:
        """Put the rows of another part of the same table below."""
        self.texts.extend(part.texts)
        for mine, others in ((self.labels, part.labels), (self.ids, part.ids)):
            if mine is not None and others is not None:
                mine.extend(others)
        for columns, more in ((self.other, part.other), (self.beside, part.beside)):
            for name, cells in more.items():
                columns.setdefault(name, []).extend(cells)


def iterate_texts(
    source: Any,
    *,
    text: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    id: str | None = None,
    separator: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    needs_labels: bool = False,
    keep_other: bool = False,
    expected: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
    numbers: Sequence[str] | None = None,
    may_lack: bool = False,
) -> Iterator[TextTable]:
    """Yield the rows of a table some at a time, so that it may be larger than memory.

    Parameters
    ----------
    source : path, or table of pandas, polars or Arrow, or mapping of columns
        A file (``.csv``, ``.tsv``, ``.jsonl``, ``.json``, ``.parquet``, ``.feather``, ``.xlsx``,
        fastText lines; ``.gz``, ``.bz2`` and ``.xz`` of text), a folder of text files, or ``-`` for
        standard input.
    text : str or list of str, optional
        The columns that hold the texts; found by their names without it.
    labels : str or list of str, optional
        The column that holds the labels, or the 0/1 columns of all labels; found by their names
        without it, and not looked for where the list is empty.
    id : str, optional
        The column that names the rows.
    separator : str, optional
        What parts the labels of a cell; found out without it.
    format : str, optional
        One of csv, jsonl, json, parquet, feather, excel, fasttext and folder; found by the ending
        without it.
    encoding, delimiter : str, optional
        Of a text file; by its first bytes without them.
    needs_labels : bool, default=False
        Refuse a table without a column of labels.
    keep_other : bool, default=False
        Keep all columns as they are, too.
    expected : sequence of str, optional
        Columns that are the texts where all of them are there and ``text`` is not given: those
        that a model was trained on.
    categories, numbers : sequence of str, optional
        Columns to read beside the texts. Without a column that looks like texts there are none.
    may_lack : bool, default=False
        Whether some of these may not be there.

    Examples
    --------
    >>> rows = {"text": ["tax on fish", "rain"], "labels": [["tax"], []]}
    >>> [(table.texts, table.labels) for table in iterate_texts(rows)]
    [([('tax on fish',), ('rain',)], [['tax'], []])]
    """
    wanted = Wanted(
        _names(text),
        _names(labels),
        id,
        separator,
        _names(expected),
        _names(categories) or (),
        _names(numbers) or (),
        may_lack,
    )
    roles: Roles | None = None
    name = source if isinstance(source, (str, Path)) else type(source).__name__
    for chunk in _chunks(source, format, encoding, delimiter):
        if roles is None:
            roles = find_roles(str(name), chunk, wanted, needs_labels)
        try:
            yield _read_chunk(chunk, roles, keep_other)
        except InputError as error:
            if isinstance(source, (str, Path)):
                raise FileFormatError(str(error).removesuffix("."), source) from None
            raise
    if roles is None:
        raise InputError(f"{name}: the table has no rows.")


def read_texts(source: Any, **options: Any) -> TextTable:
    """Return all rows of a table; the options are those of `iterate_texts`.

    Examples
    --------
    >>> table = read_texts({"title": ["Tax on sugar"], "tags": ["tax; food"], "id": [7]})
    >>> table.texts, table.labels, table.ids
    ([('Tax on sugar',)], [['tax', 'food']], [7])
    >>> table.found
    ('labels: tags', "labels are separated by ';'", 'text: title')
    """
    parts = iterate_texts(source, **options)
    table = next(parts)
    for part in parts:
        table.extend(part)
    return table


def _names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _read_chunk(chunk: Chunk, roles: Roles, keep_other: bool) -> TextTable:
    used = (*roles.text, *roles.categories, *roles.numbers)
    missing = [name for name in used if name not in chunk.columns]
    if missing:
        raise InputError(f"row {chunk.first_row}: no column {missing[0]!r} any more.")
    texts = [
        tuple(
            _text(cell, chunk.first_row + number, name)
            for cell, name in zip(row, roles.text, strict=True)
        )
        for number, row in enumerate(
            zip(*(chunk.columns[name] for name in roles.text), strict=True)
            if roles.text
            else [()] * chunk.n_rows
        )
    ]
    return TextTable(
        roles.text,
        texts,
        None if roles.labels is None else roles.labels.read(chunk),
        None if roles.id is None else list(chunk.columns[roles.id]),
        roles.found,
        dict(chunk.columns) if keep_other else {},
        _read_beside(chunk, roles),
        roles.missing,
    )


def _read_beside(chunk: Chunk, roles: Roles) -> dict[str, list[Any]]:
    """Return the columns beside the texts; here is known which row of the file is wrong."""
    beside: dict[str, list[Any]] = {}
    for name in roles.categories:
        beside[name] = chunk.columns[name]
        for row, cell in enumerate(beside[name], chunk.first_row):
            if not isinstance(cell, str):
                read_category(cell, name, row)
    for name in roles.numbers:
        beside[name] = read_numbers(chunk.columns[name], name, chunk.first_row)
    return beside


def _text(cell: Any, row: int, name: str) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, (list, tuple)) and all(isinstance(part, str) for part in cell):
        return "\n".join(cell)
    if isinstance(cell, (int, float)):
        return str(cell)
    raise InputError(f"row {row}, column {name!r}: a text is needed; got {type(cell).__name__}.")


# -- files ---------------------------------------------------------------------------------------


def _chunks(
    source: Any, format: str | None, encoding: str | None, delimiter: str | None
) -> Iterator[Chunk]:
    if not isinstance(source, (str, Path)):
        if column_names(source) is None:
            raise InputError(
                f"a table is a file or a table of pandas, polars or Arrow; "
                f"got {type(source).__name__}."
            )
        return read_frame(source)
    path = Path(source)
    chosen = format or table_format(path, encoding)
    if chosen not in NAMES:
        known = ", ".join(NAMES)
        raise InputError(f"{path}: say what it is; the formats of tables are: {known}.")
    if chosen == "csv":
        is_tab = _plain_suffix(path) in (".tsv", ".tab")
        return read_delimited(path, encoding, delimiter or ("\t" if is_tab else None))
    if chosen in ("parquet", "feather", "excel"):
        readers = {"parquet": read_parquet, "feather": read_feather, "excel": read_excel}
        return readers[chosen](path)
    return {
        "jsonl": read_json_lines,
        "json": read_json,
        "fasttext": read_fasttext,
        "folder": read_folder,
    }[chosen](path, encoding)


def table_format(path: Path, encoding: str | None = None) -> str | None:
    """Return the format of a table: by the ending, else by the beginning; None if it is none."""
    if path.is_dir():
        return "folder"
    by_ending = FORMATS.get(_plain_suffix(path))
    if by_ending is not None:
        return by_ending
    if path != STDIN and not path.is_file():
        return None
    return None if path == STDIN else _by_beginning(path, encoding)


def _by_beginning(path: Path, encoding: str | None) -> str | None:
    with open_text(path, encoding) as stream:
        try:
            head = stream.read(4096)
        except UnicodeError:
            return None
    if looks_like_fasttext(head):
        return "fasttext"
    start = head.lstrip()[:2]
    return "jsonl" if start.startswith("{") else "json" if start in ("[{", "[\n") else None


def _plain_suffix(path: Path) -> str:
    name = Path(path.stem) if path.suffix.lower() in OPENERS else path
    return name.suffix.lower()
