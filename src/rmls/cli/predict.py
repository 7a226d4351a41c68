"""`rmls predict`: labels for the rows of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.prediction_formats import Block, Values, output_format
from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes
from rmls.cli.shared.options import Part
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.core.ranking import Ranking
    from rmls.datasets import Dataset

# Only the predictions of so many rows are in memory at a time.
BLOCK_ROWS = 4096

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="The file to write; - is stdout.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help="jsonl, json, csv or xmc.", show_default="by ending"
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top", metavar="K", parser=options.whole(1), help="The best K labels of every row."
    ),
]
Numbers = Annotated[
    Values | None,
    typer.Option(
        "--values",
        metavar="WHICH",
        help="Numbers beside the labels: both, score, probability or none.",
        show_default="both; score in xmc, which has room for one",
    ),
]
Scores = Annotated[
    bool, typer.Option("--scores/--no-scores", help="--no-scores is the same as --values none.")
]


def predict(
    model: options.Model,
    data: options.Data,
    output: Output,
    format: Format = None,
    top: Top = None,
    decision: options.Decision = None,
    values: Numbers = None,
    scores: Scores = True,
    part: options.PartOption = Part.ALL,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the labels of every row of DATA to a file.

    Labels come best first, by the score that ranks them. Rows are numbered
    as in DATA, from 0; the file appears when it is complete.
    """
    from rmls.cli.shared.console import check_file_target, open_output
    from rmls.cli.shared.data import choose_part, is_store_path, load_for_model, load_model
    from rmls.cli.shared.texts import is_text_model

    if top is not None and decision is not None:
        raise InputError("--top and --decision exclude each other; give one of them.")
    chosen = output_format(output, format)
    wanted = chosen.choose_values(_read_values(values, scores))
    # Before the model is loaded: a bad name is told at once.
    check_file_target(output, overwrite, streams=True)
    fitted = load_model(model, data)
    if is_text_model(fitted) and is_store_path(data):
        from rmls.cli.shared.stores import inner_model

        fitted = inner_model(fitted, data)
    if is_text_model(fitted):
        raise InputError(f"{model} takes texts: rmls suggest {model} --input {data}")
    rule = options.decision_for(fitted, decision if top is None else f"top_{top}")
    dataset = load_for_model(data, source_format, fitted, index_base)
    rows, first = choose_part(dataset, part, Part.ALL)
    empty: list[int] = []

    def texts() -> Iterator[str]:
        for start, ranking in _predict_blocks(fitted, rows, rule, quiet):
            empty.append(int((ranking.lengths == 0).sum()))
            yield from chosen.lines(Block(ranking, first + start, wanted))

    header = chosen.header(rows.n_samples, len(fitted.classes_), wanted)
    with open_output(output) as stream:
        stream.writelines(chosen.join(header, texts()))
    without = f", {sum(empty):,} of them without a label" if sum(empty) else ""
    note(notes(quiet), "wrote", f"{output}: {count(rows.n_samples, 'row')}{without}")


def _read_values(values: Values | None, scores: bool) -> Values | None:
    if not scores and values not in (None, Values.NONE):
        raise InputError("--no-scores and --values exclude each other; give one of them.")
    return values if scores else Values.NONE


def _predict_blocks(
    model: Any, rows: Dataset, rule: Any, quiet: bool
) -> Iterator[tuple[int, Ranking]]:
    """Yield rankings of some rows at a time, with the place of the first, and show progress."""
    from rich.progress import track

    console = notes(quiet)
    starts = range(0, rows.n_samples, BLOCK_ROWS)
    silent = quiet or not console.is_terminal or len(starts) == 1
    for start in track(starts, "predicting", console=console, disable=silent, transient=True):
        yield start, model.rank_sets(rows.take(slice(start, start + BLOCK_ROWS)), rule)
