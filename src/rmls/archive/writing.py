"""Write an archive: all of it, or nothing.

A finished folder takes the place of an older one so that a kill at any moment loses neither.
Beside the archive ``name`` four hidden siblings may stand for a while:

========================  ==================================================================
``.name.tmp-<random>``    being written; locked by its writer, so that a dead one is known
``.name.new``             complete, about to become ``name``
``.name.old``             the version that ``name`` replaced, about to be deleted
``.name.lock``            locked by a process that looks at these names and changes them
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
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive._manifest import FIRST_BYTES, check_manifest, encode_manifest
from rmls.archive._tensors import CODES, describe_arrays, write_tensors
from rmls.archive.layout import ARRAYS_NAME, FILE_NAMES, MANIFEST_NAME
from rmls.core.errors import ArchiveError
from rmls.core.files import lock_folder, name_locked, sync, sync_folder, unlock

Array = NDArray[Any]


def write_archive(
    path: str | PathLike[str],
    manifest: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    overwrite: bool = True,
) -> None:
    """Write a manifest and arrays as a folder that `read_archive` loads.

    Parameters
    ----------
    path : str or path
        The folder to write. Its parent must exist.
    manifest : mapping
        Text, finite numbers, booleans, None, and lists and dictionaries of them.
    arrays : mapping of str to ndarray
        Booleans, integers and floats of 16 to 64 bits, of any shape.
    overwrite : bool, default True
        Replace an archive that stands at ``path``. Anything else there is never touched. False
        refuses one, also where it appears while the files are written.

    Raises
    ------
    ArchiveError
        One sentence that names the path; what stood at ``path`` before still does.

    Notes
    -----
    The folder appears under its name when it is complete and on the disk; a process killed at
    any moment leaves the old or the new version loadable, as `rmls.archive.writing` lays out.

    Examples
    --------
    >>> import tempfile
    >>> from rmls.archive import read_archive
    >>> path = Path(tempfile.mkdtemp()) / "model"
    >>> write_archive(path, {"method": "RMLS"}, {"bias": np.arange(3.0)})
    >>> read_archive(path).arrays["bias"].tolist()
    [0.0, 1.0, 2.0]
    >>> write_archive(path, {"tol": float("inf")}, {})
    Traceback (most recent call last):
    rmls.core.errors.ArchiveError: ...model cannot be written: tol is inf, which JSON cannot hold.
    """
    checked_manifest = check_manifest(manifest, path)
    checked_arrays = _check_arrays(arrays, path)
    try:
        # Behind a link it is the folder that is replaced, not the link.
        target = Path(os.path.realpath(path))
        _write(target, checked_manifest, checked_arrays, path, overwrite)
    except ArchiveError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArchiveError(f"{path} cannot be written ({reason}).") from None


def _write(
    target: Path,
    manifest: dict[str, Any],
    arrays: dict[str, Array],
    path: object,
    overwrite: bool,
) -> None:
    if not target.parent.is_dir():
        raise ArchiveError(f"{path} cannot be written: {target.parent} is not a folder.")
    # Before anything stands beside it, and again with the lock.
    _check_target(target, path, overwrite)
    with name_locked(target):
        _clear_the_way(target, path, overwrite)
        temporary, lock = make_temporary(target)
    try:
        _write_files(temporary, manifest, arrays, path)
        with name_locked(target):
            # Another writer may have come, or come and died, while the files were written.
            _clear_the_way(target, path, overwrite)
            install(temporary, target)
    finally:
        remove_archive(temporary)
        unlock(lock)


def _clear_the_way(target: Path, path: object, overwrite: bool) -> None:
    _check_target(target, path, overwrite)
    # It may bring an archive back that was not there before; hence the second look.
    settle(target)
    _check_target(target, path, overwrite)


def _check_arrays(arrays: Mapping[str, Array], path: object) -> dict[str, Array]:
    for name, array in arrays.items():
        if not isinstance(name, str) or not name.isprintable() or name in ("", "__metadata__"):
            raise ArchiveError(f"{path} cannot be written: {name!r} cannot name an array.")
        if not isinstance(array, np.ndarray):
            raise ArchiveError(
                f"{path} cannot be written: {name!r} is no array but {type(array).__name__}."
            )
        if array.dtype.name not in CODES:
            raise ArchiveError(
                f"{path} cannot be written: the array {name!r} is of type {array.dtype}; "
                "only booleans, integers and floats up to 64 bits can be stored."
            )
    return dict(arrays)


def check_target(path: str | PathLike[str], *, overwrite: bool = True) -> None:
    """Raise what `write_archive` would raise for the place alone, before any work is done.

    Examples
    --------
    >>> import tempfile
    >>> check_target(tempfile.mkdtemp())
    """
    try:
        target = Path(os.path.realpath(path))
        # The longest name that will stand beside it.
        os.path.lexists(target) or os.lstat(_temporary(target))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArchiveError(f"{path} cannot be written ({reason}).") from None
    if not target.parent.is_dir():
        raise ArchiveError(f"{path} cannot be written: {target.parent} is not a folder.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ArchiveError(f"{path} cannot be written: no permission to write to {target.parent}.")
    _check_target(target, path, overwrite)


def _check_target(target: Path, path: object, overwrite: bool) -> None:
    """Refuse everything that is not free, an empty folder, or an archive to replace."""
    if not os.path.lexists(target):
        return
    if not is_folder(target):
        raise ArchiveError(f"{path} is a file; give the name of a folder to write the model to.")
    entries = sorted(entry.name for entry in target.iterdir())
    if not entries:
        return
    if not _begins_like_a_manifest(target / MANIFEST_NAME):
        raise ArchiveError(
            f"{path} is a folder that holds something other than an rmls model; "
            "it is left as it is, so choose another name."
        )
    foreign = [name for name in entries if name not in FILE_NAMES]
    if foreign:
        raise ArchiveError(
            f"{path} holds {foreign[0]!r}, which is not part of the model and would be lost; "
            "move it away or choose another name."
        )
    if not overwrite:
        raise ArchiveError(f"{path} exists; choose another name or pass overwrite=True.")


def _begins_like_a_manifest(file: Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    with open(file, "rb") as stream:
        # The first bytes are enough: a damaged model may be replaced, a stranger never.
        return stream.read(len(FIRST_BYTES)) == FIRST_BYTES


def _write_files(
    folder: Path, manifest: dict[str, Any], arrays: dict[str, Array], path: object
) -> None:
    # Arrays first: the manifest holds their checksum.
    with open(folder / ARRAYS_NAME, "xb") as stream:
        digest = write_tensors(stream, arrays)
        sync(stream)
    table = describe_arrays(arrays)
    with open(folder / MANIFEST_NAME, "xb") as stream:
        stream.write(encode_manifest(manifest, table, digest, path))
        sync(stream)


def incoming(path: Path) -> Path:
    """Return where the next version stands, complete, until it takes its place."""
    return path.with_name(f".{path.name}.new")


def outgoing(path: Path) -> Path:
    """Return where the version that was replaced stands until it is deleted."""
    return path.with_name(f".{path.name}.old")


def make_temporary(path: Path) -> tuple[Path, int | None]:
    """Make the folder to write in, and lock it for as long as this process lives."""
    temporary = _temporary(path)
    os.mkdir(temporary)
    return temporary, lock_folder(temporary, wait=False)


def settle(path: Path) -> None:
    """Finish or undo what a killed process left; the lock of the name must be held."""
    new, old = incoming(path), outgoing(path)
    # The new version goes first; the old one is taken where no new one is complete.
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
    """Give the finished folder its name; the lock of the name must be held."""
    sync_folder(temporary)
    # Not every system renames onto a folder, even an empty one.
    if is_folder(path) and not any(path.iterdir()):
        os.rmdir(path)
    if not os.path.lexists(path):
        os.rename(temporary, path)
        sync_folder(path.parent)
        return
    _replace(temporary, path)


def _replace(temporary: Path, path: Path) -> None:
    new, old = incoming(path), outgoing(path)
    # Steps 2 to 5 of the table above, synced so that they reach the disk in this order.
    os.rename(temporary, new)
    sync_folder(path.parent)
    try:
        os.rename(path, old)
        os.rename(new, path)
    except BaseException:
        # Step 4 has failed: undo step 3.
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


def _temporary(path: Path) -> Path:
    return path.with_name(f"{_temporary_prefix(path)}{secrets.token_hex(6)}")


def _temporary_prefix(path: Path) -> str:
    return f".{path.name}.tmp-"


def _remove_if_abandoned(temporary: Path) -> None:
    # Its writer may still hold it, or give up and delete it at this moment.
    with suppress(FileNotFoundError, BlockingIOError):
        descriptor = lock_folder(temporary, wait=False)
        if descriptor is not None:
            remove_archive(temporary)
            unlock(descriptor)
