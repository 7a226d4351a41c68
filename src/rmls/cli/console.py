"""Where text goes: results to stdout, notes to stderr; colours only in a terminal."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

NOTE_WIDTH = 10


def results() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def notes(quiet: bool = False) -> Console:
    """Return the console for progress and notes, silent if ``quiet``."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, quiet=quiet)


def note(console: Console, title: str, text: str) -> None:
    """Print one line with a dim title in front; ``text`` is shown as it is."""
    from rich.text import Text

    line = Text.assemble((f"{title:<{NOTE_WIDTH}}", "dim"), text)
    console.print(line, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value as JSON to stdout, in ASCII, so that any reader of a pipe can take it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(6400, "row")
    ('1 row', '6,400 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(n_bytes: float) -> str:
    """Return a number of bytes in the unit that suits it.

    Examples
    --------
    >>> size(2048), size(3 * 10**9)
    ('2.0 kB', '3.0 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"
