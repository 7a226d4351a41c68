"""Read an archive: check everything it announces, then map its arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from numpy.typing import NDArray

from rmls.archive._manifest import decode_manifest
from rmls.archive._opening import open_files
from rmls.archive._tensors import (
    CHUNK,
    TensorFileError,
    describe_arrays,
    map_file,
    read_file,
    read_layout,
    view_tensors,
)
from rmls.archive.layout import ARRAYS_NAME, MANIFEST_NAME, MAX_MANIFEST_SIZE, RESERVED_KEYS
from rmls.core.errors import ArchiveError


@dataclass(frozen=True, eq=False)
class Archive:
    """What an archive holds.

    Attributes
    ----------
    path : Path
        As it was given.
    manifest : dict
        As it was written.
    arrays : mapping of str to ndarray
        Read-only.

    Examples
    --------
    >>> archive = Archive(Path("model"), {"method": "RMLS"}, {})
    >>> archive.manifest["method"]
    'RMLS'
    """

    path: Path
    manifest: dict[str, Any] = field(repr=False)
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)


def read_archive(path: str | PathLike[str], *, verify: bool = True, mmap: bool = True) -> Archive:
    """Load a folder that `write_archive` wrote.

    Parameters
    ----------
    path : str or path
    verify : bool, default True
        Compare both files with their checksums, which reads them once from end to end.
        Without it every size, shape and type is still checked, but not the values.
    mmap : bool, default True
        Leave the arrays on disk and read a page when it is first used. False copies them to
        memory, so that nothing that happens to the folder afterwards can matter.

    Returns
    -------
    Archive

    Raises
    ------
    ArchiveError
        One sentence that names the path and what is wrong with it.

    Notes
    -----
    Nothing in the folder is ever executed, and links out of it are refused. Where a writer was
    killed between taking the old version away and naming the new one, the new one is read.

    A mapped file that is cut short in place while it is used ends the process (SIGBUS), as it
    does with every memory map; `write_archive` never does that to a folder.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from rmls.archive import write_archive
    >>> path = Path(tempfile.mkdtemp()) / "model"
    >>> write_archive(path, {"method": "RMLS"}, {"bias": np.zeros(2, dtype=np.float32)})
    >>> archive = read_archive(path)
    >>> archive.manifest, archive.arrays["bias"].dtype.name
    ({'method': 'RMLS'}, 'float32')
    >>> read_archive("nowhere")
    Traceback (most recent call last):
    rmls.core.errors.ArchiveError: nowhere does not exist; give the folder of a saved model.
    """
    try:
        with ExitStack() as stack:
            manifest_file, arrays_file = open_files(path, stack)
            manifest = decode_manifest(read_whole(manifest_file, path), path, verify=verify)
            arrays = _read_arrays(arrays_file, manifest, verify, mmap)
    except TensorFileError as error:
        raise ArchiveError(f"{path} is damaged: {ARRAYS_NAME} cannot be used; {error}.") from None
    except ArchiveError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArchiveError(f"{path} cannot be read ({reason}).") from None
    plain = {key: value for key, value in manifest.items() if key not in RESERVED_KEYS}
    return Archive(Path(path), plain, MappingProxyType(arrays))


def read_whole(stream: IO[bytes], path: object) -> bytes:
    """Return the bytes of a manifest, if it is no longer than any that is written."""
    size = os.fstat(stream.fileno()).st_size
    if size > MAX_MANIFEST_SIZE:
        raise ArchiveError(
            f"{path} is damaged: {MANIFEST_NAME} has {size} bytes; at most {MAX_MANIFEST_SIZE} "
            "are written."
        )
    return stream.read(size)


def _read_arrays(
    stream: IO[bytes], manifest: dict[str, Any], verify: bool, mmap: bool
) -> dict[str, NDArray[Any]]:
    size = os.fstat(stream.fileno()).st_size
    layout = read_layout(stream, size)
    # Types and shapes stand in both files: the two must belong together.
    table = manifest.get("arrays")
    if not isinstance(table, dict) or table != describe_arrays(layout):
        raise TensorFileError(f"its arrays are not those that {MANIFEST_NAME} lists")
    # What was copied is what is verified; a map is verified by reading, which no cut can crash.
    content = map_file(stream) if mmap else read_file(stream, size)
    if verify:
        found = _hash(stream) if mmap else sha256(content.data).hexdigest()
        if found != manifest.get("arrays_sha256"):
            raise TensorFileError("it was changed after it was written")
    arrays = view_tensors(content, layout)
    return {name: arrays[name] for name in table}


def _hash(stream: IO[bytes]) -> str:
    stream.seek(0)
    digest = sha256()
    while chunk := stream.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
