"""`rmls predict`: labels for the rows of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes
from rmls.cli.shared.options import Part
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from scipy import sparse

    from rmls.models.shared.estimator import MultiLabelEstimator

# Only the predictions of so many rows are in memory at a time.
BLOCK_ROWS = 4096

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="The file to write; - is stdout.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="jsonl, csv or xmc.", show_default="by ending"),
]
Top = Annotated[
    int | None, typer.Option("--top", metavar="K", min=1, help="The best K labels of every row.")
]
Scores = Annotated[bool, typer.Option("--scores/--no-scores", help="Write scores with labels.")]


def predict(
    model: options.Model,
    data: options.Data,
    output: Output,
    format: Format = None,
    top: Top = None,
    decision: options.Decision = None,
    scores: Scores = True,
    part: options.PartOption = Part.ALL,
    source_format: options.From = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the labels of every row of DATA to a file.

    Rows are numbered as in DATA, from 0; the file appears when it is complete.
    """
    import rmls
    from rmls.cli.prediction_formats import output_format
    from rmls.cli.shared.console import check_file_target
    from rmls.cli.shared.data import choose_part, load_for_model

    if top is not None and decision is not None:
        raise InputError("--top and --decision exclude each other; give one of them.")
    chosen = output_format(output, format)
    # Before the model is loaded: a bad name is told at once.
    check_file_target(output, overwrite)
    fitted = rmls.load(model)
    rule = options.decision_for(fitted, decision if top is None else f"top_{top}")
    rows, first = choose_part(load_for_model(data, source_format, fitted), part, Part.ALL)
    empty: list[int] = []
    lines = _lines(fitted, rows.X, rule, chosen, (first, scores), (quiet, empty))
    _write(output, chosen.header(rows.n_samples, len(fitted.classes_), scores), lines)
    without = f", {sum(empty):,} of them without a label" if sum(empty) else ""
    note(notes(quiet), "wrote", f"{output}: {count(rows.n_samples, 'row')}{without}")


def _write(output: Path, header: str, lines: Iterator[str]) -> None:
    from rmls.cli.shared.console import open_output

    with open_output(output) as stream:
        stream.write(header)
        stream.writelines(lines)


def _lines(
    model: MultiLabelEstimator,
    X: sparse.csr_matrix,
    rule: Any,
    format: Any,
    numbering: tuple[int, bool],
    watching: tuple[bool, list[int]],
) -> Iterator[str]:
    """Yield the text of all rows, predicted in blocks so that memory stays small.

    ``watching`` says whether to be quiet, and takes the number of empty rows of every block.
    """
    from rich.progress import track

    from rmls.cli.prediction_formats import Block

    (first, scores), (quiet, empty) = numbering, watching
    names = model.classes_.tolist()
    console = notes(quiet)
    starts = range(0, X.shape[0], BLOCK_ROWS)
    silent = quiet or not console.is_terminal or len(starts) == 1
    for start in track(starts, "predicting", console=console, disable=silent, transient=True):
        ranking = model.rank_sets(X[start : start + BLOCK_ROWS], rule)
        empty.append(int((ranking.lengths == 0).sum()))
        yield from format.lines(Block(ranking, first + start, names, scores))
