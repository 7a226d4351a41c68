"""How predictions are written: a line per row, or a line per label."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.core.ranking import Ranking


@dataclass(frozen=True)
class Block:
    """Predictions of consecutive rows.

    Attributes
    ----------
    ranking : Ranking
        The predicted labels, best first.
    first_row : int
        Number of the first row in the data file.
    names : sequence
        Name of every label.
    scores : bool
        Whether scores are written.
    """

    ranking: Ranking
    first_row: int
    names: Sequence[Any]
    scores: bool

    def rows(self) -> Iterator[tuple[int, list[int], list[float]]]:
        """Yield the row number, the labels and their scores, row by row."""
        labels, scores = self.ranking.labels.tolist(), self.ranking.scores.tolist()
        bounds = self.ranking.indptr.tolist()
        for row, (start, stop) in enumerate(pairwise(bounds)):
            yield self.first_row + row, labels[start:stop], scores[start:stop]


@dataclass(frozen=True)
class OutputFormat:
    """One way to write predictions.

    Attributes
    ----------
    extensions : tuple of str
        File endings that settle it.
    header : callable
        Returns the first line from the numbers of rows and labels and whether scores follow.
    lines : callable
        Yields the text of a `Block`.
    """

    extensions: tuple[str, ...]
    header: Callable[[int, int, bool], str]
    lines: Callable[[Block], Iterator[str]]


def _jsonl_lines(block: Block) -> Iterator[str]:
    for row, labels, scores in block.rows():
        named: list[Any] = [block.names[label] for label in labels]
        if block.scores:
            pairs = zip(named, scores, strict=True)
            # A number in JSON, but with the digits that the other formats have.
            named = [{"label": name, "score": float(_short(score))} for name, score in pairs]
        yield json.dumps({"row": row, "labels": named}, ensure_ascii=False) + "\n"


def _csv_header(n_rows: int, n_labels: int, scores: bool) -> str:
    return "row,label,score,rank\n" if scores else "row,label,rank\n"


def _csv_lines(block: Block) -> Iterator[str]:
    for row, labels, scores in block.rows():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for rank, (label, score) in enumerate(zip(labels, scores, strict=True), start=1):
            middle = (_short(score),) if block.scores else ()
            writer.writerow((row, block.names[label], *middle, rank))
        yield text.getvalue()


def _xmc_lines(block: Block) -> Iterator[str]:
    for _, labels, scores in block.rows():
        values = map(_short, scores) if block.scores else ["1"] * len(labels)
        pairs = zip(labels, values, strict=True)
        yield " ".join(f"{label}:{value}" for label, value in pairs) + "\n"


def _short(score: float) -> str:
    """Return the digits that a float32 carries."""
    return f"{score:.6g}"


OUTPUT_FORMATS = {
    "jsonl": OutputFormat((".jsonl", ".json"), lambda *_: "", _jsonl_lines),
    "csv": OutputFormat((".csv",), _csv_header, _csv_lines),
    "xmc": OutputFormat((".xmc", ".txt"), lambda n, m, _: f"{n} {m}\n", _xmc_lines),
}


def output_format(path: Path, name: str | None) -> OutputFormat:
    """Return the format called ``name``, or the one that the file ending settles.

    Examples
    --------
    >>> output_format(Path("labels.csv"), None).extensions
    ('.csv',)
    >>> output_format(Path("labels"), None)
    Traceback (most recent call last):
    rmls.core.errors.InputError: the ending of labels names no format; give --format (jsonl, ...
    """
    known = ", ".join(OUTPUT_FORMATS)
    if name is not None:
        if name not in OUTPUT_FORMATS:
            raise InputError(f"--format must be one of {known}; got {name!r}.")
        return OUTPUT_FORMATS[name]
    if path == Path("-"):
        return OUTPUT_FORMATS["jsonl"]
    for format in OUTPUT_FORMATS.values():
        if path.suffix.lower() in format.extensions:
            return format
    raise InputError(f"the ending of {path} names no format; give --format ({known}).")
