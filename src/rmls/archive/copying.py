"""Bring the files of an archive that stands elsewhere to a place of their own."""

from __future__ import annotations

import os
import shutil
from os import PathLike
from pathlib import Path

from rmls.archive.layout import FILE_NAMES
from rmls.archive.reading import read_archive
from rmls.archive.writing import check_target, install, make_temporary, remove_archive, settle
from rmls.core.errors import ArchiveError
from rmls.core.files import name_locked, sync, unlock


def copy_archive(
    source: str | PathLike[str], path: str | PathLike[str], *, overwrite: bool = True
) -> None:
    """Copy an archive byte for byte, as safely as `write_archive` writes one.

    Files that are no part of an archive stay where they are. What was copied is verified before it
    gets its name, so that a source that changes meanwhile is refused.

    Examples
    --------
    >>> import tempfile
    >>> from rmls.archive import write_archive
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_archive(folder / "model", {"method": "RMLS"}, {})
    >>> copy_archive(folder / "model", folder / "copy")
    >>> read_archive(folder / "copy").manifest
    {'method': 'RMLS'}
    """
    check_target(path, overwrite=overwrite)
    target = Path(os.path.realpath(path))
    try:
        with name_locked(target):
            _clear_the_way(target, path, overwrite)
            temporary, lock = make_temporary(target)
        try:
            # Without the lock of the name: a large model takes longer than others wait for it.
            _copy_files(Path(source), temporary)
            read_archive(temporary)
            with name_locked(target):
                _clear_the_way(target, path, overwrite)
                install(temporary, target)
        finally:
            remove_archive(temporary)
            unlock(lock)
    except ArchiveError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArchiveError(f"{path} cannot be written ({reason}).") from None


def _clear_the_way(target: Path, path: str | PathLike[str], overwrite: bool) -> None:
    # A killed writer may have left something that only now becomes an archive.
    settle(target)
    check_target(path, overwrite=overwrite)


def _copy_files(source: Path, target: Path) -> None:
    for name in FILE_NAMES:
        with open(source / name, "rb") as original, open(target / name, "xb") as copy:
            shutil.copyfileobj(original, copy)
            sync(copy)
