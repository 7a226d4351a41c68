"""Labels that are suggested for texts, and how they are written."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from rmls.cli.shared.text_models import rows_for_model
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.cli.shared.text_models import GivenTexts
    from rmls.cli.shared.vectors import VectorFile
    from rmls.core.ranking import RankedLabel
    from rmls.datasets.tables import TextTable

    Table = TextTable | GivenTexts

DEFAULT_TOP = 5
SEPARATOR = "; "


class Format(str, Enum):
    """How suggestions are written."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"


class Choice(NamedTuple):
    """Which labels are suggested."""

    top: int | None
    rule: Any
    least: float


DEFAULT_CHOICE = Choice(DEFAULT_TOP, None, 0.0)


def suggestions(
    model: Any, table: Table, choice: Choice, vectors: VectorFile | None
) -> Iterator[list[RankedLabel]]:
    """Yield the labels that are suggested for every row of a table."""
    rows: Any = getattr(table, "X", None)
    ranker = model if rows is None else model.estimator_
    if rows is None:
        rows = rows_for_model(model, table, vectors)
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


class Writer:
    """Writes the suggestions of one row after the other."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write_table(self, table: Table, first: int, labels: Iterable[Any]) -> int:
        """Write the labels of all rows, of which so many came before; return how many they are."""
        for row, found in enumerate(labels):
            self.write(table, row, first + row, found)
        self.stream.flush()
        return len(table)

    def write(self, table: Table, row: int, number: int, found: list[RankedLabel]) -> None:
        """Write the labels of a row of a table; ``number`` counts from the first of all."""
        raise NotImplementedError

    @staticmethod
    def name(table: Table, row: int, number: int) -> Any:
        """Return what the row is called."""
        return number if table.ids is None else table.ids[row]


class _Lines(Writer):
    """One line a label, for people."""

    def write(self, table: Table, row: int, number: int, found: list[RankedLabel]) -> None:
        cells = table.texts[row] or [str(column[row]) for column in table.beside.values()]
        text = " ".join(" ".join(cells).split())
        self.stream.write(f"{text[:72]}{'…' if len(text) > 72 else ''}\n")
        for label in found:
            chance = "" if label.probability is None else f"{label.probability:6.1%}"
            self.stream.write(f"  {chance}  {label.label}\n")
        if not found:
            self.stream.write("  no label is likely enough\n")


class _Csv(Writer):
    """One line a label: row, rank, label, probability."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.rows = csv.writer(stream, lineterminator="\n")
        self.rows.writerow(["row", "rank", "label", "probability"])

    def write(self, table: Table, row: int, number: int, found: list[RankedLabel]) -> None:
        name = self.name(table, row, number)
        for rank, label in enumerate(found, 1):
            chance = "" if label.probability is None else f"{label.probability:.6g}"
            self.rows.writerow([name, rank, label.label, chance])


class _JsonLines(Writer):
    """One object a row."""

    def write(self, table: Table, row: int, number: int, found: list[RankedLabel]) -> None:
        labels = [{"label": each.label, "probability": _rounded(each)} for each in found]
        value = {"row": self.name(table, row, number), "labels": labels}
        self.stream.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")


class _Added(Writer):
    """The rows of the input, with a column more."""

    def __init__(self, stream: Any, format: Format, column: str) -> None:
        super().__init__(stream)
        self.format, self.column = format, column
        self.rows: Any = None

    def write(self, table: Table, row: int, number: int, found: list[RankedLabel]) -> None:
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


def make_writer(stream: Any, format: Format, add_column: str | None = None) -> Writer:
    """Return what writes suggestions in a format."""
    if add_column is not None:
        return _Added(stream, format, add_column)
    return {Format.TABLE: _Lines, Format.CSV: _Csv, Format.JSONL: _JsonLines}[format](stream)


def _rounded(label: RankedLabel) -> float | None:
    return None if label.probability is None else float(f"{label.probability:.6g}")
