"""Locks keep others out until they are released, or their process dies."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from rmls.core import files as locks
from rmls.core.files import folder_locked, lock_file, lock_folder, unlock

pytest.importorskip("fcntl")

HOLD = """
import sys
from pathlib import Path
from rmls.core.files import lock_folder
held = lock_folder(Path(sys.argv[1]), wait=True)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("take", [lock_folder, lock_file])
def test_a_held_lock_turns_others_away_until_it_is_released(take, tmp_path: Path) -> None:
    path = tmp_path if take is lock_folder else tmp_path / "lock"
    held = take(path, wait=False)
    with pytest.raises(BlockingIOError):
        take(path, wait=False)
    unlock(held)
    unlock(take(path, wait=False))


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError):
            lock_folder(tmp_path, wait=False)
        process.kill()
        process.wait()
    unlock(lock_folder(tmp_path, wait=False))


def test_a_folder_that_is_gone_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lock_folder(tmp_path / "gone", wait=False)
    assert list(tmp_path.iterdir()) == []


def test_the_block_holds_the_lock(tmp_path: Path) -> None:
    with folder_locked(tmp_path), pytest.raises(BlockingIOError):
        lock_folder(tmp_path, wait=False)
    unlock(lock_folder(tmp_path, wait=False))


def test_without_locks_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    assert lock_folder(tmp_path, wait=False) is None
    monkeypatch.setattr(locks, "fcntl", None)
    assert lock_file(tmp_path / "lock", wait=False) is None
    unlock(None)
