"""`rmls compare`: what a model gains and loses against another one, on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import check_file_target, note, notes, print_json, results
from rmls.cli.shared.options import Part, whole
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.datasets import Dataset
    from rmls.review import ModelComparison

SHOWN_LABELS, SHOWN_ROWS = 5, 3
BEGINNING = 200


class Counted(str, Enum):
    """Labels that count."""

    ALL = "all"
    COMMON = "common"


First = Annotated[Path, typer.Argument(metavar="A", help="The folder of a trained model.")]
Second = Annotated[Path, typer.Argument(metavar="B", help="Another one, compared with A.")]
Rows = Annotated[
    Part | None,
    typer.Option(
        "--part",
        metavar="PART",
        help="all, train or test rows.",
        show_default="test where DATA is split, else all",
    ),
]
Count = Annotated[
    Counted,
    typer.Option(
        "--count",
        help="all: a model misses labels that it does not know. common: only labels of both.",
        show_choices=True,
        metavar="WHICH",
    ),
]
RowFile = Annotated[
    Path | None,
    typer.Option("--rows", metavar="FILE", help="Write all rows that changed, as CSV."),
]
LabelCount = Annotated[
    int,
    typer.Option(
        "--show-labels", metavar="N", parser=whole(0), help="Labels that gain or lose most."
    ),
]
RowCount = Annotated[
    int,
    typer.Option("--show-rows", metavar="N", parser=whole(0), help="Rows that gain or lose most."),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write a page, too.")]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N", parser=whole(0, options.LARGEST_SEED), help="Of the draws of the intervals."
    ),
]


class Loaded(NamedTuple):
    """A model and the rows as it takes them."""

    model: Any
    rows: Dataset


def compare(
    a: First,
    b: Second,
    data: options.Data,
    part: Rows = None,
    count_labels: Count = Counted.ALL,
    decision: options.Decision = None,
    rows: RowFile = None,
    html: Html = None,
    json: options.Json = False,
    show_labels: LabelCount = SHOWN_LABELS,
    show_rows: RowCount = SHOWN_ROWS,
    seed: Seed = 0,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    id: texts.Id = None,
    features: texts.Features = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Compare model B with model A on the same rows of DATA.

    Differences of B minus A come with 95% intervals, paired by row, for all
    labels and for head, torso and tail; then the labels that gain and lose
    most, and rows that changed. Labels are matched by name.
    """
    for path in (rows, html):
        if path is not None:
            check_file_target(path, overwrite)
    if rows is not None and rows.suffix.lower() != ".csv":
        raise InputError(f"--rows writes CSV; give a name that ends with .csv, not {rows}.")
    reading = texts.Reading(
        text, labels, id, separator, encoding, delimiter, source_format, features
    )
    sides = [_load(folder, data, part, index_base, reading) for folder in (a, b)]
    takes_texts = _agree([texts.is_text_model(side.model) for side in sides], a, b, data)
    ids, beginnings = _describe_rows(sides[0].model, data, reading) if takes_texts else (None, None)
    found = _compare(sides, _names(a, b), decision, count_labels, ids, beginnings, seed)
    name = sides[0].rows.name
    if json:
        print_json(found.as_dict(show_labels, show_rows))
    else:
        from rmls.report.terminal import print_report
        from rmls.review.comparison.pages import comparison_report

        print_report(comparison_report(found, name, show_labels, show_rows), results())
    if rows is not None:
        _write_rows(found, rows)
    if html is not None:
        from rmls.core.files import write_text

        write_text(html, found.html(name))
        note(notes(), "wrote", str(html))


def _load(
    folder: Path, data: str, part: Part | None, index_base: int | None, reading: texts.Reading
) -> Loaded:
    from rmls.cli.label_matching import match_labels
    from rmls.cli.shared.data import (
        choose_part,
        is_store_path,
        load_for_model,
        load_model,
        warn_of_known_rows,
    )

    model = load_model(folder, data)
    inner = model
    if texts.is_text_model(model) and is_store_path(data):
        from rmls.cli.shared.stores import inner_model

        model = inner = inner_model(model, data)
    if texts.is_text_model(model):
        if data == "-":
            raise InputError("a table is read once for every model; save it to a file first.")
        inner, rows = texts.load_texts_for_model(model, data, reading)
        if not rows.is_labelled:
            raise InputError(f"{data}: no row has a label; both models are compared with them.")
    else:
        dataset = load_for_model(data, reading.format, model, index_base, labels=True)
        rows, _ = choose_part(dataset, part, Part.TEST)
    warn_of_known_rows(inner, f"{rows.name} ({folder.name})", rows.X, match_labels(inner, rows).Y)
    return Loaded(model, rows)


def _agree(takes_texts: list[bool], a: Path, b: Path, data: str) -> bool:
    if takes_texts[0] != takes_texts[1]:
        which = (a, b) if takes_texts[0] else (b, a)
        raise InputError(
            f"{which[0]} takes texts and {which[1]} rows of numbers, which {data} cannot both be; "
            "rmls.compare takes both in Python (X_b)."
        )
    return takes_texts[0]


def _names(a: Path, b: Path) -> tuple[str, str]:
    """Return what the models are called: their folders, as short as can be told apart."""
    one, other = a.resolve(), b.resolve()
    if one == other:
        return "A", "B"
    names = one.name, other.name
    return names if names[0] != names[1] else (str(a), str(b))


def _compare(
    sides: list[Loaded],
    names: tuple[str, str],
    decision: str | None,
    counted: Counted,
    ids: Sequence[Any] | None,
    beginnings: Sequence[str] | None,
    seed: int,
) -> ModelComparison:
    from rmls.review.comparison.model_comparison import compare_rows

    first, second = (
        side.model.estimator_ if texts.is_text_model(side.model) else side.model for side in sides
    )
    rule = None if decision is None else options.read_decision(decision)
    return compare_rows(
        (first, second),
        (sides[0].rows, sides[1].rows.X),
        names=names,
        labels=counted.value,
        decision=rule,
        ids=ids,
        beginnings=beginnings,
        random_state=seed,
    )


def _describe_rows(
    model: Any, data: str, reading: texts.Reading
) -> tuple[list[Any] | None, list[str]]:
    """Return what rows are called and how their texts begin; the texts may not fit into memory."""
    from rmls.review.findings import quote

    ids: list[Any] = []
    beginnings: list[str] = []
    for table in reading.iterate(data, needs_labels=True, **texts.columns_of(model)):
        ids += table.ids or []
        beginnings += [quote(row, BEGINNING) for row in table.texts]
    return ids or None, beginnings


def _write_rows(found: ModelComparison, path: Path) -> None:
    import csv

    from rmls.cli.shared.console import open_output

    n_rows = 0
    with open_output(path) as stream:
        writer: Any = None
        for record in found.rows.records():
            cells = {name: _cell(value) for name, value in record.items()}
            if writer is None:
                writer = csv.DictWriter(stream, cells, lineterminator="\n")
                writer.writeheader()
            writer.writerow(cells)
            n_rows += 1
    note(notes(), "wrote", f"{path}: {count(n_rows, 'row')}")


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return "|".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else value
