"""Open the two files of one version of an archive, whatever a writer is doing meanwhile."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import IO

from rmls.archive.layout import ARRAYS_NAME, FILE_NAMES, MANIFEST_NAME
from rmls.archive.writing import incoming, is_complete
from rmls.core.errors import ArchiveError

# A writer renames two folders in well under a millisecond; each try starts over after that.
ATTEMPTS = 100
LOOKS = 3

# No link is followed, and a pipe is not waited for, where the system has such flags.
FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


def open_files(path: str | PathLike[str], stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Open ``model.json`` and ``arrays.safetensors``; ``stack`` closes them.

    Both are of the same version: the folder is compared before and after they are opened.
    """
    for _ in range(ATTEMPTS):
        folder = _locate(path)
        before = _identify(folder)
        with ExitStack() as opened:
            try:
                files = [opened.enter_context(_open(folder / name, path)) for name in FILE_NAMES]
            except FileNotFoundError as error:
                if before is None or _identify(folder) != before:
                    continue
                raise _missing(Path(error.filename).name, path) from None
            if before is not None and _identify(folder) == before:
                stack.push(opened.pop_all())
                return files[0], files[1]
    raise ArchiveError(f"{path} is being replaced again and again; load it when that is over.")


def _locate(path: str | PathLike[str]) -> Path:
    """Return the folder to read: the named one, or what a killed writer had ready for it."""
    folder = Path(os.path.realpath(path))
    # A live writer may change one name into the other between the two looks.
    for _ in range(LOOKS):
        found = _stat(folder)
        if found is not None and stat.S_ISDIR(found.st_mode):
            return folder
        if found is not None:
            raise ArchiveError(f"{path} is not a folder; give the folder of a saved model.")
        if is_complete(incoming(folder)):
            return incoming(folder)
    raise ArchiveError(f"{path} does not exist; give the folder of a saved model.")


def _identify(folder: Path) -> tuple[int, ...] | None:
    found = _stat(folder)
    if found is None:
        return None
    # A folder that takes the name of another one has another inode, or other times.
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _stat(folder: Path) -> os.stat_result | None:
    try:
        return os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _open(file: Path, path: object) -> IO[bytes]:
    mode = os.lstat(file).st_mode
    if stat.S_ISLNK(mode):
        raise ArchiveError(f"{path} is refused: {file.name} is a link to somewhere else.")
    if not stat.S_ISREG(mode):
        raise ArchiveError(f"{path} is damaged: {file.name} is not a file.")
    # The flags hold even if the file is exchanged for a link or a pipe at this moment.
    return os.fdopen(os.open(file, FLAGS), "rb")


def _missing(name: str, path: object) -> ArchiveError:
    if name == MANIFEST_NAME:
        return ArchiveError(f"{path} is not an rmls model: it has no {MANIFEST_NAME}.")
    return ArchiveError(f"{path} is damaged: {ARRAYS_NAME} is missing.")
