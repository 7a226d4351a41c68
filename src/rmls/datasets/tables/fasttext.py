"""fastText's lines: `__label__NAME` for every label, then the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmls.datasets.tables.chunks import MAX_CELL, Chunk, gather
from rmls.datasets.tables.streams import open_text, text_lines

PREFIX = "__label__"
TEXT, LABELS = "text", "labels"
# fastText takes labels from anywhere in a line.
_TOKEN = re.compile(r"(?:^|(?<=\s))__label__(\S+)\s*")


def looks_like_fasttext(head: str) -> bool:
    """Tell whether the first line is one of fastText."""
    return head.lstrip().startswith(PREFIX)


def read_fasttext(path: Path, encoding: str | None) -> Iterator[Chunk]:
    """Yield the texts and labels of a file for fastText."""
    with open_text(path, encoding) as stream:
        yield from gather(_rows(stream, path))


def _rows(stream: Iterator[str], path: Path) -> Iterator[dict[str, Any]]:
    for line in text_lines(stream, path, MAX_CELL):
        if line.strip():
            yield {TEXT: _TOKEN.sub("", line).strip(), LABELS: _TOKEN.findall(line)}
