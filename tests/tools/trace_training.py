"""Print the files of the package that one command of `rmls` runs through.

    python tests/tools/trace_training.py train enron --method RMLSRanker -o model --overwrite

What runs while modules are imported does not count.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import rmls
from rmls.cli import main

ROOT = str(Path(rmls.__file__).parent)


def trace(arguments: list[str]) -> tuple[set[str], set[tuple[str, str]]]:
    """Run a command; returns the files it visits and the calls from file to file."""
    files: set[str] = set()
    calls: set[tuple[str, str]] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOT):
            return
        caller, above = None, frame.f_back
        while above is not None:
            if above.f_code.co_filename.startswith(ROOT):
                if above.f_code.co_name == "<module>":
                    return
                caller = caller or above.f_code.co_filename
            above = above.f_back
        if frame.f_code.co_name != "<module>":
            files.add(name)
            if caller is not None and caller != name:
                calls.add((caller, name))

    sys.argv = ["rmls", *arguments]
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return files, calls


if __name__ == "__main__":
    visited, between = trace(sys.argv[1:])
    print(f"{len(visited)} files, {len(between)} calls from file to file")
    print(*sorted(str(Path(name).relative_to(ROOT)) for name in visited), sep="\n")
