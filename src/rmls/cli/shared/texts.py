"""Tables of texts on the command line: their options, and rows that a model can take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rmls.cli.shared.options import read_list
from rmls.cli.shared.text_models import columns_of, is_text_model, rows_for_model, tell_missing
from rmls.cli.shared.vectors import open_for_model
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.core.label_text import LabelText
    from rmls.datasets import Dataset
    from rmls.datasets.tables import TextTable

__all__ = ["columns_of", "is_text_model", "rows_for_model", "tell_missing"]

PANEL = "Tables of texts"


def _option(*names: str, metavar: str, help: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=PANEL)


Text = Annotated[
    str | None,
    _option("--text", metavar="COLUMNS", help="The columns with the texts, separated by commas."),
]
Labels = Annotated[
    str | None,
    _option("--labels", metavar="COLUMNS", help="The column with the labels, or all 0/1 columns."),
]
Categories = Annotated[
    str | None,
    _option("--categories", metavar="COLUMNS", help="Columns whose cells are names, not texts."),
]
Numbers = Annotated[
    str | None, _option("--numbers", metavar="COLUMNS", help="Columns of numbers beside the texts.")
]
Features = Annotated[
    str | None,
    _option("--features", metavar="FILE", help="Vectors of an encoder (.npy), one for every row."),
]
Encoder = Annotated[
    Path | None,
    _option("--encoder", metavar="FOLDER", help="A model of sentence-transformers on this disk."),
]
Id = Annotated[str | None, _option("--id", metavar="COLUMN", help="The column that names rows.")]
LabelTextFile = Annotated[
    str | None,
    _option(
        "--label-text",
        metavar="FILE",
        help="What labels are called: a table of names, or a thesaurus (SKOS). Labels without rows "
        "can then be suggested by their names.",
    ),
]
NoNames = Annotated[
    bool,
    typer.Option(
        "--no-names", help="Learn nothing from what labels are called.", rich_help_panel=PANEL
    ),
]
Separator = Annotated[
    str | None, _option("--separator", metavar="TEXT", help="What parts the labels of a cell.")
]
Encoding = Annotated[
    str | None, _option("--encoding", metavar="NAME", help="Encoding of the file; UTF-8 as a rule.")
]
Delimiter = Annotated[
    str | None, _option("--delimiter", metavar="TEXT", help="What parts the cells of a row.")
]


class Names(NamedTuple):
    """Whether what labels are called is evidence, and the file that says more than they do."""

    file: str | None = None
    unused: bool = False

    def check(self, estimator: Any) -> None:
        """Refuse a file that nobody would learn from."""
        if self.file is None:
            return
        if self.unused:
            raise InputError("--label-text gives names to learn from; drop it or --no-names.")
        if estimator.__name__ not in ("RMLSRanker", "TextRanker"):
            raise InputError(
                f"{estimator.__name__} learns nothing from names; --label-text is for RMLSRanker."
            )

    def read_for(self, estimator: Any, say: Callable[[str, str], None]) -> LabelText | None:
        """Return the table of the file, and say what was found out about it."""
        self.check(estimator)
        if self.file is None:
            return None
        from rmls.datasets import read_label_text

        table: LabelText = read_label_text(self.file)
        for text in table.found:
            say("names", text)
        for text in table.notes:
            say("note", text)
        return table


@dataclass(frozen=True)
class Reading:
    """How a table is read; None is found out.

    Attributes
    ----------
    text, labels, id, separator, encoding, delimiter, format : str or None
    vectors : str or None
        A file with a vector for every row.
    """

    text: str | None = None
    labels: str | None = None
    id: str | None = None
    separator: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    format: str | None = None
    vectors: str | None = None

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of `rmls.datasets.iterate_texts`, with some more."""
        return {
            "text": self.text and read_list("--text", self.text),
            "labels": self.labels and read_list("--labels", self.labels),
            "id": self.id,
            "separator": self.separator,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "format": self.format,
            **more,
        }

    def plain(self) -> list[Any]:
        """Return all of it as a list of plain values."""
        return list(astuple(self))

    def iterate(self, data: str, **more: Any) -> Iterator[TextTable]:
        """Yield the rows of a table, some at a time."""
        from rmls.datasets.tables import iterate_texts

        yield from iterate_texts(data, **self.options(**more))


def as_dataset(labels: list[list[str]], X: Any, name: str) -> Dataset:
    """Return texts as numbers, with the names of their labels."""
    from rmls.core.labels import read_labels
    from rmls.datasets import Dataset

    if not any(labels):
        return Dataset(X, name=name)
    space, Y = read_labels(labels)
    return Dataset(X, Y, label_names=[str(label) for label in space.names], name=name)


def load_texts_for_model(model: Any, data: str, reading: Reading) -> tuple[Any, Dataset]:
    """Return the estimator inside a model for texts, and the rows of a table as its numbers."""
    from scipy import sparse

    parts: list[Any] = []
    labels: list[list[str]] = []
    beside = open_for_model(model, reading.vectors)
    for table in reading.iterate(data, needs_labels=True, **columns_of(model)):
        if not parts:
            tell_missing(table)
        # Chunk by chunk: the texts themselves may not fit into memory.
        parts.append(model.features_.transform(rows_for_model(model, table, beside)))
        labels += table.labels or []
    if beside is not None:
        beside.finish()
    estimator = model.estimator_
    # What was trained on is written down once, with the whole model.
    estimator.training_record_ = model.training_record_
    return estimator, as_dataset(labels, sparse.vstack(parts, format="csr"), Path(data).name)
