"""Write an archive: all of it, or nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive._lock import folder_locked, unlock_folder
from rmls.archive._manifest import FIRST_BYTES, check_manifest, encode_manifest
from rmls.archive._swap import install, is_folder, make_temporary, remove_archive, settle
from rmls.archive._tensors import CODES, write_tensors
from rmls.archive.layout import ARRAYS_NAME, FILE_NAMES, MANIFEST_NAME
from rmls.core.errors import ArchiveError

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
        Replace an archive that stands at ``path``. Anything else there is never touched.

    Raises
    ------
    ArchiveError
        One sentence that names the path; what stood at ``path`` before still does.

    Notes
    -----
    The folder appears under its name when it is complete and on the disk; a process killed at
    any moment leaves the old or the new version loadable, as `rmls.archive._swap` lays out.

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
    with folder_locked(target.parent):
        _clear_the_way(target, path, overwrite)
        temporary, lock = make_temporary(target)
    try:
        _write_files(temporary, manifest, arrays, path)
        with folder_locked(target.parent):
            # Another writer may have come and died while the files were written.
            _clear_the_way(target, path, overwrite)
            install(temporary, target)
    finally:
        remove_archive(temporary)
        unlock_folder(lock)


def _clear_the_way(target: Path, path: object, overwrite: bool) -> None:
    _check_target(target, path, overwrite)
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
    target = Path(os.path.realpath(path))
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
        return stream.read(len(FIRST_BYTES)) == FIRST_BYTES


def _write_files(
    folder: Path, manifest: dict[str, Any], arrays: dict[str, Array], path: object
) -> None:
    with open(folder / ARRAYS_NAME, "xb") as stream:
        digest = write_tensors(stream, arrays)
        stream.flush()
        os.fsync(stream.fileno())
    table = {
        name: {"dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in arrays.items()
    }
    with open(folder / MANIFEST_NAME, "xb") as stream:
        stream.write(encode_manifest(manifest, table, digest, path))
        stream.flush()
        os.fsync(stream.fileno())
