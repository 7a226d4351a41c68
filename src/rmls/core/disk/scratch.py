"""Arrays in files that are gone when the process ends, however it ends."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.words import size

# The folder of the files, where it is not that of the system.
FOLDER = "RMLS_SCRATCH"


def scratch_folder() -> Path:
    """Return the folder that scratch files are made in."""
    folder = Path(os.environ.get(FOLDER) or tempfile.gettempdir())
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; {FOLDER} names one that can be written to.")
    return folder


class Scratch:
    """Room on disk for arrays that memory need not hold.

    Examples
    --------
    >>> room = Scratch()
    >>> room.zeros((2, 3), np.int32).tolist()
    [[0, 0, 0], [0, 0, 0]]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or scratch_folder()
        self.n_bytes = 0

    def require(self, n_bytes: int, purpose: str) -> None:
        """Raise a sentence where the disk has no room for so many bytes."""
        free = shutil.disk_usage(self.folder).free
        if n_bytes > free:
            raise InputError(
                f"{purpose} needs {size(n_bytes)} of disk in {self.folder}, which has "
                f"{size(free)}; let {FOLDER} name a folder with more."
            )

    def zeros(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """Return an array of zeros in a file of its own."""
        dtype = np.dtype(dtype)
        n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if n_bytes == 0:
            return np.zeros(shape, dtype)
        self.require(n_bytes, "an array on disk")
        try:
            content = self._open(n_bytes)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self.require(1 << 62, "an array on disk")
            raise
        self.n_bytes += n_bytes
        return np.frombuffer(content, dtype).reshape(shape)

    empty = zeros

    def _open(self, n_bytes: int) -> mmap.mmap:
        # Without a name from the start: nothing is left behind by a kill.
        with tempfile.TemporaryFile(dir=self.folder) as file:
            reserve(file.fileno(), n_bytes)
            return mmap.mmap(file.fileno(), n_bytes)


def reserve(descriptor: int, n_bytes: int) -> None:
    """Let a file have its size at once: a full disk is told here, and not by a signal later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, n_bytes)
    else:
        os.ftruncate(descriptor, n_bytes)
