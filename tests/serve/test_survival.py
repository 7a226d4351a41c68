"""Kills, ten times the load, and models that are replaced: nobody loses what was acknowledged."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from feedback_kills import Kills, kill_forked, kill_services, kill_workers
from other_processes import is_running, wait_until, workers_of
from patience import patience
from serve_samples import TEXT, running, save, train

import rmls

# Seconds after which a request hangs; none takes one.
LIMIT = 120
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc"),
]


@pytest.mark.parametrize(
    ("kill", "n_kills"),
    [
        (kill_workers, 3),
        (kill_services, 3),
        (partial(kill_forked, whom="one"), 30),
        (partial(kill_forked, whom="all"), 30),
    ],
    ids=["workers", "services", "forked workers", "forked services"],
)
def test_what_was_acknowledged_is_there_once_whoever_is_killed(
    folder: Path, tmp_path: Path, kill: Callable[[Path, Path, int], Kills], n_kills: int
) -> None:
    kills = kill(folder, tmp_path / "feedback.jsonl", n_kills)
    assert kills.n_kills == n_kills
    assert len(kills.acknowledged) > n_kills
    assert kills.refused == []
    assert kills.lost == set()
    assert kills.n_doubled == 0


def test_workers_end_with_their_service(folder: Path) -> None:
    with running(str(folder), "--workers", "2", "-q") as (process, _):
        workers = workers_of(process.pid)
        assert len(workers) == 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert wait_until(lambda: not any(map(is_running, workers)), patience(5))


def test_models_are_replaced_without_dropping_a_request_of_any_worker(tmp_path: Path) -> None:
    path = save(tmp_path / "art", train())
    done, failures, n_answers = threading.Event(), [], Counter[str]()
    with running(str(path), "--workers", "2", "-q") as (_, port):

        def keep_asking(name: str) -> None:
            try:
                while not done.is_set():
                    found = ask(port, "/v1/suggest", {"text": TEXT})
                    n_answers[name] += len(found["results"])
            except OSError as error:
                failures.append(repr(error))

        threads = [threading.Thread(target=keep_asking, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        model, limit = rmls.load(path, mmap=False), patience(5)
        for number in range(5):
            model.add_labels([f"label {number}"]).save(path)
            assert wait_until(lambda n=number: has_label(port, f"label%20{n}"), limit)
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert min(n_answers.values()) > 5


def has_label(port: int, label: str) -> bool:
    """Return whether both workers know a label; which of them answers is chance."""
    try:
        return all(ask(port, f"/v1/labels/{label}") for _ in range(12))
    except OSError:
        return False


def ask(port: int, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.load(answer)


def test_too_many_at_once_are_refused_and_told_when_to_come_again(folder: Path) -> None:
    limit = patience(10)
    with running(str(folder), "-q") as (_, port):
        # In a thread of its own: a browser's tests leave a loop running in this one.
        with ThreadPoolExecutor(1) as pool:
            answers = pool.submit(lambda: asyncio.run(flood(port, 1000, limit))).result()
        assert {status for status, _ in answers} == {200, 429}
        for status, head in answers:
            assert status == 200 or b"retry-after: 1" in head
        # Nothing of the flood is left: all who come now are answered.
        for _ in range(20):
            assert ask(port, "/v1/suggest", {"text": TEXT})


async def flood(port: int, n_requests: int, limit: float) -> list[tuple[int, bytes]]:
    """Send many requests at the same moment; return the statuses and heads of the answers."""
    body = json.dumps({"texts": [TEXT] * 100, "explain": False}).encode()
    head = "POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sent = f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    async def one() -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        answer = await asyncio.wait_for(reader.read(), limit)
        writer.close()
        return int(answer.split(b" ", 2)[1]), answer.partition(b"\r\n\r\n")[0]

    return await asyncio.gather(*(one() for _ in range(n_requests)))
