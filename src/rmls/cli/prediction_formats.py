"""How predictions are written: a line per row, or a line per label."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.core.ranking import Ranking


class Values(str, Enum):
    """The numbers that are written with a label."""

    BOTH = "both"
    SCORE = "score"
    PROBABILITY = "probability"
    NONE = "none"


COLUMNS = {
    Values.BOTH: ("score", "probability"),
    Values.SCORE: ("score",),
    Values.PROBABILITY: ("probability",),
    Values.NONE: (),
}


class Row(NamedTuple):
    """The labels of one row, best first, and a list of numbers for every column."""

    number: int
    labels: list[int]
    columns: list[list[float | None]]


@dataclass(frozen=True)
class Block:
    """Predictions of consecutive rows.

    Attributes
    ----------
    ranking : Ranking
        The predicted labels, best first, with the names of all labels.
    first_row : int
        Number of the first row in the data file.
    values : Values
        Which numbers are written.
    """

    ranking: Ranking
    first_row: int
    values: Values

    @property
    def names(self) -> Sequence[Any]:
        """Name of every label."""
        names = self.ranking.names
        return range(self.ranking.n_labels) if names is None else names

    def rows(self) -> Iterator[Row]:
        """Yield the predictions row by row."""
        labels, columns = self.ranking.labels.tolist(), list(map(self._column, self._titles()))
        for row, (start, stop) in enumerate(pairwise(self.ranking.indptr.tolist())):
            parts = [column[start:stop] for column in columns]
            yield Row(self.first_row + row, labels[start:stop], parts)

    def _titles(self) -> tuple[str, ...]:
        return COLUMNS[self.values]

    def _column(self, title: str) -> list[float | None]:
        values = self.ranking.scores if title == "score" else self.ranking.probabilities
        if values is not None:
            found: list[float | None] = values.tolist()
            return found
        if self.values is Values.PROBABILITY:
            raise InputError(
                "the model gives no probabilities; use --values score, or train it inside "
                "--method Calibrated."
            )
        return [None] * len(self.ranking.labels)


@dataclass(frozen=True)
class OutputFormat:
    """One way to write predictions.

    Attributes
    ----------
    extensions : tuple of str
        File endings that settle it.
    lines : callable
        Yields the text of a `Block`, row by row.
    header : callable
        Returns the first line from the numbers of rows and labels and what is written.
    values : tuple of Values
        What can be written; the first is the default.
    separator, footer : str
        What stands between two rows, and behind the last.
    """

    extensions: tuple[str, ...]
    lines: Callable[[Block], Iterator[str]]
    header: Callable[[int, int, Values], str] = lambda *_: ""
    values: tuple[Values, ...] = tuple(Values)
    separator: str = ""
    footer: str = ""

    def choose_values(self, wanted: Values | None) -> Values:
        """Return what is written, or say what this format has no room for."""
        if wanted is not None and wanted not in self.values:
            raise InputError(
                f"this format has room for one number; choose --values {self.values[0].value} or "
                f"--values {self.values[1].value}."
            )
        return wanted or self.values[0]

    def join(self, header: str, rows: Iterable[str]) -> Iterator[str]:
        """Yield the whole text of a file, piece by piece."""
        yield header
        for number, text in enumerate(rows):
            yield self.separator + text if number else text
        yield self.footer


def _json_objects(block: Block) -> Iterator[str]:
    titles = COLUMNS[block.values]
    for row in block.rows():
        named: list[Any] = [block.names[label] for label in row.labels]
        if titles:
            # Numbers in JSON, but with the digits that the other formats have.
            numbers = zip(
                *([_rounded(value) for value in part] for part in row.columns), strict=True
            )
            named = [
                {"label": name, **dict(zip(titles, values, strict=True))}
                for name, values in zip(named, numbers, strict=True)
            ]
        yield json.dumps({"row": row.number, "labels": named}, ensure_ascii=False)


def _json_lines(block: Block) -> Iterator[str]:
    return (text + "\n" for text in _json_objects(block))


def _csv_header(n_rows: int, n_labels: int, values: Values) -> str:
    return ",".join(("row", "rank", "label", *COLUMNS[values])) + "\n"


def _csv_lines(block: Block) -> Iterator[str]:
    for row in block.rows():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for rank, label in enumerate(row.labels, start=1):
            numbers = (_short(column[rank - 1]) for column in row.columns)
            writer.writerow((row.number, rank, block.names[label], *numbers))
        yield text.getvalue()


def _xmc_lines(block: Block) -> Iterator[str]:
    for row in block.rows():
        # Without numbers each label counts 1, as in a data file.
        values = map(_short, row.columns[0]) if row.columns else ["1"] * len(row.labels)
        pairs = zip(row.labels, values, strict=True)
        yield " ".join(f"{label}:{value}" for label, value in pairs) + "\n"


def _short(value: float | None) -> str:
    """Return the digits that a float32 carries."""
    return "" if value is None else f"{value:.6g}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(_short(value))


OUTPUT_FORMATS = {
    "jsonl": OutputFormat((".jsonl", ".ndjson"), _json_lines),
    "json": OutputFormat(
        (".json",), _json_objects, lambda *_: "[\n", separator=",\n", footer="\n]\n"
    ),
    "csv": OutputFormat((".csv",), _csv_lines, _csv_header),
    "xmc": OutputFormat(
        (".xmc", ".txt"),
        _xmc_lines,
        lambda n_rows, n_labels, _: f"{n_rows} {n_labels}\n",
        (Values.SCORE, Values.PROBABILITY, Values.NONE),
    ),
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
