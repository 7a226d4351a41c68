"""The command line: one file a command, a folder for `rmls train` and for `rmls bench`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; always ends the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that lacks a letter shows a question mark; the command goes on.
            stream.reconfigure(errors="replace")
    arguments = sys.argv[1:]
    from rmls.cli.direct import is_direct, suggest_directly

    if is_direct(arguments):
        suggest_directly(*arguments[1:])
    from rmls.cli.app import run

    run(arguments)
