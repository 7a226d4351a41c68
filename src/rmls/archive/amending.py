"""Say more of a model that is on the disk: another manifest, the same arrays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

from rmls.archive._manifest import check_manifest, decode_manifest, encode_manifest
from rmls.archive._opening import open_files
from rmls.archive.layout import ARRAYS_NAME, MANIFEST_NAME, RESERVED_KEYS
from rmls.archive.reading import read_whole
from rmls.archive.writing import check_target, install, make_temporary, remove_archive, settle
from rmls.core.errors import ArchiveError
from rmls.core.files import name_locked, sync, unlock

Manifest = dict[str, Any]


def amend_archive(path: str | PathLike[str], change: Callable[[Manifest], Manifest | None]) -> bool:
    """Replace the manifest of an archive; its arrays, however large, are not written again.

    Parameters
    ----------
    path : str or path
    change : callable
        Gets the manifest as it is on the disk; returns the one to write, or None to leave it.

    Returns
    -------
    bool
        Whether the archive was changed.

    Notes
    -----
    As safe as `write_archive`: a new folder takes the place of the old one, and a kill at any
    moment leaves one of them.

    Examples
    --------
    >>> import tempfile
    >>> from rmls.archive import read_archive, write_archive
    >>> path = Path(tempfile.mkdtemp()) / "model"
    >>> write_archive(path, {"method": "RMLS"}, {})
    >>> amend_archive(path, lambda manifest: {**manifest, "note": "tried"})
    True
    >>> read_archive(path).manifest
    {'method': 'RMLS', 'note': 'tried'}
    """
    check_target(path)
    target = Path(os.path.realpath(path))
    try:
        with name_locked(target):
            settle(target)
            return _amend(target, change, path)
    except ArchiveError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArchiveError(f"{path} cannot be written ({reason}).") from None


def _amend(target: Path, change: Callable[[Manifest], Manifest | None], path: object) -> bool:
    with ExitStack() as stack:
        file, _ = open_files(target, stack)
        manifest = decode_manifest(read_whole(file, path), path, verify=True)
    changed = change({key: manifest[key] for key in manifest if key not in RESERVED_KEYS})
    if changed is None:
        return False
    plain = check_manifest(changed, path)
    content = encode_manifest(plain, manifest["arrays"], manifest["arrays_sha256"], path)
    temporary, lock = make_temporary(target)
    try:
        _link(target / ARRAYS_NAME, temporary / ARRAYS_NAME)
        with open(temporary / MANIFEST_NAME, "xb") as stream:
            stream.write(content)
            sync(stream)
        install(temporary, target)
    finally:
        remove_archive(temporary)
        unlock(lock)
    return True


def _link(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the file system has no such thing."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        with open(target, "rb+") as stream:
            sync(stream)
