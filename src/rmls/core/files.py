"""Files written whole or not at all, and locks on folders."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has neither flock nor descriptors of folders.
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` at the end of the block.

    Parameters
    ----------
    path : Path
        A file, or a name that is free. Its folder must exist.

    Notes
    -----
    The content goes to a hidden file of the same folder, reaches the disk, and is renamed: a
    reader sees the old or the new content, whenever the process is killed. After an error in the
    block ``path`` is as it was and nothing else is left.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "figures.csv"
    >>> with replacing(path) as stream:
    ...     _ = stream.write(b"1,2")
    ...     path.exists()
    False
    >>> path.read_bytes()
    b'1,2'
    """
    # In the same folder, because a rename is atomic only within a file system; with a
    # random name, because two processes may write at the same time.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        # Not mkstemp: its files are private, these get the mode that the umask gives.
        with open(temporary, "xb") as stream:
            yield stream
            # Before the rename: a crash must not leave the name on content that never arrived.
            sync(stream)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_text(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file that takes the place of ``path`` at the end of the block."""
    with replacing(path) as stream, text_over(stream) as text:
        yield text


def write_text(path: Path, text: str) -> None:
    """Write a text file that appears under its name when it is complete."""
    with replacing_text(path) as stream:
        stream.write(text)


@contextmanager
def text_over(stream: IO[bytes]) -> Iterator[IO[str]]:
    """Write UTF-8 text, line ends as they are, to a stream of bytes that stays open."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        # A wrapper closes what it wraps when it is collected.
        text.detach()


def sync(stream: IO[bytes]) -> None:
    """Return when everything written to a file has reached the disk."""
    stream.flush()
    os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the entries of a folder have reached the disk, where the system can tell."""
    # A new name is content of the folder: it lasts when the folder has reached the disk.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock_folder(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder and return the descriptor that holds the lock until it is closed.

    Parameters
    ----------
    folder : Path
    wait : bool
        Wait for a lock that is held by another process, or by another descriptor of this one.

    Returns
    -------
    int or None
        None where the system or the file system has no such locks.

    Raises
    ------
    BlockingIOError
        Where the lock is held and ``wait`` is False.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> held = lock_folder(folder, wait=False)
    >>> lock_folder(folder, wait=False)
    Traceback (most recent call last):
    BlockingIOError: ...
    >>> unlock(held)
    """
    return None if fcntl is None else _hold(os.open(folder, os.O_RDONLY), wait)


def lock_file(path: Path, *, wait: bool) -> int | None:
    """Lock a file, made where it does not exist; else as `lock_folder`.

    Network file systems lock only what is open for writing, which no folder can be.
    """
    return None if fcntl is None else _hold(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), wait)


def _hold(descriptor: int, wait: bool) -> int | None:
    try:
        # The lock belongs to the descriptor: the system frees it however the process ends.
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException as error:
        os.close(descriptor)
        # No locks on this file system: go on without one. A lock that is held is told.
        if isinstance(error, OSError) and not isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


def unlock(descriptor: int | None) -> None:
    """Release a lock; None is nothing to release."""
    if descriptor is not None:
        os.close(descriptor)


@contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Let one process at a time change the entries of ``folder``, where locks exist."""
    descriptor = lock_folder(folder, wait=True)
    try:
        yield
    finally:
        unlock(descriptor)
