"""Options that take several values: ``--k 25 50`` as well as ``--k 25 --k 50``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """A command whose repeatable options take values up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write every value of a repeatable option as an option of its own, then parse."""
        repeatable = {
            name
            for parameter in self.params
            if getattr(parameter, "multiple", False)
            for name in parameter.opts
        }
        return super().parse_args(ctx, list(spread_values(args, repeatable)))


def spread_values(args: list[str], repeatable: Collection[str]) -> Iterator[str]:
    """Yield the arguments with ``--k 25 50`` written as ``--k 25 --k 50``.

    Examples
    --------
    >>> list(spread_values(["--k", "25", "50", "--out", "folder"], {"--k"}))
    ['--k', '25', '--k', '50', '--out', 'folder']
    """
    current: str | None = None
    fresh = False
    for argument in args:
        if argument.startswith("-") and argument != "-":
            current = argument if argument in repeatable else None
            fresh = True
            yield argument
        else:
            if current is not None and not fresh:
                yield current
            fresh = False
            yield argument
