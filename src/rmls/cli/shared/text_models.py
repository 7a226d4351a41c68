"""Rows of a table as a model of texts takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rmls.cli.shared.vectors import VectorFile, add_vectors
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rmls.datasets.tables import TextTable

# Characters that are labelled before kernels are compiled, and what a text counts at least.
FEW_CHARACTERS, LEAST = 10_000, 1_000


@dataclass(frozen=True)
class GivenTexts:
    """Texts of the command line or of standard input, as a table of one column without a file."""

    given: Sequence[str]
    fields = ("text",)
    beside: ClassVar[dict[str, Any]] = {}
    missing: ClassVar[tuple[str, ...]] = ()
    ids = None

    def __len__(self) -> int:
        return len(self.given)

    @property
    def texts(self) -> list[tuple[str]]:
        """The fields of every row."""
        return [(text,) for text in self.given]

    @property
    def columns(self) -> dict[str, Any]:
        """The texts by column."""
        return {"text": list(self.given)}

    def row(self, number: int) -> dict[str, Any]:
        """Return the cells of a row."""
        return {"text": self.given[number]}


def is_text_model(model: Any) -> bool:
    """Tell whether a model takes texts."""
    return hasattr(model, "features_") and hasattr(model, "estimator_")


def load_text_model(path: str | Path) -> Any:
    """Return a model that takes texts, or raise a sentence."""
    import rmls

    model: Any = rmls.load(path)
    if is_text_model(model):
        return model
    raise InputError(
        f"{path} was trained on features, not on texts; use rmls predict, or train it on a "
        "table of texts."
    )


def compiled_in_time(model: Any, tables: Iterable[Any]) -> Iterator[Any]:
    """Yield tables; kernels are compiled before there are more texts than a few.

    A process that was not started lean has them compiled anyway.
    """
    from rmls.kernels.jit import compile_kernels

    # What other estimators do with a text may take any time in Python.
    few = type(model.estimator_).__name__ == "RMLSRanker" and not model.features_.n_dense_
    room = FEW_CHARACTERS if few and model.estimator_.device == "cpu" else 0
    for table in tables:
        texts = getattr(table, "texts", [])
        room -= sum(max(LEAST, sum(map(len, text))) for text in texts[: FEW_CHARACTERS // LEAST])
        if room < 0 or len(table) * LEAST > FEW_CHARACTERS:
            compile_kernels()
        yield table


def columns_of(model: Any) -> dict[str, Any]:
    """Return the columns that a model was trained on, as options of `Reading.iterate`."""
    roles = model.features_.column_roles_
    expected = {"expected": model.features_.fields_}
    if not roles.by_name:
        return expected
    named = {"categories": roles.categories, "numbers": roles.numbers, "may_lack": True}
    return {**expected, **named}


def tell_missing(table: TextTable, quiet: bool = False) -> None:
    """Tell which columns that a model was trained on are not there; the model does without."""
    from rmls.cli.shared.console import note, notes

    if table.missing:
        note(notes(quiet), "missing", f"{', '.join(table.missing)}: taken as empty in every row")


def rows_for_model(
    model: Any, table: TextTable | GivenTexts, vectors: VectorFile | None = None
) -> Any:
    """Return the rows of a table as a model takes them: by column, or as texts of their own.

    The next vectors of a file are those of the rows.
    """
    known, roles = model.features_.fields_, model.features_.column_roles_
    alone = len(table.fields) == 1 and (known is None or table.fields[0] not in known)
    if known == () and not table.beside:
        columns = ", ".join(map(str, roles.all))
        raise InputError(f"the model was trained without texts; give a table with: {columns}.")
    if alone and not table.beside and vectors is None:
        return [text for (text,) in table.texts]
    rows: dict[str, Any] = table.columns
    if alone and known:
        # One text where the model knows columns by name: all of it is in the first.
        rows = {name: [""] * len(table) for name in known} | rows
        rows[known[0]] = rows.pop(table.fields[0])
    rows = {**rows, **{name: [None] * len(table) for name in table.missing}}
    if vectors is None:
        return rows
    return add_vectors(rows, vectors.take(len(table)), model.features_.vectors)
