"""Files that appear when they are complete, and the checks before long work."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rmls.core.errors import InputError

STDOUT = Path("-")


def check_file_target(path: Path, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that exists already."""
    if path == STDOUT:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file.")
    _check_parent(path)
    if path.is_file() and not overwrite:
        raise InputError(f"{path} exists; choose another name or give --overwrite.")


def check_model_target(path: Path, overwrite: bool) -> None:
    """Refuse, before training, a folder that the model could not be written to."""
    from rmls.archive import check_target

    check_target(path)
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise InputError(
            f"{path} exists; choose another name, or give --overwrite to replace the model "
            "or --resume to continue its training."
        )


def _check_parent(path: Path) -> None:
    parent = path.resolve().parent
    if not parent.is_dir():
        raise InputError(f"{path} cannot be written: {parent} is not a folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: no permission to write to {parent}.")


@contextmanager
def open_output(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file that appears under its name at the end; ``-`` is stdout."""
    if path == STDOUT:
        yield from _open_stdout()
    elif path.exists() and not path.is_file():
        # A device or a pipe must be written to; a rename would replace it.
        with open(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
    else:
        yield from _open_atomic(path)


def _open_stdout() -> Iterator[TextIO]:
    sys.stdout.flush()
    stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield stream
        stream.flush()
    finally:
        stream.detach()


def _open_atomic(path: Path) -> Iterator[TextIO]:
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as stream:
            yield stream
        # mkstemp makes private files; give the mode that open() would have given.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
