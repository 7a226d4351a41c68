"""`rmls suggest`: labels for texts, from the command line, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import note, notes
from rmls.cli.shared.data import is_store_path
from rmls.cli.shared.suggestions import DEFAULT_TOP, Choice, Format, make_writer, suggestions
from rmls.cli.shared.text_models import GivenTexts, compiled_in_time, load_text_model
from rmls.cli.shared.vectors import open_for_model
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    pass


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
    from rmls.cli.shared.console import check_file_target, open_output

    if text and source:
        raise InputError("TEXT and --input exclude each other; give one of them.")
    if add_column and (source is None or format not in (None, Format.CSV, Format.JSONL)):
        raise InputError("--add-column writes the rows of --input FILE as CSV or JSON lines.")
    if top is not None and decision is not None:
        raise InputError("--top and --decision exclude each other; give one of them.")
    chosen, target = _choose_format(format, output, add_column), output or Path("-")
    check_file_target(target, overwrite, streams=True)
    fitted = load_text_model(model)
    rule = options.decision_for(fitted.estimator_, decision)
    # A column has no probabilities beside it: what the model would decide goes there.
    decided = decision is not None or bool(add_column and top is None and min_probability is None)
    choice = Choice(None if decided else top or DEFAULT_TOP, rule, min_probability or 0.0)
    reading = texts.Reading(columns, None, id, None, encoding, delimiter, source_format, features)
    if add_column and source and is_store_path(source):
        raise InputError("--add-column copies the columns of a table; a store has none.")
    vectors = open_for_model(fitted, features)
    tables = compiled_in_time(fitted, _tables(fitted, text, source, reading, quiet))
    labelled: Iterable[Any]
    if cluster is None:
        labelled = ((each, suggestions(fitted, each, choice, vectors)) for each in tables)
    else:
        labelled = _on_cluster(cluster, model, tables, choice, vectors, quiet)
    n_rows = 0
    with open_output(target) as stream:
        writer = make_writer(stream, chosen, add_column)
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
) -> Iterator[Any]:
    """Yield texts, some at a time; lines of a terminal or a pipe as they come."""
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
        yield GivenTexts(given)
    else:
        from rmls.datasets.tables.chunks import MAX_CELL
        from rmls.datasets.tables.streams import STDIN, open_text, text_lines

        if sys.stdin.isatty():
            note(notes(), "reading", "a text a line; end with Ctrl-D")
        with open_text(STDIN, reading.encoding) as stream:
            for line in text_lines(stream, STDIN, MAX_CELL):
                yield GivenTexts([line.rstrip("\r\n")])
