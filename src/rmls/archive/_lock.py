"""Locks on folders that the system releases when their process dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has neither flock nor descriptors of folders.
    fcntl = None  # type: ignore[assignment]


def lock_folder(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder and return the descriptor that holds the lock until it is closed.

    Returns
    -------
    int or None
        None where another process holds the lock (and ``wait`` is False), or where the system
        or the file system has no such locks.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> held = lock_folder(folder, wait=False)
    >>> lock_folder(folder, wait=False) is None
    True
    >>> unlock_folder(held)
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def unlock_folder(descriptor: int | None) -> None:
    """Release a lock of `lock_folder`; None is nothing to release."""
    if descriptor is not None:
        os.close(descriptor)


@contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Let one process at a time change the entries of ``folder``, where locks exist."""
    descriptor = lock_folder(folder, wait=True)
    try:
        yield
    finally:
        unlock_folder(descriptor)
