"""Which column is what: texts, labels, the name of the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rmls.core.errors import InputError
from rmls.datasets.tables.chunks import Chunk
from rmls.datasets.tables.label_cells import LabelCells, OneColumn, SwitchColumns, is_switch

TEXT_NAMES = (
    "title", "headline", "name", "subject", "question", "text", "texts", "body", "content",
    "abstract", "summary", "description", "document", "message", "comment", "sentence",
)  # fmt: skip
LABEL_NAMES = (
    "labels", "label", "tags", "tag", "categories", "category", "topics", "topic", "subjects",
    "keywords", "classes", "class", "codes",
)  # fmt: skip
ID_NAMES = ("id", "doc_id", "document_id", "key", "uri", "url")
MAX_SHOWN = 12


@dataclass(frozen=True)
class Wanted:
    """What the user said about the columns; None is left to the names.

    Attributes
    ----------
    text : tuple of str or None
    labels : tuple of str or None
        One column of labels, or several 0/1 columns; none at all where it is empty.
    id : str or None
    separator : str or None
        What parts the labels of a cell.
    expected : tuple of str
        The texts where all these columns are there and nothing was said.
    categories, numbers : tuple of str
        Columns beside the texts.
    may_lack : bool
        Whether some of these may not be there.
    """

    text: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    id: str | None = None
    separator: str | None = None
    expected: tuple[str, ...] | None = None
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    may_lack: bool = False

    @property
    def beside(self) -> tuple[str, ...]:
        """Categories and numbers."""
        return (*self.categories, *self.numbers)


@dataclass(frozen=True)
class Roles:
    """What every column is.

    Attributes
    ----------
    text : tuple of str
    labels : LabelCells or None
    id : str or None
    found : tuple of str
        What was not said by the user, in words.
    categories, numbers : tuple of str
        Columns beside the texts, as far as they are there.
    missing : tuple of str
        Those of them that are not.
    """

    text: tuple[str, ...]
    labels: LabelCells | None
    id: str | None
    found: tuple[str, ...]
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def find_roles(name: str, chunk: Chunk, wanted: Wanted, needs_labels: bool) -> Roles:
    """Return the roles of the columns, by what the user said and by their names.

    Raises
    ------
    InputError
        Where the texts, or the labels if they are needed, cannot be told.
    """
    columns = list(chunk.columns)
    found: list[str] = []
    _check_once(name, wanted)
    missing = tuple(column for column in wanted.beside if column not in columns)
    if missing and not wanted.may_lack:
        _require(name, columns, missing[0])
    labels = _find_labels(name, chunk, wanted, found)
    if labels is None and needs_labels:
        raise InputError(
            f"{name}: no column is called labels or tags; say which one holds the labels. "
            f"{_listed(columns)}"
        )
    of_labels = () if labels is None else labels.columns
    if wanted.text is not None:
        for column in wanted.text:
            _require(name, columns, column)
        text = wanted.text
    elif _is_expected(columns, wanted):
        text = wanted.expected or ()
    else:
        taken = (*of_labels, *wanted.beside)
        others = [c for c in columns if c not in taken and c.lower() not in LABEL_NAMES]
        text = _find_texts(name, others, needed=not wanted.beside)
        found.append(f"text: {', '.join(text) or 'none'}")
    if wanted.id is not None:
        _require(name, columns, wanted.id)
    given = [c for c in columns if c.lower() in ID_NAMES and c not in (*text, *of_labels)]
    row_id = wanted.id or (given[0] if given else None)
    categories, numbers = (
        tuple(column for column in named if column in columns)
        for named in (wanted.categories, wanted.numbers)
    )
    return Roles(text, labels, row_id, tuple(found), categories, numbers, missing)


def _is_expected(columns: Sequence[str], wanted: Wanted) -> bool:
    """Tell whether the texts are those that a model was trained on, which may be none."""
    if wanted.expected is None or not set(wanted.expected) <= set(columns):
        return False
    return bool(wanted.expected) or bool(wanted.beside)


def _check_once(name: str, wanted: Wanted) -> None:
    """Refuse a column that was named for two things, one of them categories or numbers."""
    roles = {
        "categories": wanted.categories,
        "numbers": wanted.numbers,
        "texts": wanted.text or (),
        "labels": wanted.labels or (),
    }
    for column in wanted.beside:
        given = [role for role, named in roles.items() for each in named if each == column]
        if len(given) > 1:
            raise InputError(
                f"{name}: the column {column!r} is named twice, as {given[0]} and as {given[1]}; "
                "a column has one role."
            )


def _find_texts(name: str, columns: Sequence[str], needed: bool) -> tuple[str, ...]:
    # In the order of the table: a title stands before what it is the title of.
    text = tuple(column for column in columns if column.lower() in TEXT_NAMES)
    if text:
        return text
    if not needed:
        return ()
    if len(columns) == 1:
        return (columns[0],)
    raise InputError(
        f"{name}: no column is called text or title; say which ones hold the texts. "
        f"{_listed(columns)}"
    )


def _find_labels(name: str, chunk: Chunk, wanted: Wanted, found: list[str]) -> LabelCells | None:
    columns = list(chunk.columns)
    named = wanted.labels
    if named == ():
        return None
    if named is None:
        free = [column for column in columns if column not in wanted.beside]
        known = [column for column in free if column.lower() in LABEL_NAMES]
        if len(known) > 1:
            raise InputError(
                f"{name}: {known[0]!r} and {known[1]!r} may both hold the labels; say which one."
            )
        named = (known[0],) if known else _switch_columns(chunk, free)
        if named is None:
            return None
        many = f"{len(named)} columns of 0 and 1"
        found.append(f"labels: {named[0] if len(named) == 1 else many}")
    for column in named:
        _require(name, columns, column)
    if len(named) > 1:
        return SwitchColumns(named)
    cells = OneColumn.of(named[0], chunk.columns[named[0]], wanted.separator)
    if wanted.separator is None and cells.separator is not None:
        found.append(f"labels are separated by {cells.separator!r}")
    return cells


def _switch_columns(chunk: Chunk, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns of 0 and 1, where there are several and no other sign of labels."""
    cells = chunk.columns
    switches = tuple(name for name in columns if cells[name] and all(map(is_switch, cells[name])))
    return switches if len(switches) > 1 else None


def _require(name: str, columns: Sequence[str], column: str) -> None:
    if column not in columns:
        raise InputError(f"{name} has no column {column!r}. {_listed(columns)}")


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - MAX_SHOWN} more" if len(columns) > MAX_SHOWN else ""
    return f"Its columns are: {', '.join(columns[:MAX_SHOWN])}{more}."
