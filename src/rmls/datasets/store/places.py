"""Folders that stores lie in: on a disk, or behind any address that fsspec knows."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rmls.core.disk.scratch import scratch_folder
from rmls.core.errors import InputError
from rmls.core.files import replacing
from rmls.core.optional import import_extra

EXTRA = "remote"


def is_address(text: str) -> bool:
    """Tell an address from a path.

    Examples
    --------
    >>> is_address("s3://bucket/rows"), is_address("C:/rows"), is_address("rows")
    (True, False, False)
    """
    return "://" in text


class Place:
    """A folder by path or address; names inside have forward slashes."""

    def __init__(self, where: str | Path) -> None:
        self._fs: Any = None
        self.where = str(where)
        if is_address(self.where):
            self._fs, self._root = _connect(self.where)
        else:
            self._root = self.where

    def __str__(self) -> str:
        return self.where

    @property
    def name(self) -> str:
        """What the folder itself is called."""
        return Path(self._root.rstrip("/")).name or "store"

    @property
    def is_local(self) -> bool:
        """Whether files can be mapped into memory."""
        return self._fs is None

    def path(self, name: str = "") -> Path:
        """Return where a file is, for messages and, on a disk, to open."""
        return Path(self._root, name)

    def exists(self, name: str = "") -> bool:
        """Tell whether there is a file or a folder."""
        if self._fs is None:
            return self.path(name).exists()
        return bool(self._fs.exists(self._join(name)))

    def listing(self) -> list[str]:
        """Return the names in the folder; of none where it is not there."""
        if self._fs is None:
            return sorted(entry.name for entry in self.path().iterdir()) if self.exists() else []
        if not self.exists():
            return []
        return sorted(Path(entry).name for entry in self._fs.ls(self._root, detail=False))

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        if self._fs is None:
            return self.path(name).stat().st_size
        return int(self._fs.size(self._join(name)))

    def make(self, name: str = "") -> None:
        """Make a folder, and those above it."""
        if self._fs is None:
            self.path(name).mkdir(parents=True, exist_ok=True)
        else:
            self._fs.makedirs(self._join(name), exist_ok=True)

    def open(self, name: str, mode: str) -> IO[bytes]:
        """Open a file; what is written is there when it is closed."""
        if self._fs is None:
            opened: IO[bytes] = open(self.path(name), mode)  # noqa: SIM115
            return opened
        remote: IO[bytes] = self._fs.open(self._join(name), mode)
        return remote

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self.open(name, "rb") as stream:
            return stream.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, whole or not at all."""
        if self._fs is None:
            with replacing(self.path(name)) as stream:
                stream.write(content)
        else:
            # An object appears with its last byte.
            self._fs.pipe_file(self._join(name), content)

    def remove(self, name: str) -> None:
        """Delete a file or a folder that may not be there."""
        if self._fs is not None:
            if self.exists(name):
                self._fs.rm(self._join(name), recursive=True)
        elif self.path(name).is_dir():
            shutil.rmtree(self.path(name))
        else:
            self.path(name).unlink(missing_ok=True)

    def fetch(self, name: str, target: Path) -> None:
        """Copy a file to this machine."""
        target.parent.mkdir(parents=True, exist_ok=True)
        with self.open(name, "rb") as stream, open(target, "wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 22)

    def _join(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}" if name else self._root


def temporary_folder(owner: Any) -> Path:
    """Return a folder that is deleted together with its owner."""
    folder = Path(tempfile.mkdtemp(prefix="rmls-", dir=scratch_folder()))
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def local_copy(where: str) -> Iterator[str]:
    """Give the path of a file, which one behind an address is copied to first."""
    if not is_address(where):
        yield where
        return
    with tempfile.TemporaryDirectory(prefix="rmls-", dir=scratch_folder()) as folder:
        fs, path = _connect(where)
        target = Path(folder, Path(path).name or "data")
        try:
            fs.get_file(path, str(target))
        except (OSError, ValueError) as error:
            raise InputError(f"{where} cannot be read ({_reason(error)}).") from None
        yield str(target)


def _connect(where: str) -> tuple[Any, str]:
    fsspec = import_extra("fsspec", EXTRA, f"the address {where}")
    try:
        fs, path = fsspec.core.url_to_fs(where)
    except (ImportError, ValueError, OSError) as error:
        raise InputError(f"{where} is no address that can be opened ({_reason(error)}).") from None
    return fs, str(path)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
