"""`rmls labels`: labels of a trained model come and go, without training again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.live.models import Output, changing
from rmls.cli.shared import options, texts
from rmls.cli.shared.console import note, notes, print_json, results
from rmls.cli.shared.options import show_help_without_command
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.datasets.tables import TextTable

labels_app = typer.Typer(help="Show and change the labels of a model, without training again.")

Names = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Labels with what they are called: a table, or a thesaurus (SKOS)."
    ),
]
Lines = Annotated[str, typer.Argument(metavar="FILE", help="One label a line; - is stdin.")]
Pairs = Annotated[
    str, typer.Argument(metavar="FILE", help="Two columns: the label, and what it becomes.")
]
Parts = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Two columns, a line for each part: the label, the part."),
]
Examples = Annotated[
    str | None,
    typer.Option("--examples", metavar="FILE", help="A table of texts that have the new labels."),
]
Query = Annotated[
    str | None,
    typer.Option("--find", metavar="TEXT", help="Only labels whose name has this in it."),
]


@labels_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    show_help_without_command(context)


@labels_app.command("list")
def list_labels(model: options.Model, find: Query = None, json: options.Json = False) -> None:
    """Print the labels of a model and how many rows it has seen of each."""
    import rmls

    fitted = rmls.load(model)
    rows = [
        (name, int(count))
        for name, count in zip(fitted.classes_.tolist(), fitted.label_counts_, strict=True)
        if find is None or find.casefold() in str(name).casefold()
    ]
    if json:
        print_json([{"label": name, "rows": number} for name, number in rows])
        return
    from rmls.cli.shared.tables import plain_table

    table = plain_table(("label", "rows"), numbers=("rows",))
    for name, number in rows:
        table.add_row(str(name), f"{number:,}")
    results().print(table)


@labels_app.command()
def add(
    model: options.Model,
    file: Names,
    examples: Examples = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    output: Output = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Add labels, which can be suggested by their names at once.

    With --examples they learn from a few texts as well. No other label's
    score changes. Labels of FILE that the model has are left as they are.
    """
    from rmls.datasets import read_label_text

    with changing(model, output, overwrite, quiet) as fitted:
        if not texts.is_text_model(fitted):
            raise InputError(f"{model} was trained on features; add_labels of Python takes rows.")
        named = read_label_text(file)
        reading = texts.Reading(text, labels, None, separator, encoding, delimiter)
        table = _read_examples(fitted, examples, reading)
        before = len(fitted.classes_)
        fitted.add_labels(None, named, *_rows(fitted, table))
        added = len(fitted.classes_) - before
        if not added:
            raise InputError(f"the model has all labels of {file} already.")
        for found in (*named.found, *named.notes):
            note(notes(quiet), "names", found)
        note(notes(quiet), "added", f"{count(added, 'label')}; {len(fitted.classes_):,} in all")


def _read_examples(model: Any, examples: str | None, reading: texts.Reading) -> TextTable | None:
    if examples is None:
        return None
    from rmls.datasets import read_texts

    found: TextTable = read_texts(
        examples, **reading.options(needs_labels=True, **texts.columns_of(model))
    )
    return found


def _rows(
    model: Any, table: TextTable | None, labels: Sequence[str] | None = None
) -> tuple[Any, Any]:
    """Return the texts and labels of a table; where labels are given, those that have one."""
    if table is None:
        return None, None
    truth = table.labels or []
    wanted = None if labels is None else set(labels)
    kept = [i for i, row in enumerate(truth) if wanted is None or wanted & set(row)]
    if not kept:
        return None, None
    own = [row if wanted is None else [name for name in row if name in wanted] for row in truth]
    return texts.rows_for_model(model, table.take(kept)), [own[i] for i in kept]


@labels_app.command()
def retire(
    model: options.Model,
    file: Lines,
    output: Output = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Take labels out; rows that have them are refused by rmls learn from then on."""
    names = [name for (name,) in _read(file, 1)]
    with changing(model, output, overwrite, quiet) as fitted:
        fitted.retire_labels([_own(fitted, name) for name in names])
        left = f"{len(fitted.classes_):,} are left"
        note(notes(quiet), "retired", f"{count(len(names), 'label')}; {left}")


@labels_app.command()
def rename(
    model: options.Model,
    file: Pairs,
    output: Output = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Call labels something else; the new name counts as evidence from then on."""
    names = _unique(_read(file, 2), file)
    with changing(model, output, overwrite, quiet) as fitted:
        fitted.rename_labels({_own(fitted, old): new for old, new in names.items()})
        note(notes(quiet), "renamed", count(len(names), "label"))


@labels_app.command()
def merge(
    model: options.Model,
    file: Pairs,
    output: Output = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Let labels become part of others, which then stand for both."""
    into = _unique(_read(file, 2), file)
    with changing(model, output, overwrite, quiet) as fitted:
        fitted.merge_labels({_own(fitted, old): _own(fitted, new) for old, new in into.items()})
        left = f"{len(fitted.classes_):,} are left"
        note(notes(quiet), "merged", f"{count(len(into), 'label')}; {left}")


@labels_app.command()
def split(
    model: options.Model,
    file: Parts,
    examples: Examples = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    output: Output = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Replace labels by several each, told apart by their names and by --examples."""
    parts: dict[str, list[str]] = {}
    for old, *new in _read(file, None):
        parts.setdefault(old, []).extend(new)
    with changing(model, output, overwrite, quiet) as fitted:
        reading = texts.Reading(text, labels, None, separator, encoding, delimiter)
        table = _read_examples(fitted, examples, reading)
        for old, new in parts.items():
            X, y = _rows(fitted, table, new)
            fitted.split_label(_own(fitted, old), new, X=X, y=y)
            note(notes(quiet), "split", f"{old} into {', '.join(new)}")


def _read(file: str, n_cells: int | None) -> list[tuple[str, ...]]:
    from rmls.datasets.label_text.changes import read_label_lines

    return read_label_lines(file, n_cells)


def _unique(pairs: list[tuple[str, ...]], file: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for old, new in pairs:
        if old in found:
            raise InputError(f"{file}: the label {old!r} stands there twice.")
        found[old] = new
    return found


def _own(model: Any, name: str) -> Any:
    """Return a label as the model has it: labels may be numbers."""
    known = model.classes_
    if known.dtype.kind in "iu" and name.lstrip("-").isdigit():
        return int(name)
    return name
