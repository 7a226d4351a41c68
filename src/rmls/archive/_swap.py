"""Put a finished folder in the place of an older one; a kill at any moment loses neither.

Beside the archive ``name`` three hidden siblings may stand for a while:

========================  ==================================================================
``.name.tmp-<random>``    being written; locked by its writer, so that a dead one is known
``.name.new``             complete, about to become ``name``
``.name.old``             the version that ``name`` replaced, about to be deleted
========================  ==================================================================

=====================================  ========================  ===========================
step                                   a kill after it leaves    reading gives
=====================================  ========================  ===========================
1  write and sync ``.name.tmp-…``      ``name``, rubbish         the old version
2  rename it to ``.name.new``          ``name``, ``.name.new``   the old version
3  rename ``name`` to ``.name.old``    no ``name``               the new one, ``.name.new``
4  rename ``.name.new`` to ``name``    ``name``, ``.name.old``   the new version
5  delete ``.name.old``                ``name``                  the new version
=====================================  ========================  ===========================

`settle` brings every one of these back to a lone ``name``; each write begins with it.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from rmls.archive._lock import lock_folder, unlock_folder
from rmls.archive.layout import FILE_NAMES


def incoming(path: Path) -> Path:
    """Return where the next version stands, complete, until it takes its place."""
    return path.with_name(f".{path.name}.new")


def outgoing(path: Path) -> Path:
    """Return where the version that was replaced stands until it is deleted."""
    return path.with_name(f".{path.name}.old")


def make_temporary(path: Path) -> tuple[Path, int | None]:
    """Make the folder to write in, and lock it for as long as this process lives."""
    temporary = path.with_name(f"{_temporary_prefix(path)}{secrets.token_hex(6)}")
    os.mkdir(temporary)
    return temporary, lock_folder(temporary, wait=False)


def settle(path: Path) -> None:
    """Finish or undo what a killed process left; the lock of the parent must be held."""
    new, old = incoming(path), outgoing(path)
    for candidate in (new, old):
        if not os.path.lexists(path) and is_complete(candidate):
            os.rename(candidate, path)
    remove_archive(new)
    remove_archive(old)
    prefix = _temporary_prefix(path)
    for entry in sorted(path.parent.iterdir()):
        if entry.name.startswith(prefix) and is_folder(entry):
            _remove_if_abandoned(entry)


def install(temporary: Path, path: Path) -> None:
    """Give the finished folder its name; the lock of the parent must be held."""
    sync_folder(temporary)
    if is_folder(path) and not any(path.iterdir()):
        os.rmdir(path)
    if not os.path.lexists(path):
        os.rename(temporary, path)
        sync_folder(path.parent)
        return
    _replace(temporary, path)


def _replace(temporary: Path, path: Path) -> None:
    new, old = incoming(path), outgoing(path)
    os.rename(temporary, new)
    sync_folder(path.parent)
    try:
        os.rename(path, old)
        os.rename(new, path)
    except BaseException:
        if not os.path.lexists(path):
            os.rename(old, path)
        remove_archive(new)
        raise
    sync_folder(path.parent)
    remove_archive(old)


def is_folder(path: Path) -> bool:
    """Tell whether ``path`` is a folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()


def is_complete(folder: Path) -> bool:
    """Tell whether a sibling holds both files; only whole archives ever get these names."""
    return is_folder(folder) and all((folder / name).is_file() for name in FILE_NAMES)


def remove_archive(folder: Path) -> None:
    """Delete the files of an archive and the folder; a file that is not ours keeps both alive."""
    if not is_folder(folder):
        return
    with suppress(OSError):
        for name in FILE_NAMES:
            (folder / name).unlink(missing_ok=True)
        os.rmdir(folder)


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _temporary_prefix(path: Path) -> str:
    return f".{path.name}.tmp-"


def _remove_if_abandoned(temporary: Path) -> None:
    # Its writer may give up and delete it at this moment.
    with suppress(FileNotFoundError):
        descriptor = lock_folder(temporary, wait=False)
        if descriptor is not None:
            remove_archive(temporary)
            unlock_folder(descriptor)
