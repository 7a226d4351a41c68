"""What a review finds: how much of it, some examples, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rmls.report.tables import Table, TableCell

Weight = Literal["problem", "note"]
QUOTE = 70
SHOWN = 8


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    kind : str
        What it is, for programs: ``"same_text"``, ``"similar_names"``.
    title : str
    count : int
        How many there are.
    what : str
        The same in a sentence.
    advice : str
        What to do about it, in a sentence.
    columns : tuple of str
        Names of the columns of the examples.
    examples : tuple of tuple of str
        A few, the clearest first.
    rows : tuple of int
        Places of the rows in the table, from 0; the examples count from 1, as messages about files.
    labels : tuple of str
        The labels it is about.
    weight : {"problem", "note"}
        A problem costs quality as it is.
    """

    kind: str
    title: str
    count: int
    what: str
    advice: str = ""
    columns: tuple[str, ...] = ()
    examples: tuple[tuple[str, ...], ...] = ()
    rows: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    weight: Weight = "note"

    def table(self, title: str = "") -> Table | None:
        """Return the examples as a table, None without any."""
        if not self.examples:
            return None
        cells = [[TableCell(text) for text in example] for example in self.examples]
        # All are words and stand to the left.
        return Table(title, list(self.columns), cells, n_names=len(self.columns))

    def as_dict(self) -> dict[str, Any]:
        """Return the finding for JSON, all rows and labels included."""
        return {
            "kind": self.kind,
            "count": self.count,
            "weight": self.weight,
            "what": self.what,
            "advice": self.advice,
            "rows": [row + 1 for row in self.rows],
            "labels": list(self.labels),
            "examples": [dict(zip(self.columns, each, strict=True)) for each in self.examples],
        }


def quote(text: str | Sequence[str], length: int = QUOTE) -> str:
    """Return the beginning of a text on one line.

    Examples
    --------
    >>> quote(("Tax", "on  sugar and\\nother sweet things"), 20)
    'Tax · on sugar and …'
    """
    fields = [text] if isinstance(text, str) else text
    # Cut before the spaces are: a cell may be megabytes long.
    parts = (" ".join(field[: 4 * length].split()) for field in fields)
    whole = " · ".join(part for part in parts if part)
    return whole if len(whole) <= length else f"{whole[: length - 1].rstrip()} …"


def listed(names: Iterable[Any], most: int = 5, between: str = ", ") -> str:
    """Return some names, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    texts = [str(name) for name in names]
    more = len(texts) - most
    return between.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "copy", "copies")
    ('1 row', '1,200 rows', '2 copies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def have(number: int) -> str:
    """Return the verb that suits a number.

    Examples
    --------
    >>> have(1), have(2)
    ('has', 'have')
    """
    return "has" if number == 1 else "have"
