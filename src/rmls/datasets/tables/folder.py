"""A folder of text files, with the labels of each in a file beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError
from rmls.datasets.tables.chunks import MAX_CELL, Chunk, gather
from rmls.datasets.tables.streams import open_text, text_lines

TEXT_ENDING = ".txt"
# One label a line; in .tsv a URI and the label, as other tools for subject indexing have it.
LABEL_ENDINGS = (".labels", ".key", ".tsv")
ID, TEXT, LABELS = "id", "text", "labels"


def read_folder(path: Path, encoding: str | None) -> Iterator[Chunk]:
    """Yield the text files of a folder, by name."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() == TEXT_ENDING)
    if not files:
        raise FileFormatError(f"the folder holds no {TEXT_ENDING} files", path)
    yield from gather(_row(file, encoding) for file in files)


def _row(file: Path, encoding: str | None) -> dict[str, Any]:
    return {ID: file.stem, TEXT: _content(file, encoding), LABELS: _labels(file, encoding)}


def _labels(file: Path, encoding: str | None) -> list[str] | None:
    for ending in LABEL_ENDINGS:
        beside = file.with_suffix(ending)
        if beside.is_file():
            lines = [line.strip() for line in _content(beside, encoding).splitlines()]
            if ending == ".tsv":
                lines = [line.split("\t")[-1].strip() for line in lines]
            return [line for line in lines if line]
    return None


def _content(file: Path, encoding: str | None) -> str:
    if file.stat().st_size > 4 * MAX_CELL:
        raise FileFormatError(f"a text of more than {4 * MAX_CELL:,} bytes", file)
    with open_text(file, encoding) as stream:
        return "".join(text_lines(stream, file, 4 * MAX_CELL))
