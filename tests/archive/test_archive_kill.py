"""A process that dies while writing leaves the old version or the new one, whole."""

from __future__ import annotations

import builtins
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from other_processes import kills

from rmls.archive import read_archive, write_archive, writing
from rmls.archive.writing import incoming

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL"),
]

DIED = 77
STEPS = ("mkdir", "open", "fsync", "rename", "unlink", "rmdir", "close")
KILLS = 15


def write_version(path: Path, version: int) -> None:
    write_archive(path, {"version": version}, {"v": np.full(20_000, version)})


def read_version(path: Path) -> int:
    archive = read_archive(path)
    version = archive.manifest["version"]
    assert (archive.arrays["v"] == version).all()
    assert len(archive.arrays["v"]) == 20_000
    return int(version)


def die_at(step: int) -> None:
    """Make the process end without any cleaning up at its ``step``-th call of the system."""
    done = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal done
            if done == step:
                os._exit(DIED)
            done += 1
            return function(*args, **options)

        return call

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    builtins.open = counted(builtins.open)


def write_and_die(path: Path, version: int, step: int) -> bool:
    """Write in a child that dies at ``step``; tell whether it died."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            die_at(step)
            write_version(path, version)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, DIED)
    return code == DIED


@pytest.mark.parametrize("existing", [True, False])
def test_dying_at_every_single_step_leaves_a_whole_version(tmp_path: Path, existing: bool) -> None:
    path, step, seen = tmp_path / "model", 0, set()
    while True:
        for entry in sorted(tmp_path.iterdir()):
            writing.remove_archive(entry)
        assert list(tmp_path.iterdir()) == []
        if existing:
            write_version(path, 1)
        died = write_and_die(path, 2, step)
        if existing or path.exists():
            seen.add((read_version(path), path.exists()))
        write_version(path, 3)
        assert read_version(path) == 3
        assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
        if not died:
            break
        step += 1
    assert step > 10
    assert seen == ({(1, True), (2, False), (2, True)} if existing else {(2, True)})


def test_a_second_death_right_after_the_first_is_survived(tmp_path: Path) -> None:
    path, step = tmp_path / "model", 0
    write_version(path, 1)
    for _ in range(40):
        version = read_version(path)
        write_and_die(path, version + 1, step % 23)
        assert read_version(path) in (version, version + 1)
        step += 7


@pytest.mark.parametrize("step", range(0, 36, 3))
def test_another_writer_that_dies_meanwhile_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    path, write_files = tmp_path / "model", writing._write_files
    write_version(path, 1)

    def disturbed(*args: Any) -> None:
        monkeypatch.undo()
        write_files(*args)
        write_and_die(path, 2, step)

    monkeypatch.setattr(writing, "_write_files", disturbed)
    write_version(path, 3)
    assert read_version(path) == 3
    write_version(path, 4)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_killing_a_writer_at_random_moments_leaves_a_whole_version(tmp_path: Path) -> None:
    path = tmp_path / "model"
    write_version(path, 0)
    killed = kills(lambda: write_version(path, read_version(path) + 1), KILLS, longest=0.1)
    versions = [0, *(read_version(path) for _ in killed)]
    assert versions == sorted(set(versions))
    write_version(path, versions[-1] + 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_the_next_version_is_read_where_the_name_is_free(tmp_path: Path) -> None:
    path = tmp_path / "model"
    write_version(path, 4)
    path.rename(incoming(path))
    assert read_version(path) == 4
    with pytest.raises(ValueError, match="exists"):
        write_archive(path, {}, {}, overwrite=False)
    assert read_version(path) == 4
    assert path.exists()


def test_readers_and_two_writers_never_meet_half_a_version(tmp_path: Path) -> None:
    path, stop, failures = tmp_path / "model", threading.Event(), []
    write_version(path, 0)

    def write_on(start: int) -> None:
        version = start
        try:
            while not stop.is_set():
                version += 2
                write_version(path, version)
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=write_on, args=(start,)) for start in (0, 1)]
    for writer in writers:
        writer.start()
    seen: Counter[int] = Counter()
    try:
        # However slow the writers are, several of their versions are read.
        while (seen.total() < 200 or len(seen) < 4) and not failures:
            seen[read_version(path)] += 1
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert failures == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
