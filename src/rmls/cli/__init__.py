"""The command line: one file a command, a folder for `rmls train` and for `rmls bench`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmls.cli.app import main

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    """Return what runs the command line that the process was started with."""
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rmls.cli.direct import is_direct, suggest_directly

    if is_direct(sys.argv[1:]):
        return suggest_directly
    from rmls.cli.app import main

    return main
