"""`rmls suggest`: labels for texts, from the command line, a file or standard input."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import note, notes
from rmls.cli.shared.data import is_store_path
from rmls.cli.shared.vectors import VectorFile, open_for_model
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.core.ranking import RankedLabel
    from rmls.datasets.tables import TextTable

DEFAULT_TOP = 5
SEPARATOR = "; "


class Format(str, Enum):
    """How suggestions are written."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"


Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEXT]...", help="Texts; without any, lines of standard input."),
]
Input = Annotated[
    str | None,
    typer.Option("--input", "-i", metavar="FILE", help="A table of texts, in place of TEXT."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="The file to write.", show_default="stdout"),
]
Wanted = Annotated[
    Format | None,
    typer.Option("--format", metavar="FORMAT", help="table, csv or jsonl.", show_default="by OUT"),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top", metavar="K", parser=options.whole(1), help="At most K labels a text (5)."
    ),
]
Least = Annotated[
    float | None,
    typer.Option(
        "--min-probability",
        metavar="P",
        parser=options.number(0, 1),
        help="Leave out labels that are less likely.",
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--add-column",
        metavar="NAME",
        help="Write the rows of FILE as they are, with the labels in a column of this name.",
    ),
]


class Choice(NamedTuple):
    """Which labels are suggested."""

    top: int | None
    rule: Any
    least: float


def suggest(
    model: options.Model,
    text: Texts = None,
    source: Input = None,
    output: Output = None,
    format: Wanted = None,
    top: Top = None,
    decision: options.Decision = None,
    min_probability: Least = None,
    add_column: Column = None,
    columns: texts.Text = None,
    features: texts.Features = None,
    id: texts.Id = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    source_format: options.From = None,
    overwrite: options.Overwrite = False,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Suggest labels for texts, most likely first.

    The best 5 of every text, or those that a decision rule takes, as
    --add-column does by itself. Rows keep their order, their names and, with
    --add-column, all their columns.
    """
    import rmls
    from rmls.cli.shared.console import check_file_target, open_output

    if text and source:
        raise InputError("TEXT and --input exclude each other; give one of them.")
    if add_column and (source is None or format not in (None, Format.CSV, Format.JSONL)):
        raise InputError("--add-column writes the rows of --input FILE as CSV or JSON lines.")
    if top is not None and decision is not None:
        raise InputError("--top and --decision exclude each other; give one of them.")
    chosen, target = _choose_format(format, output, add_column), output or Path("-")
    check_file_target(target, overwrite, streams=True)
    fitted = rmls.load(model)
    if not texts.is_text_model(fitted):
        raise InputError(
            f"{model} was trained on features, not on texts; use rmls predict, or train it on a "
            "table of texts."
        )
    rule = options.decision_for(fitted.estimator_, decision)
    # A column has no probabilities beside it: what the model would decide goes there.
    decided = decision is not None or bool(add_column and top is None and min_probability is None)
    choice = Choice(None if decided else top or DEFAULT_TOP, rule, min_probability or 0.0)
    reading = texts.Reading(columns, None, id, None, encoding, delimiter, source_format, features)
    if add_column and source and is_store_path(source):
        raise InputError("--add-column copies the columns of a table; a store has none.")
    vectors = open_for_model(fitted, features)
    tables = _tables(fitted, text, source, reading, quiet)
    labelled: Iterable[Any]
    if cluster is None:
        labelled = ((each, suggestions(fitted, each, choice, vectors)) for each in tables)
    else:
        labelled = _on_cluster(cluster, model, tables, choice, vectors, quiet)
    n_rows = 0
    with open_output(target) as stream:
        writer = _writer(stream, chosen, add_column)
        for table, labels in labelled:
            n_rows += writer.write_table(table, n_rows, labels)
        if vectors is not None:
            vectors.finish()
    if output is not None:
        note(notes(quiet), "wrote", f"{output}: {count(n_rows, 'row')}")


def _on_cluster(
    address: str, model: Path, tables: Any, choice: Choice, vectors: Any, quiet: bool
) -> Iterator[Any]:
    from rmls.cli.shared.clusters import suggest_on_cluster

    if vectors is not None:
        raise InputError("--features is one file, read row by row; drop --cluster.")
    return suggest_on_cluster(address, model, tables, choice, quiet)


def _choose_format(wanted: Format | None, output: Path | None, add_column: str | None) -> Format:
    if wanted is not None:
        return wanted
    ending = output.suffix.lower() if output is not None else ""
    if ending in (".jsonl", ".ndjson"):
        return Format.JSONL
    if ending == ".csv" or add_column:
        return Format.CSV
    if output is not None and ending not in ("", ".txt"):
        raise InputError(f"{output}: give --format table, csv or jsonl; {ending} is none of them.")
    return Format.TABLE


def _tables(
    model: Any, given: list[str] | None, source: str | None, reading: texts.Reading, quiet: bool
) -> Iterator[TextTable]:
    """Yield texts, some at a time; lines of a terminal or a pipe as they come."""
    from rmls.datasets.tables import TextTable
    from rmls.datasets.tables.chunks import MAX_CELL
    from rmls.datasets.tables.streams import STDIN, open_text, text_lines

    if source is not None and is_store_path(source):
        from rmls.cli.shared.stores import stored_tables

        yield from stored_tables(model, source)
    elif source is not None:
        # Whatever labels the table has, they are not looked at.
        more = {"labels": (), "keep_other": True, **texts.columns_of(model)}
        for number, table in enumerate(reading.iterate(source, **more)):
            if not number:
                texts.tell_missing(table, quiet)
            yield table
    elif given:
        yield TextTable(("text",), [(text,) for text in given])
    else:
        if sys.stdin.isatty():
            note(notes(), "reading", "a text a line; end with Ctrl-D")
        with open_text(STDIN, reading.encoding) as stream:
            for line in text_lines(stream, STDIN, MAX_CELL):
                yield TextTable(("text",), [(line.rstrip("\r\n"),)])


def suggestions(
    model: Any, table: TextTable, choice: Choice, vectors: VectorFile | None
) -> Iterator[list[RankedLabel]]:
    """Yield the labels that are suggested for every row of a table."""
    rows: Any = getattr(table, "X", None)
    ranker = model if rows is None else model.estimator_
    if rows is None:
        rows = texts.rows_for_model(model, table, vectors)
    if choice.top is not None:
        ranking = ranker.rank(rows, choice.top)
    else:
        ranking = ranker.rank_sets(rows, choice.rule)
    for row in ranking:
        likely = [
            label for label in row if label.probability is None or label.probability >= choice.least
        ]
        # Without probabilities the order is that of the scores.
        yield sorted(likely, key=lambda label: -(label.probability or 0.0))


class _Writer:
    """Writes the suggestions of one row after the other."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write_table(self, table: TextTable, first: int, labels: Iterable[Any]) -> int:
        """Write the labels of all rows, of which so many came before; return how many they are."""
        for row, found in enumerate(labels):
            self.write(table, row, first + row, found)
        self.stream.flush()
        return len(table)

    def write(self, table: TextTable, row: int, number: int, found: list[RankedLabel]) -> None:
        """Write the labels of a row of a table; ``number`` counts from the first of all."""
        raise NotImplementedError

    @staticmethod
    def name(table: TextTable, row: int, number: int) -> Any:
        """Return what the row is called."""
        return number if table.ids is None else table.ids[row]


class _Lines(_Writer):
    """One line a label, for people."""

    def write(self, table: TextTable, row: int, number: int, found: list[RankedLabel]) -> None:
        cells = table.texts[row] or [str(column[row]) for column in table.beside.values()]
        text = " ".join(" ".join(cells).split())
        self.stream.write(f"{text[:72]}{'…' if len(text) > 72 else ''}\n")
        for label in found:
            chance = "" if label.probability is None else f"{label.probability:6.1%}"
            self.stream.write(f"  {chance}  {label.label}\n")
        if not found:
            self.stream.write("  no label is likely enough\n")


class _Csv(_Writer):
    """One line a label: row, rank, label, probability."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.rows = csv.writer(stream, lineterminator="\n")
        self.rows.writerow(["row", "rank", "label", "probability"])

    def write(self, table: TextTable, row: int, number: int, found: list[RankedLabel]) -> None:
        name = self.name(table, row, number)
        for rank, label in enumerate(found, 1):
            chance = "" if label.probability is None else f"{label.probability:.6g}"
            self.rows.writerow([name, rank, label.label, chance])


class _JsonLines(_Writer):
    """One object a row."""

    def write(self, table: TextTable, row: int, number: int, found: list[RankedLabel]) -> None:
        labels = [{"label": each.label, "probability": _rounded(each)} for each in found]
        value = {"row": self.name(table, row, number), "labels": labels}
        self.stream.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")


class _Added(_Writer):
    """The rows of the input, with a column more."""

    def __init__(self, stream: Any, format: Format, column: str) -> None:
        super().__init__(stream)
        self.format, self.column = format, column
        self.rows: Any = None

    def write(self, table: TextTable, row: int, number: int, found: list[RankedLabel]) -> None:
        values = table.row(row)
        if self.column in values:
            raise InputError(f"the input has a column {self.column!r} already; choose another.")
        names = [label.label for label in found]
        if self.format is Format.JSONL:
            line = json.dumps({**values, self.column: names}, ensure_ascii=False, default=str)
            self.stream.write(line + "\n")
            return
        if self.rows is None:
            self.rows = csv.writer(self.stream, lineterminator="\n")
            self.rows.writerow([*values, self.column])
        joined = SEPARATOR.join(map(str, names))
        self.rows.writerow([*("" if v is None else v for v in values.values()), joined])


def _writer(stream: Any, format: Format, add_column: str | None) -> _Writer:
    if add_column is not None:
        return _Added(stream, format, add_column)
    return {Format.TABLE: _Lines, Format.CSV: _Csv, Format.JSONL: _JsonLines}[format](stream)


def _rounded(label: RankedLabel) -> float | None:
    return None if label.probability is None else float(f"{label.probability:.6g}")
