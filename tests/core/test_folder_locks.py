"""Locks keep others out until they are released, or their process dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rmls.core import files as locks
from rmls.core.files import lock_file, lock_folder, name_locked, unlock

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


def test_the_block_holds_the_lock_and_leaves_nothing(tmp_path: Path) -> None:
    with name_locked(tmp_path / "model"), pytest.raises(BlockingIOError):
        lock_file(tmp_path / ".model.lock", wait=False)
    assert list(tmp_path.iterdir()) == []
    with name_locked(tmp_path / "model"), name_locked(tmp_path / "other"):
        pass


def test_a_name_that_is_held_is_told_after_some_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    with (
        name_locked(tmp_path / "model"),
        pytest.raises(TimeoutError, match=r"another process has held .*\.model\.lock"),
        name_locked(tmp_path / "model"),
    ):
        pass
    with name_locked(tmp_path / "model"):
        pass


def test_one_at_a_time_changes_a_name(tmp_path: Path) -> None:
    inside, most = [0], []

    def work() -> None:
        for _ in range(50):
            with name_locked(tmp_path / "model"):
                inside[0] += 1
                most.append(inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 200
    assert max(most) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_lock_is_released_though_a_forked_child_lives_on(tmp_path: Path) -> None:
    held = lock_file(tmp_path / "lock", wait=False)
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        unlock(held)
        unlock(lock_file(tmp_path / "lock", wait=False))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_without_locks_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    assert lock_folder(tmp_path, wait=False) is None
    monkeypatch.setattr(locks, "fcntl", None)
    assert lock_file(tmp_path / "lock", wait=False) is None
    unlock(None)
