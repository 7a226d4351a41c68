"""Start a worker for one peer and one problem, and turn whatever happens into a result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalogue import Peer
from environments import last_error_line
from exchange import Ranked, read_json, read_ranking

WORKER = Path(__file__).resolve().parent / "worker.py"
THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@dataclass(frozen=True)
class Outcome:
    """What one run gave: a report and two rankings, or a failure."""

    failure: str = ""
    report: dict[str, Any] = field(default_factory=dict)
    test: Ranked | None = None
    sample: Ranked | None = None


def run_peer(
    peer: Peer, python: str, problem: Path, folder: Path, threads: int, timeout: float
) -> Outcome:
    """Run a peer in a process of its own; a crash or a timeout is an outcome, not an error."""
    command = worker_command(WORKER, peer, python, problem, folder, threads)
    failure = run_worker(command, folder / "log.txt", environment(threads, peer), timeout)
    if failure:
        return Outcome(failure)
    rankings = folder / "rankings.npz"
    return Outcome(
        report=read_json(folder / "report.json"),
        test=read_ranking(rankings, "test"),
        sample=read_ranking(rankings, "sample"),
    )


def worker_command(
    worker: Path, peer: Peer, python: str, problem: Path, folder: Path, threads: int
) -> list[str]:
    """Return the command that runs a peer, and make the folder that it writes to."""
    folder.mkdir(parents=True)
    command = [python or sys.executable, str(worker)]
    command += ["--adapter", str(peer.adapter), "--problem", str(problem)]
    command += ["--result", str(folder), "--threads", str(threads)]
    return [*command, "--options", json.dumps(peer.options)]


def environment(threads: int, peer: Peer) -> dict[str, str]:
    """Return the variables of the worker: the same number of threads for every library.

    Only rmls's own methods may see packages beside those of the environment.
    """
    variables = dict(os.environ)
    variables.update(dict.fromkeys(THREAD_SETTINGS, str(threads)))
    if peer.environment:
        variables.pop("PYTHONPATH", None)
        variables["PYTHONNOUSERSITE"] = "1"
    return variables


def describe_failure(status: int, output: str) -> str:
    """Say in a line how a worker ended."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return last_error_line(output)


def run_worker(command: list[str], log: Path, variables: dict[str, str], timeout: float) -> str:
    """Return how a worker failed, "" where it did not; leave no process behind."""
    with log.open("w") as output:
        # A session of its own, so that the worker's children end with it.
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=variables,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"timeout after {timeout:g} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return describe_failure(status, log.read_text(errors="replace")) if status else ""
