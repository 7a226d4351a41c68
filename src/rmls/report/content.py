"""What a report says, before it is dressed as HTML or Markdown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from rmls.core.show.markup import Markup
from rmls.report.tables import Table

# Steps that readers can tell apart, and the share of the first one that is not shown.
LEVELS, FAINT = 4, 0.2


class Panel(NamedTuple):
    """One picture of a figure with its title, and what must be known about its subject."""

    title: str
    picture: Markup
    note: str = ""


class Key(NamedTuple):
    """A line of a legend: the position of a mark and what it stands for."""

    position: int
    text: str


@dataclass
class Figure:
    """Pictures that are looked at together, and the same as a table.

    Attributes
    ----------
    title : str
    panels : list of Panel
    caption : str
        How to read it.
    data : list of Table
        The figures behind the pictures: all of Markdown, and a fold-out in HTML.
    legend : list of Key
    note : str
        What must be known about the subject of the figure.
    """

    title: str
    panels: list[Panel]
    caption: str = ""
    data: list[Table] = field(default_factory=list)
    legend: list[Key] = field(default_factory=list)
    note: str = ""


class Facts(NamedTuple):
    """Names with what is to be said about each."""

    pairs: list[tuple[str, str]]


class Bullets(NamedTuple):
    """A list of lines in two parts; the first part of each stands out."""

    lines: list[tuple[str, str]]


class Code(NamedTuple):
    """A command as it is typed."""

    text: str


class Piece(NamedTuple):
    """A piece of a text and how far it stands out: 1 is all for something, -1 all against it."""

    text: str
    strength: float = 0.0
    tip: str = ""

    @property
    def level(self) -> int:
        """The strength in steps, from -`LEVELS` to `LEVELS`; 0 does not stand out."""
        step = math.ceil(min(abs(self.strength), 1.0) * LEVELS - FAINT)
        return int(math.copysign(max(step, 0), self.strength))


class Marked(NamedTuple):
    """A text in which some pieces stand out, with a title where there are several texts."""

    pieces: list[Piece]
    title: str = ""


# A union and not a base class: two writers, HTML and Markdown, must know every kind.
Part = str | Facts | Bullets | Code | Marked | Table | Figure


@dataclass
class Section:
    """A part of the report with a place in its table of contents."""

    anchor: str
    title: str
    parts: list[Part] = field(default_factory=list)


@dataclass
class Report:
    """A whole report."""

    title: str
    subtitle: str
    sections: list[Section]
