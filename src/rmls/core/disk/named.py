"""Arrays in files that have names, so that other processes and other machines can map them."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.disk.mapping import find_among
from rmls.core.disk.scratch import Scratch, reserve, scratch_folder
from rmls.core.errors import InputError

# What the folders are called.
ROWS = "rmls-rows-"
# By the address of the first byte: size and path of what is mapped there now.
_MAPPED: dict[int, tuple[int, str]] = {}


class NamedScratch(Scratch):
    """Room on disk whose arrays other processes can map; the folder goes with this object.

    Examples
    --------
    >>> room = NamedScratch()
    >>> array = room.zeros(4, np.int32)
    >>> array[1] = 7
    >>> map_file(*find_file(array[1:]), "<i4", (3,)).tolist()
    [7, 0, 0]
    """

    def __init__(self, folder: Path | None = None) -> None:
        # Other processes stand in other folders.
        made = tempfile.mkdtemp(prefix=ROWS, dir=(folder or scratch_folder()).absolute())
        super().__init__(Path(made))
        self._names = 0
        self._clean = weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)

    def _open(self, n_bytes: int) -> mmap.mmap:
        path = self.folder / f"{self._names:04d}.bin"
        self._names += 1
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            reserve(descriptor, n_bytes)
            content = mmap.mmap(descriptor, n_bytes)
        finally:
            os.close(descriptor)
        start = np.frombuffer(content, np.uint8).ctypes.data
        _MAPPED[start] = (n_bytes, str(path))
        # The address may be given to another array afterwards.
        weakref.finalize(content, _MAPPED.pop, start, None)
        return content


def find_file(array: NDArray[Any]) -> tuple[str, int] | None:
    """Return the file that a contiguous array lies in and where, or None."""
    return find_among(array, _MAPPED)


def map_file(path: str, offset: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array that lies in a file; what is written to it stays in memory."""
    try:
        return np.memmap(path, dtype, "c", offset, shape).view(np.ndarray)
    except (OSError, ValueError):
        raise InputError(
            f"{path} cannot be seen here; rows on disk need a folder that all nodes of the "
            "cluster see: let RMLS_SCRATCH name one."
        ) from None
