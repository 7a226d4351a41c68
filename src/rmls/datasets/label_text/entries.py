"""Labels as they are read, checked and put together to a `LabelText`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rmls.core.errors import InputError
from rmls.core.label_text import LabelText
from rmls.core.label_text.alignment import fold
from rmls.core.label_text.words_or_code import last_part
from rmls.core.words import count, shorten


@dataclass(slots=True)
class Entry:
    """One label of a file.

    Attributes
    ----------
    id, name, description : str
        Empty where the file says nothing.
    alternatives, parents, codes, related : sequence of str
    row : int
        Where it stands, for messages; 0 where it is no row.
    is_top : bool
        Whether the file says that nothing stands above it.
    is_deprecated : bool
    """

    id: str
    name: str = ""
    alternatives: Sequence[str] = ()
    description: str = ""
    parents: Sequence[str] = ()
    codes: Sequence[str] = ()
    related: Sequence[str] = ()
    row: int = 0
    is_top: bool = False
    is_deprecated: bool = False

    @property
    def where(self) -> str:
        """Where it stands, in words."""
        return f"row {self.row}" if self.row else f"label {shorten(self.id)!r}"


def clean(text: str) -> str:
    """Return a text on one line, without spaces around it.

    Examples
    --------
    >>> clean(" rye \\n bread ")
    'rye bread'
    """
    return " ".join(text.split())


def build(
    entries: Sequence[Entry], *, found: Iterable[str] = (), language: str | None = None
) -> LabelText:
    """Return the table of labels; what is odd stands in its notes.

    Raises
    ------
    InputError
        If there is no label, or one twice.
    """
    if not entries:
        raise InputError("there is no label in it.")
    _refuse_twice(entries)
    parents, notes = _parents(entries)
    known = {entry.id for entry in entries}
    return LabelText(
        ids=tuple(entry.id for entry in entries),
        names=tuple(entry.name for entry in entries),
        alternatives=tuple(_other_names(entry) for entry in entries),
        descriptions=tuple(entry.description for entry in entries),
        parents=parents,
        codes=tuple(tuple(dict.fromkeys(entry.codes)) for entry in entries),
        related=tuple(tuple(r for r in entry.related if r in known) for entry in entries),
        deprecated=frozenset(entry.id for entry in entries if entry.is_deprecated),
        language=language,
        found=tuple(found),
        notes=(*_name_notes(entries), *notes),
    )


def _refuse_twice(entries: Sequence[Entry]) -> None:
    first: dict[str, Entry] = {}
    for entry in entries:
        before = first.setdefault(entry.id, entry)
        if before is not entry:
            raise InputError(
                f"{before.where} and {entry.where} are both the label {shorten(entry.id)!r}; "
                f"a label may be there once."
            )


def _other_names(entry: Entry) -> tuple[str, ...]:
    if not entry.alternatives:
        return ()
    names = dict.fromkeys(entry.alternatives)
    names.pop(entry.name, None)
    return tuple(names)


def _name_notes(entries: Sequence[Entry]) -> Iterator[str]:
    nameless = sum(not entry.name for entry in entries)
    if nameless:
        yield f"{count(nameless, 'label')} without a name"
    names = Counter(entry.name for entry in entries if entry.name)
    shared = [name for name, number in names.items() if number > 1]
    if shared:
        labels = sum(names[name] for name in shared)
        yield (
            f"{count(len(shared), 'name')} shared by several labels, {labels:,} in all "
            f"({shorten(shared[0], 40)})"
        )


# -- what stands above -------------------------------------------------------------------------


def _parents(entries: Sequence[Entry]) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    find = _finder(entries)
    above: dict[str, list[str]] = {}
    missing: list[str] = []
    for entry in entries:
        ids = [find(parent) for parent in entry.parents]
        missing.extend(p for p, id in zip(entry.parents, ids, strict=True) if id is None)
        above[entry.id] = list(dict.fromkeys(id for id in ids if id is not None))
    cut = _cut_circles(above, [entry.id for entry in entries if entry.is_top])
    notes = []
    if missing:
        notes.append(f"{count(len(missing), 'parent')} not in the file ({shorten(missing[0])})")
    if cut:
        child, parent = cut[0]
        notes.append(
            f"{count(len(cut), 'parent')} left out that would stand above and below the same label "
            f"({shorten(parent, 40)} above {shorten(child, 40)})"
        )
    return tuple(tuple(above[entry.id]) for entry in entries), notes


def _finder(entries: Sequence[Entry]) -> Callable[[str], str | None]:
    """Return a function that finds the label that a parent is written as: its id, code or name."""
    ids = {entry.id for entry in entries}
    other: dict[str, str | None] = {}

    def note(key: str, id: str) -> None:
        # A spelling of two labels finds none.
        other[key] = id if other.get(key, id) == id else None

    def find(parent: str) -> str | None:
        if parent in ids:
            return parent
        if not other:
            for entry in entries:
                for key in {last_part(entry.id), *entry.codes, entry.name, fold(entry.name)}:
                    note(key, entry.id)
        return other.get(parent) or other.get(last_part(parent)) or other.get(fold(parent))

    return find


def _cut_circles(above: dict[str, list[str]], tops: Iterable[str]) -> list[tuple[str, str]]:
    """Take out the fewest parents that a walk upwards comes back by; return child and parent."""
    cut = []
    for top in tops:
        for parent in [p for p in above[top] if _reaches(above, p, top)]:
            above[top].remove(parent)
            cut.append((top, parent))
    done: set[str] = set()
    for start in above:
        # A walk in depth without recursion: a chain of a thousand labels is no error.
        path: dict[str, Iterator[str]] = {}
        if start not in done:
            path[start] = iter(list(above[start]))
        while path:
            label, rest = next(reversed(path.items()))
            parent = next(rest, "")
            if not parent:
                done.add(label)
                del path[label]
            elif parent in path:
                above[label].remove(parent)
                cut.append((label, parent))
            elif parent not in done:
                path[parent] = iter(list(above[parent]))
    return cut


def _reaches(above: dict[str, list[str]], start: str, target: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        label = waiting.pop()
        if label == target:
            return True
        fresh = [parent for parent in above[label] if parent not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return False


# -- cells -------------------------------------------------------------------------------------


def read_cell(cell: Any, where: str) -> str:
    """Return the text of a cell, of a list of one as well; empty where there is nothing."""
    if isinstance(cell, str):
        return clean(cell)
    if cell is None or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, (list, tuple)) and len(cell) < 2:
        return read_cell(cell[0], where) if cell else ""
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        raise InputError(f"{where}: a text is needed; got {type(cell).__name__}.")
    # Spreadsheets and frames with gaps keep whole numbers as 12.0.
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def read_cells(cell: Any, where: str, separator: str | None) -> list[str]:
    """Return the texts of a cell: of a list, or parted by the separator."""
    if isinstance(cell, str):
        return split_text(cell, separator)
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, (list, tuple)):
        return [part for part in (read_cell(part, where) for part in cell) if part]
    return split_text(read_cell(cell, where), separator)


def split_text(text: str, separator: str | None) -> list[str]:
    """Return the parts of a text, without empty ones.

    Examples
    --------
    >>> split_text("loaf |  big loaf|", "|")
    ['loaf', 'big loaf']
    """
    parts = text.split(separator) if separator else [text]
    return [cleaned for part in parts if (cleaned := clean(part))]
