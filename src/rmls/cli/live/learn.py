"""`rmls learn`: new and corrected rows for a trained model."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.live.models import Output, open_model, save_model
from rmls.cli.shared import options, texts
from rmls.cli.shared.console import note, notes
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.datasets.tables import TextTable

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
]
Rejected = Annotated[
    str | None,
    typer.Option(
        "--rejected",
        metavar="COLUMN",
        help="Labels that are wrong; nothing is then assumed of those that are not mentioned.",
        show_default="a column of that name",
    ),
]
# Columns that a record of suggestions and what people did with them has.
ACCEPTED, ADDED, REJECTED = "accepted", "added", "rejected"
# Names that are shown of labels that are new.
SHOWN = 5


def learn(
    model: options.Model,
    data: options.Data,
    dry_run: DryRun = False,
    rejected: Rejected = None,
    label_text: texts.LabelTextFile = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    source_format: options.From = None,
    output: Output = None,
    overwrite: options.Overwrite = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    quiet: options.Quiet = False,
) -> None:
    """Learn from new and corrected rows, in a small part of the time of training.

    Labels and words that are new are taken up. The model is replaced when all
    rows are learned; a failure leaves it as it was. A JSON line may hold
    {"text", "accepted", "rejected", "added"}: what people did with suggestions,
    as the file of rmls serve --feedback does.
    """
    fitted = open_model(model, output, overwrite)
    fitted.set_params(n_jobs=jobs)
    console = notes(quiet and not dry_run)
    summary = Summary(fitted)
    if texts.is_text_model(fitted):
        fitted.estimator_.set_params(n_jobs=jobs)
        reading = texts.Reading(text, labels, None, separator, encoding, delimiter, source_format)
        for rows in _read_any(fitted, model, data, reading, rejected, quiet):
            summary.learn(rows, label_text)
    else:
        if rejected is not None or label_text is not None:
            raise InputError("--rejected and --label-text are for models of texts.")
        summary.learn(_read_rows(fitted, data, source_format), None)
    for title, line in summary.lines():
        note(console, title, line)
    if dry_run:
        note(console, "dry run", f"{model} is as it was")
        return
    save_model(fitted, model, output, quiet)


@dataclass
class Rows:
    """Rows to learn from."""

    X: Any
    labels: Any
    rejected: list[list[str]] | None = None
    n_empty: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.labels.shape[0]) if hasattr(self.labels, "shape") else len(self.labels)


def _read_any(
    fitted: Any, path: Path, data: str, reading: texts.Reading, rejected: str | None, quiet: bool
) -> Iterator[Rows]:
    """Yield the rows of a table, or those of a file that `rmls serve` has written."""
    from rmls.cli.live.feedback import is_feedback, read_feedback

    if reading == texts.Reading() and rejected is None and is_feedback(data):
        for some in read_feedback(fitted, Path(data), path.resolve().name):
            yield Rows(some.X, some.right, some.wrong, some.n_empty)
    else:
        yield from _read_texts(fitted, data, reading, rejected, quiet)


def _read_texts(
    model: Any, data: str, reading: texts.Reading, rejected: str | None, quiet: bool
) -> Iterator[Rows]:
    """Yield the rows of a table, some at a time; those that say nothing are left out."""
    more = {"keep_other": True, **texts.columns_of(model)}
    for number, table in enumerate(reading.iterate(data, **more)):
        if not number:
            texts.tell_missing(table, quiet)
        right, wrong = _read_labels(table, rejected, reading.separator)
        told = [i for i, row in enumerate(right) if row or (wrong is not None and wrong[i])]
        kept = table.take(told)
        yield Rows(
            texts.rows_for_model(model, kept) if told else [],
            [right[i] for i in told],
            None if wrong is None else [wrong[i] for i in told],
            len(table) - len(told),
        )


def _read_labels(
    table: TextTable, rejected: str | None, separator: str | None
) -> tuple[list[list[str]], list[list[str]] | None]:
    """Return the labels of every row, and those that are wrong where the table says so."""
    wrong = REJECTED if rejected is None and REJECTED in table.other else rejected
    if wrong is not None and wrong not in table.other:
        raise InputError(f"the table has no column {wrong!r}.")
    right = [set(row) for row in table.labels] if table.labels is not None else None
    for name in (ACCEPTED, ADDED):
        if name in table.other:
            more = _split(table.other[name], separator)
            right = [
                old | set(new) for old, new in zip(right or [set()] * len(more), more, strict=True)
            ]
    if right is None:
        raise InputError("the table has no column of labels; name it with --labels.")
    found = None if wrong is None else _split(table.other[wrong], separator)
    return [sorted(row) for row in right], found


def _split(cells: list[Any], separator: str | None) -> list[list[str]]:
    from rmls.datasets.tables.chunks import Chunk
    from rmls.datasets.tables.label_cells import OneColumn

    return OneColumn.of("cells", cells, separator).read(Chunk({"cells": cells}, 1))


def _read_rows(model: Any, data: str, format: str | None) -> Rows:
    from rmls.cli.shared.data import load_for_model

    dataset = load_for_model(data, format, model, labels=True)
    return Rows(dataset, dataset.Y)


@dataclass
class Summary:
    """What learning changes, counted on the way."""

    model: Any
    n_rows: int = 0
    n_empty: int = 0
    n_right: int = 0
    n_moved: int = 0
    touched: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.known = list(self.model.classes_)
        self.n_words = self._count_words()

    def _count_words(self) -> int:
        features = getattr(self.model, "features_", None)
        return 0 if features is None else int(features.n_terms_)

    def learn(self, rows: Rows, label_text: Any) -> None:
        """Let the model learn from rows, and see what becomes of its suggestions for them."""
        self.n_empty += rows.n_empty
        if not rows.n_rows:
            return
        model = self.model
        before = _best(model, rows.X)
        names = copy(model.classes_)
        if rows.rejected is None and not texts.is_text_model(model):
            model.partial_fit(rows.X)
        else:
            model.partial_fit(rows.X, rows.labels, label_text=label_text, rejected=rows.rejected)
        _remember(model, rows)
        after = _best(model, rows.X)
        truth = _names_of(model, rows)
        self.n_rows += rows.n_rows
        self.n_right += sum(label in row for label, row in zip(before, truth, strict=True))
        self.n_moved += sum(old != new for old, new in zip(before, after, strict=True))
        self.touched |= {label for row in truth for label in row} & set(names)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what there is to say."""
        if not self.n_rows:
            raise InputError("there are no rows with labels to learn from.")
        empty = f"; {self.n_empty:,} without labels are left out" if self.n_empty else ""
        yield "rows", f"{self.n_rows:,}{empty}"
        new = [name for name in self.model.classes_ if name not in set(self.known)]
        yield "labels", f"{len(self.touched):,} of {len(self.known):,} have new rows"
        if new:
            more = ", …" if len(new) > SHOWN else ""
            yield "new", f"{count(len(new), 'label')}: {', '.join(map(str, new[:SHOWN]))}{more}"
        if self._count_words() > self.n_words:
            yield "words", f"{self._count_words() - self.n_words:,} new"
        right, moved = self.n_right / self.n_rows, self.n_moved / self.n_rows
        yield "before", f"the first suggestion was right for {right:.1%} of these rows"
        yield "changed", f"the first suggestion is another one for {moved:.1%} of them"


def _remember(model: Any, rows: Rows) -> None:
    """Let the model know that it has seen the rows: figures of them are no test."""
    from rmls.cli.shared.data import remember_rows

    if texts.is_text_model(model):
        Y = model.estimator_._space.read_more(rows.labels)
        remember_rows(model, model.features_.transform(rows.X), Y)
    else:
        remember_rows(model, rows.X.X, model._space.read_more(rows.X.Y))


def _best(model: Any, X: Any) -> list[Any]:
    """Return the first suggestion for every row."""
    return [row[0].label if row else None for row in model.rank(X, 1)]


def _names_of(model: Any, rows: Rows) -> list[list[Any]]:
    if not hasattr(rows.labels, "indptr"):
        return [list(row) for row in rows.labels]
    names = model.classes_.tolist()
    Y = rows.labels
    called = rows.X.label_names or names
    return [
        [called[j] for j in Y.indices[a:b]] for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)
    ]
