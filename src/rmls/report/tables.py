"""Tables without a look: the terminal, Markdown and the HTML report each dress them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Mark = Literal["", "best", "better", "worse", "differs", "muted"]
SIGNS: dict[Mark, str] = {"better": "✓", "worse": "✗", "differs": "differs"}


class TableCell(NamedTuple):
    """Text of a cell and what it stands out by.

    ``best`` is the best of its column, ``better`` and ``worse`` are differences, as is ``differs``
    where neither is meant, ``muted`` is said beside something more important.
    """

    text: str
    mark: Mark = ""

    @property
    def signed(self) -> str:
        """The text, with a sign or word for a difference, where colours cannot be relied on."""
        return f"{self.text} {SIGNS[self.mark]}" if self.mark in SIGNS else self.text


def table_row(*cells: str | TableCell) -> list[TableCell]:
    """Return a row of a table; a text is a cell without a mark.

    Examples
    --------
    >>> table_row("RMLS", TableCell("0.616", "best"))
    [TableCell(text='RMLS', mark=''), TableCell(text='0.616', mark='best')]
    """
    return [TableCell(cell) if isinstance(cell, str) else cell for cell in cells]


@dataclass
class Table:
    """A titled table; the first ``n_names`` columns are names, the others are figures.

    Examples
    --------
    >>> table = Table("F score", ["method", "enron"], [table_row("RMLS", "0.616")])
    >>> print(table.to_markdown())
    **F score**
    <BLANKLINE>
    | method | enron |
    |---|--:|
    | RMLS | 0.616 |
    """

    title: str
    columns: list[str]
    rows: list[list[TableCell]] = field(default_factory=list)
    note: str = ""
    n_names: int = 1

    def to_markdown(self) -> str:
        """Return the table in Markdown, the best figures in bold."""
        # A colon aligns to the right, as figures are.
        rules = ["---"] * self.n_names + ["--:"] * (len(self.columns) - self.n_names)
        lines = [f"**{self.title}**", "", _row(self.columns), f"|{'|'.join(rules)}|"]
        lines += [_row([_mark_up(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])])


def _row(cells: list[str]) -> str:
    # An unescaped bar would begin a new cell.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _mark_up(cell: TableCell) -> str:
    return f"**{cell.text}**" if cell.mark == "best" and cell.text else cell.signed
