"""Files written whole or not at all, and locks on names."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

try:
    import fcntl
except ImportError:  # Windows has neither flock nor descriptors of folders.
    fcntl = None  # type: ignore[assignment]

from rmls.core.errors import InputError

# Seconds. A lock is held while some names change, which takes milliseconds on a quiet disk.
PATIENCE = 60.0
# Bytes of a name that leave room for what a hidden sibling adds to it.
LONG_NAME = 200
HIDDEN = re.compile(r"\..*\.[0-9a-f]{12}\.tmp", re.DOTALL)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` at the end of the block.

    Parameters
    ----------
    path : Path
        A file, or a name that is free. Its folder must exist. Behind a link it is the file that is
        replaced, not the link. Devices, pipes and sockets are refused.

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
    with replacing_together([path]) as streams:
        yield streams[0]


@contextmanager
def replacing_together(paths: Sequence[Path]) -> Iterator[list[IO[bytes]]]:
    """Open files that take the places of all ``paths`` at the end of the block, or of none.

    Parameters
    ----------
    paths : sequence of Path
        As in `replacing`. The first one is what the others belong to.

    Notes
    -----
    Names can be changed one at a time only. Before the first of several is, ``.name.new`` beside
    the first path lists the hidden files that are complete; it is deleted when all have their
    names. What `open_standing` reads is of one version, whenever the process is killed, and the
    next writer of the same name finishes what was begun.
    """
    targets = [resolve_target(path) for path in paths]
    _settle(targets[0])
    with ExitStack() as stack:
        drafts = [stack.enter_context(_drafted(target, targets[0])) for target in targets]
        yield [draft.stream for draft in drafts]
        for draft in drafts:
            # Before the rename: a crash must not leave the name on content that never arrived.
            sync(draft.stream)
            draft.stream.close()
        if len(drafts) == 1:
            drafts[0].path.replace(targets[0])
        else:
            with name_locked(targets[0]):
                _finish(targets[0])
                _install(drafts)


class Draft(NamedTuple):
    """A hidden file that is to become ``target``."""

    path: Path
    target: Path
    stream: IO[bytes]


@contextmanager
def _drafted(target: Path, owner: Path) -> Iterator[Draft]:
    """Open a hidden file beside ``target``, which is gone at the end unless it was renamed."""
    # In the same folder, because a rename is atomic only within a file system.
    name = owner.name if len(os.fsencode(owner.name)) < LONG_NAME else ""
    _remove_abandoned(target.parent, name)
    path, stream, lock = _open_hidden(target.parent, name)
    try:
        with stream:
            yield Draft(path, target, stream)
    finally:
        # What a list of complete files names must stay until it is deleted.
        if _listed(owner).get(target) != path:
            path.unlink(missing_ok=True)
        unlock(lock)


def _open_hidden(folder: Path, name: str) -> tuple[Path, IO[bytes], int | None]:
    """Make a hidden file, locked for as long as this process lives."""
    while True:
        # A random name, because two processes may write at the same time.
        path = folder / f".{name}.{os.urandom(6).hex()}.tmp"
        # Not mkstemp: its files are private, these get the mode that the umask gives.
        stream = open(path, "xb")  # noqa: SIM115
        if fcntl is None:
            return path, stream, None
        # A descriptor of its own holds the lock until the file has its name.
        lock = _hold(os.dup(stream.fileno()), wait=True)
        if lock is None or _is_at(lock, path):
            return path, stream, lock
        # Another process has taken it for abandoned before it was locked.
        stream.close()
        unlock(lock)


def _remove_abandoned(folder: Path, name: str) -> None:
    """Delete hidden files of writers that were killed: nobody holds their locks."""
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}\.tmp")
    for entry in os.listdir(folder) if fcntl is not None else ():
        if pattern.fullmatch(entry):
            # Its writer may hold it, or rename or delete it at this moment.
            with suppress(OSError):
                descriptor = _hold(os.open(folder / entry, os.O_RDWR), wait=False)
                if descriptor is not None:
                    os.unlink(folder / entry)
                    unlock(descriptor)


def _sibling(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{ending}")


def _listed(owner: Path) -> dict[Path, Path]:
    """Return the complete files by the names that they are about to get."""
    try:
        pairs = json.loads(_sibling(owner, "new").read_bytes()).items()
        places = [[Path(os.path.normpath(owner.parent / name)) for name in pair] for pair in pairs]
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}
    return {target: hidden for target, hidden in places if HIDDEN.fullmatch(hidden.name)}


def _install(drafts: list[Draft]) -> None:
    """Give several files their names; the lock of the first name must be held."""
    owner = drafts[0].target
    folder = owner.parent
    pairs = [[os.path.relpath(path, folder) for path in draft[:2]] for draft in drafts]
    with _drafted(_sibling(owner, "new"), owner) as listing:
        listing.stream.write(json.dumps({target: path for path, target in pairs}).encode())
        sync(listing.stream)
        listing.stream.close()
        listing.path.replace(listing.target)
    sync_folder(folder)
    try:
        _finish(owner)
    except OSError:
        # Nothing has got its name: all is as it was.
        if all(draft.path.exists() for draft in drafts):
            _sibling(owner, "new").unlink(missing_ok=True)
        raise


def _settle(owner: Path) -> None:
    """Finish what a killed writer had complete; its lock goes, too."""
    if os.path.lexists(_sibling(owner, "new")) or os.path.lexists(_sibling(owner, "lock")):
        with name_locked(owner):
            _finish(owner)


def _finish(owner: Path) -> None:
    listed = _listed(owner)
    for target, hidden in listed.items():
        with suppress(FileNotFoundError):
            hidden.replace(target)
    if listed:
        sync_folder(owner.parent)
    _sibling(owner, "new").unlink(missing_ok=True)


def standing(path: Path, owner: Path) -> Path:
    """Return where the content of ``path`` is: there, or where a killed writer left it complete.

    ``owner`` is the first of the paths that were written together.
    """
    owner = Path(os.path.realpath(owner))
    if not os.path.lexists(_sibling(owner, "new")):
        return path
    hidden = _listed(owner).get(Path(os.path.realpath(path)))
    return hidden if hidden is not None and hidden.is_file() else path


def open_standing(path: Path, owner: Path) -> IO[bytes]:
    """Open the content of ``path`` for reading; see `standing`."""
    # A writer may give it its name meanwhile.
    with suppress(FileNotFoundError):
        return open(standing(path, owner), "rb")
    return open(path, "rb")


def resolve_target(path: Path) -> Path:
    """Return the file that writing to ``path`` would replace, or make; refuse what is no file.

    Examples
    --------
    >>> resolve_target(Path(os.devnull))
    Traceback (most recent call last):
    rmls.core.errors.InputError: ... is a device; give the name of a file.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is {_kind(mode)}; give the name of a file.")
    return target


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFLNK: "a link in a circle",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


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
        # Closing alone leaves it to a child that was forked meanwhile, for as long as that lives.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def name_locked(path: Path) -> Iterator[None]:
    """Let one process at a time change what stands at ``path``, where locks exist.

    The lock is the hidden file ``.name.lock`` beside it, which is gone afterwards; one that a kill
    has left is taken over. Locks of others, such as one on the folder, do not matter.

    Raises
    ------
    TimeoutError
        Where another process holds it for a minute.
    """
    lock = _sibling(path, "lock")
    descriptor = _wait_for(lock)
    try:
        yield
    finally:
        # Before it is released: who takes it then must find that the name is free.
        with suppress(OSError):
            os.unlink(lock)
        unlock(descriptor)


def _wait_for(lock: Path) -> int | None:
    end, pause = time.monotonic() + PATIENCE, 0.001
    while True:
        with suppress(BlockingIOError):
            descriptor = lock_file(lock, wait=False)
            if descriptor is None or _is_at(descriptor, lock):
                return descriptor
            # Its holder has deleted it since it was opened: the next one is another file.
            unlock(descriptor)
            continue
        if time.monotonic() > end:
            reason = f"another process has held {lock} for {PATIENCE:.0f} s; end it first"
            raise TimeoutError(errno.ETIMEDOUT, reason)
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
