"""Other processes: waiting for them, killing them, and finding those that were left behind."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def wait_until(happened: Callable[[], Any], limit: float) -> bool:
    """Return whether something happens before the time is over."""
    deadline = time.monotonic() + limit
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def kills(work: Callable[[], Any], n_kills: int, longest: float) -> Iterator[None]:
    """Fork a process that works on and on, kill it at a random moment, yield, and so on.

    It has worked once when it is killed, and has up to ``longest`` seconds to do so again.
    """
    moments = random.Random(0)
    for _ in range(n_kills):
        child = _work_on(work)
        time.sleep(moments.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        yield


def _work_on(work: Callable[[], Any]) -> int:
    """Start a process that works until it is killed; return its id when it has done so once."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            while True:
                work()
                os.write(writing, b"1")
        finally:
            os._exit(1)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return child


def strays(mark: str) -> list[int]:
    """Return the processes that still run and have a mark (``NAME=value``) in their environment."""
    everybody = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [each for each in everybody if mark in _read(each, "environ") and is_running(each)]


def is_running(process: int) -> bool:
    """Return whether a process is there and has not ended."""
    status = _read(process, "stat")
    return bool(status) and status[0].rpartition(")")[2].split()[0] != "Z"


def started(process: int) -> int:
    """Return when a process was started, in ticks of the kernel's clock."""
    # The 22nd field of all; the second, a name in brackets, may hold blanks.
    return int(_read(process, "stat")[0].rpartition(")")[2].split()[19])


def workers_of(process: int) -> list[int]:
    """Return the processes that a service has started to answer requests."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    # Another child of Python keeps the resources of all.
    return [
        each
        for each in map(int, children)
        if is_running(each) and any("spawn_main" in word for word in _read(each, "cmdline"))
    ]


def _read(process: int, name: str) -> list[str]:
    """Return the strings of a file about a process; none where it has ended."""
    try:
        return Path(f"/proc/{process}/{name}").read_text(errors="replace").split("\0")
    except OSError:
        return []
