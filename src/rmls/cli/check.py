"""`rmls check`: what is wrong with a table of texts and labels, before any model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import check_file_target, note, notes, print_json, results

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A table of texts, a folder, or - for stdin.")
]
Text = Annotated[
    str | None,
    typer.Option(metavar="COLUMN,…", help="Columns of the texts.", show_default="by their names"),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN,…",
        help="The column of the labels, or 0/1 columns of all.",
        show_default="by their names",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(help="What parts the labels of a cell.", show_default="found out"),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, jsonl, json, parquet, feather, excel, fasttext or folder.",
        show_default="by the ending",
    ),
]
Encoding = Annotated[str | None, typer.Option(help="Of a text file.", show_default="found out")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write a page with more examples.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 is all cores.")]


def check(
    file: File,
    text: Text = None,
    labels: Labels = None,
    separator: Separator = None,
    format: Format = None,
    encoding: Encoding = None,
    html: Html = None,
    json: options.Json = False,
    overwrite: options.Overwrite = False,
    jobs: Jobs = -1,
) -> None:
    """Look for what costs quality in a table of texts and labels: no model is needed."""
    from rmls.cli.shared.options import read_list
    from rmls.core.files import write_text
    from rmls.datasets import read_texts
    from rmls.report.terminal import print_report
    from rmls.review import check_table
    from rmls.review.pages import check_report

    if html is not None:
        check_file_target(html, overwrite)
    table = read_texts(
        file,
        text=None if text is None else read_list("--text", text),
        labels=None if labels is None else read_list("--labels", labels),
        separator=separator,
        format=format,
        encoding=encoding,
    )
    for found in table.found:
        note(notes(), "found", found)
    checked = check_table(table, n_jobs=jobs)
    name = "the table" if file == "-" else Path(file).name
    if json:
        print_json(checked.as_dict())
    else:
        print_report(check_report(checked, name, n_examples=5), results())
    if html is not None:
        write_text(html, checked.html(name))
        note(notes(), "wrote", str(html))
