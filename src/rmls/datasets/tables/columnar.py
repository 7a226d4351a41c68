"""Parquet, Feather and spreadsheets, read by the libraries made for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError
from rmls.core.optional import import_extra
from rmls.datasets.tables.chunks import CHUNK_ROWS, Chunk, gather

EXTRA = "tables"


def read_parquet(path: Path) -> Iterator[Chunk]:
    """Yield the rows of a Parquet file, some at a time."""
    parquet = import_extra("pyarrow.parquet", EXTRA, "reading Parquet files")
    with _Opened(path, parquet.ParquetFile) as file:
        yield from _batches(path, file.iter_batches(batch_size=CHUNK_ROWS), file.schema_arrow)


def read_feather(path: Path) -> Iterator[Chunk]:
    """Yield the rows of a Feather or Arrow file, batch by batch."""
    ipc = import_extra("pyarrow.ipc", EXTRA, "reading Feather files")
    pyarrow = import_extra("pyarrow", EXTRA, "reading Feather files")
    with _Opened(path, lambda name: ipc.open_file(pyarrow.memory_map(str(name)))) as file:
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
        yield from _batches(path, batches, file.schema)


def read_excel(path: Path) -> Iterator[Chunk]:
    """Yield the rows of the first sheet; its first row names the columns."""
    openpyxl = import_extra("openpyxl", EXTRA, "reading Excel files")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except FileNotFoundError:
        raise FileFormatError("there is no such file", path) from None
    except Exception as error:
        raise FileFormatError(f"this is no Excel file ({_short(error)})", path) from None
    try:
        rows = book.worksheets[0].iter_rows(values_only=True)
        header = next(rows, ())
        names = [str(name).strip() for name in header if name is not None]
        if not names:
            raise FileFormatError("the first sheet is empty", path, 1)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FileFormatError(f"two columns are called {twice!r}", path, 1)
        # Rows that only have a format are not rows.
        filled = (row for row in rows if any(cell is not None for cell in row))
        yield from gather(dict(zip(names, row, strict=False)) for row in filled)
    finally:
        book.close()


class _Opened:
    """Open a file by a function of a library, whose errors become one sentence."""

    def __init__(self, path: Path, opener: Any) -> None:
        self.path, self.opener = path, opener

    def __enter__(self) -> Any:
        if not self.path.exists():
            raise FileFormatError("there is no such file", self.path)
        try:
            return self.opener(self.path)
        except (OSError, ValueError) as error:
            raise FileFormatError(f"the file is damaged ({_short(error)})", self.path) from None

    def __exit__(self, *error: object) -> None:
        return None


def _batches(path: Path, batches: Iterator[Any], schema: Any) -> Iterator[Chunk]:
    names = schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"two columns are called {twice!r}", path)
    first = 1
    empty = True
    try:
        for batch in batches:
            for start in range(0, batch.num_rows, CHUNK_ROWS):
                part = batch.slice(start, CHUNK_ROWS)
                cells = [column.to_pylist() for column in part.columns]
                yield Chunk(dict(zip(names, cells, strict=True)), first)
                first, empty = first + part.num_rows, False
    except (OSError, ValueError) as error:
        raise FileFormatError(f"the file is damaged ({_short(error)})", path) from None
    if empty:
        yield Chunk({name: [] for name in names}, 1)


def _short(error: Exception) -> str:
    return str(error).split("\n")[0][:100]
