"""A small model of texts in a folder, and services around it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import patience
from places import REPOSITORY

from rmls import RMLSRanker, TextRanker

SUBJECTS = {
    "sea": "waves on the sea with a ship",
    "harbour": "a ship in the harbour of the old town",
    "bridge": "a stone bridge over the river",
    "river thames": "the river thames near london",
    "horse": "a horse on a green field",
    "garden party": "people in a garden with flowers",
}
TEXT = "a ship on the sea near a bridge"


def train(**columns: str) -> TextRanker:
    """Return a model that has seen every subject a few times, some of them more often."""
    texts, labels = [], []
    names = list(SUBJECTS)
    for number in range(60):
        # The first subjects are the most frequent ones.
        own = names[min(number % 10, number % len(names))]
        other = names[(number * 7) % len(names)]
        texts.append(f"{SUBJECTS[own]} {SUBJECTS[other]} {number}")
        # Some rows have a label that nothing in them speaks for, so that nothing is certain.
        wrong = names[number % 5] if number % 4 == 0 else own
        labels.append(sorted({own, other, wrong}))
    estimator = RMLSRanker(8, max_iter=2, keep_rows=True)
    X: Any = {"title": texts, "body": texts[::-1]} if columns else texts
    model = TextRanker(estimator).fit(X, labels)
    model.training_record_ = {"data": "sample", "hashes": "0" * 10_000}
    return model


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def running(
    *arguments: str, port: int | None = None, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run `rmls serve` in a process of its own until it answers; end it afterwards."""
    port = free_port() if port is None else port
    command = [sys.executable, "-m", "rmls", "serve", *arguments, "--port", str(port)]
    source = os.pathsep.join([str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
    values = {**os.environ, "PYTHONPATH": source, "RMLS_TOKEN": "", **environment}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=values
    )
    try:
        wait_until_live(process, port)
        yield process, port
    finally:
        process.terminate()
        process.communicate(timeout=patience(5))


def wait_until_live(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a service answers."""
    end = time.monotonic() + patience(10)
    while time.monotonic() < end:
        if process.poll() is not None:
            assert process.stderr is not None
            raise AssertionError(process.stderr.read().decode())
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the service does not answer")


def resident_bytes(process: int) -> int:
    """Return how much memory a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def save(folder: Path, model: TextRanker) -> Path:
    """Write a model to a folder."""
    model.save(folder)
    return folder
