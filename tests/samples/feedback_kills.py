"""Services that are killed while people give feedback, and what is left of it."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from other_processes import is_running, started, wait_until, workers_of
from patience import patience
from places import REPOSITORY
from serve_samples import TEXT, free_port, running

N_CLIENTS, N_WORKERS = 4, 3
# The longest time between a line that is acknowledged and the kill that follows it, in seconds.
LATEST = 0.05


@dataclass
class Kills:
    """What was acknowledged, what is in the file, and how often a request found nobody."""

    acknowledged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    n_failures: int = 0
    n_kills: int = 0
    found: list[str] = field(default_factory=list)

    @property
    def lost(self) -> set[str]:
        """Lines that were acknowledged and are not there."""
        return set(self.acknowledged) - set(self.found)

    @property
    def n_doubled(self) -> int:
        """Lines that are there more than once."""
        return len(self.found) - len(set(self.found))


def kill_workers(model: Path, feedback: Path, n_kills: int) -> Kills:
    """Kill the oldest of three workers again and again; the service starts others."""
    kills, draw, port = Kills(), random.Random(1), free_port()
    limit = patience(20)
    arguments = (str(model), "--feedback", str(feedback), "--workers", str(N_WORKERS), "-q")
    with running(*arguments, port=port) as (process, _), _people(kills, port):
        for _ in range(n_kills):
            _wait_for_lines(kills, limit)
            time.sleep(draw.uniform(0, LATEST))
            assert wait_until(lambda: len(workers_of(process.pid)) == N_WORKERS, limit)
            # One that has just been started would be killed before it has anything to lose.
            os.kill(min(workers_of(process.pid), key=started), signal.SIGKILL)
            kills.n_kills += 1
        _wait_for_lines(kills, limit)
    return _read(kills, feedback)


def kill_services(model: Path, feedback: Path, n_kills: int) -> Kills:
    """Kill all processes of a service, and start another one on the same file."""
    kills, draw, port = Kills(), random.Random(2), free_port()
    limit = patience(20)
    arguments = (str(model), "--feedback", str(feedback), "-q", "--workers")
    with _people(kills, port):
        for number in range(n_kills):
            # One process that does all, and now and then several.
            n_workers = "2" if number % 10 == 1 else "1"
            with running(*arguments, n_workers, port=port) as (process, _):
                _wait_for_lines(kills, limit)
                time.sleep(draw.uniform(0, LATEST))
                everybody = [process.pid, *workers_of(process.pid)]
                for each in everybody:
                    os.kill(each, signal.SIGKILL)
                kills.n_kills += 1
                process.wait()
                assert wait_until(lambda all=everybody: not any(map(is_running, all)), limit)
        with running(*arguments, "1", port=port):
            _wait_for_lines(kills, limit)
    return _read(kills, feedback)


def kill_forked(model: Path, feedback: Path, n_kills: int, whom: str) -> Kills:
    """Kill the oldest worker ("one"), or all of them, of a service whose workers start at once."""
    kills, draw, port = Kills(), random.Random(3), free_port()
    limit = patience(20)
    program = Path(__file__).with_name("forked_service.py")
    process = subprocess.Popen(
        [sys.executable, str(program), str(model), str(feedback), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with process, _people(kills, port):
        for _ in range(n_kills):
            _wait_for_lines(kills, limit)
            time.sleep(draw.uniform(0, LATEST))
            process.stdin.write(f"{whom}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            kills.n_kills += 1
        _wait_for_lines(kills, limit)
        process.stdin.close()
    return _read(kills, feedback)


def _wait_for_lines(kills: Kills, limit: float) -> None:
    before = len(kills.acknowledged)
    assert wait_until(lambda: len(kills.acknowledged) > before + 1, limit), "no line came"


@contextmanager
def _people(kills: Kills, port: int) -> Iterator[None]:
    """Let people give feedback meanwhile."""
    done = threading.Event()
    threads = [
        threading.Thread(target=_give, args=(kills, port, name, done.is_set))
        for name in range(N_CLIENTS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _give(kills: Kills, port: int, name: int, is_done: Callable[[], bool]) -> None:
    """Give feedback line by line; what fails is sent again with its id, as a client should."""
    number, limit = 0, patience(2)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit)
    while not is_done():
        told = {"text": TEXT * (1 + number % 50), "accepted": ["sea"], "id": f"{name}-{number}"}
        try:
            headers = {"content-type": "application/json"}
            connection.request("POST", "/v1/feedback", json.dumps(told), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()
            kills.n_failures += 1
            time.sleep(0.03)
            continue
        if answer.status in (200, 201):
            kills.acknowledged.append(str(told["id"]))
            number += 1
        else:
            kills.refused.append(text)
    connection.close()


def _read(kills: Kills, feedback: Path) -> Kills:
    kills.found = [json.loads(line)["id"] for line in feedback.read_bytes().splitlines()]
    return kills
