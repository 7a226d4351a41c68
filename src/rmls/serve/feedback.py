"""Feedback that is kept: one JSON line each, on the disk before the answer, whoever is killed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rmls.core.errors import RmlsError

# Bytes that are read at a time when lines of others are looked at.
CHUNK = 1 << 20


class FeedbackFile:
    """A file of JSON lines that several processes append to.

    A line is acknowledged when it is on the disk. A process that is killed leaves at most one line
    without an end: the next one to write completes it if it can be read, and cuts it off if not.
    An id is stored once, by whichever process it comes to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = _open(path)
        except OSError as error:
            raise RmlsError(f"feedback cannot be written to {path}: {error.strerror}.") from None
        self._thread = threading.Lock()
        # Hashes of ids, and how far the file has been looked at.
        self._known: set[bytes] = set()
        self._seen = 0
        with self._locked():
            self._catch_up()

    def append(self, entry: dict[str, Any]) -> bool:
        """Store an entry and return True; False where its id is stored already.

        When it returns, the entry is on the disk. When it raises, the file is as it was.
        """
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with self._locked():
            self._catch_up()
            key = _key(entry["id"])
            if key in self._known:
                # It may have been written by a process that was killed before it was on the disk.
                os.fsync(self._file)
                return False
            start = self._seen
            try:
                self._write(line)
                os.fsync(self._file)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, start)
                raise
            self._seen = start + len(line)
            self._known.add(key)
        return True

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The lock of a file is one of the process: threads need another among themselves.
        with self._thread:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            while not self._is_in_place():
                # Moved away to be learned from: a new one begins.
                os.close(self._file)
                self._file, self._seen = _open(self.path), 0
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def _catch_up(self) -> None:
        """Look at the lines that others have written, and mend the last one."""
        size = os.fstat(self._file).st_size
        # Somebody may have emptied it.
        self._seen = min(self._seen, size)
        while self._seen < size:
            chunk = self._read_from(self._seen, size)
            end = chunk.rfind(b"\n") + 1
            for line in chunk[:end].splitlines():
                self._remember(line)
            self._seen += end
            if not end:
                self._mend(chunk)
                return

    def _read_from(self, start: int, size: int) -> bytes:
        """Return whole lines, or what is left without an end."""
        wanted = CHUNK
        while True:
            chunk = os.pread(self._file, wanted, start)
            if b"\n" in chunk or start + len(chunk) >= size or len(chunk) < wanted:
                return chunk
            wanted *= 2

    def _mend(self, torn: bytes) -> None:
        """Complete the last line where all of it is there, else cut it off."""
        if self._remember(torn):
            self._write(b"\n")
            os.fsync(self._file)
            self._seen += len(torn) + 1
        else:
            os.ftruncate(self._file, self._seen)
            os.fsync(self._file)

    def _remember(self, line: bytes) -> bool:
        """Note the id of a line; tell whether the line can be read."""
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if isinstance(entry, dict) and "id" in entry:
            self._known.add(_key(entry["id"]))
        return isinstance(entry, dict)


def _key(name: Any) -> bytes:
    return blake2b(str(name).encode("utf-8", "replace"), digest_size=16).digest()


def _open(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # The name of a new file has to be on the disk, too.
    number = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
    return file
