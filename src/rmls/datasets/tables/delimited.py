"""CSV and its kin: any delimiter, quotation marks, encodings, compressed or not."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets.tables.chunks import CHUNK_ROWS, MAX_CELL, Chunk
from rmls.datasets.tables.streams import open_text, text_lines

DELIMITERS = (",", "\t", ";", "|")
# Enough rows to see a delimiter that is in all of them.
SAMPLE_CHARACTERS = 1 << 16
SAMPLE_ROWS = 50


def read_delimited(path: Path, encoding: str | None, delimiter: str | None) -> Iterator[Chunk]:
    """Yield the rows of a delimited file; its first row names the columns."""
    with open_text(path, encoding) as stream:
        head = stream.read(SAMPLE_CHARACTERS)
        if not head.strip():
            raise FileFormatError("the file is empty", path)
        chosen = delimiter or find_delimiter(head)
        # Read once and put together again: a pipe cannot be read from its beginning.
        lines = _lines(head, stream)
        yield from _chunks(_Rows(path, lines, chosen), path)


def find_delimiter(head: str) -> str:
    """Return the delimiter that cuts the first rows into the most columns of equal number.

    Examples
    --------
    >>> find_delimiter('a;b\\n"1;2,5";3\\n')
    ';'
    """
    best, most = ",", 1
    for delimiter in DELIMITERS:
        rows = []
        try:
            for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter):
                rows.append(len(row))
                if len(rows) > SAMPLE_ROWS:
                    break
        except csv.Error:
            continue
        # The last one may be cut off.
        whole = rows[:-1] or rows
        same = sum(length == whole[0] for length in whole) / len(whole)
        if whole[0] > most and same > 0.9:
            best, most = delimiter, whole[0]
    return best


def _lines(head: str, stream: io.TextIOBase) -> Iterator[str]:
    """Yield the lines of what was read ahead, then those of the stream."""
    ahead = io.StringIO(head, newline="")
    for line in ahead:
        # The last line of the sample goes on in the stream.
        yield line if line.endswith("\n") else line + stream.readline()
    # Not from the stream itself: who stops reading would close it here, before its owner does.
    yield from iter(stream.readline, "")


class _Rows:
    """The rows of a file, with the row and line numbers that messages need."""

    def __init__(self, path: Path, lines: Iterator[str], delimiter: str) -> None:
        self.path, self.number = path, 0
        # The limit of the module, 131,072 characters, is less than many documents have. It is of
        # the whole process: raised, never lowered, so that no other reader notices.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
        try:
            self._reader = csv.reader(
                text_lines(lines, path, MAX_CELL), delimiter=delimiter, strict=True
            )
        except TypeError:
            raise InputError(f"a delimiter is one character; got {delimiter!r}.") from None

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        try:
            row = next(self._reader)
            while not row:
                row = next(self._reader)
        except csv.Error as error:
            raise FileFormatError(
                f"row {self.number}: {_in_words(error)}", self.path, self._reader.line_num
            ) from None
        self.number += 1
        return row

    @property
    def line(self) -> int:
        """Line of the file that the last row ends on."""
        return self._reader.line_num


def _in_words(error: csv.Error) -> str:
    message = str(error)
    if "field larger" in message:
        return f"a cell of more than {csv.field_size_limit():,} characters"
    if "end of data" in message:
        return "a quotation mark is not closed before the end of the file"
    if "expected after" in message:
        return "a quotation mark inside a cell is not doubled"
    return message


def _chunks(rows: _Rows, path: Path) -> Iterator[Chunk]:
    names = [name.strip() for name in next(iter(rows))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileFormatError(f"two columns are called {twice[0]!r}", path, 1)
    cells: list[list[str]] = []
    first = 1
    for row in rows:
        if len(row) != len(names):
            raise FileFormatError(
                f"row {rows.number - 1} has {len(row)} cells but the header has {len(names)}",
                path,
                rows.line,
            )
        cells.append(row)
        if len(cells) == CHUNK_ROWS:
            yield _as_chunk(names, cells, first)
            first, cells = first + len(cells), []
    if cells or first == 1:
        yield _as_chunk(names, cells, first)


def _as_chunk(names: list[str], cells: list[list[str]], first: int) -> Chunk:
    columns = zip(*cells, strict=True) if cells else ((),) * len(names)
    return Chunk(dict(zip(names, map(list, columns), strict=True)), first)
