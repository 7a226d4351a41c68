"""Killed at any moment and started again, a study ends with the same results and no stray runs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_samples import TOML_RESULTS, quality, write_toml

from rmls.bench.store import RESULTS, read_results

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="looks for stray processes in /proc"
)

MARK = "RMLS_TEST_STUDY"


def start(config: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rmls", "bench", "run", str(config), "--out", str(out), "-q"]
    return subprocess.Popen(
        command,
        env={**os.environ, MARK: str(out)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def strays(out: Path) -> list[int]:
    """Processes that were started for the study and still run."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
            state = (
                (entry / "stat").read_text().rpartition(")")[2].split()[0] if environment else ""
            )
        except OSError:
            continue
        if f"{MARK}={out}".encode() in environment and state != "Z":
            found.append(int(entry.name))
    return found


def wait_until_gone(out: Path, seconds: float = 10.0) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := strays(out)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def wait_for_results(out: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        path = out / RESULTS
        if path.exists() and path.read_bytes().count(b"\n") >= number:
            return
        time.sleep(0.005)


def test_killed_three_times_it_ends_with_the_same_results(tmp_path: Path) -> None:
    config = write_toml(tmp_path)
    chance = random.Random(5)
    out = tmp_path / "killed"
    kept = 0
    for _ in range(3):
        process = start(config, out)
        wait_for_results(out, kept + chance.randint(1, 4), process)
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert wait_until_gone(out) == []
        before = kept
        kept = len(read_results(out))
        assert kept >= before
    assert 3 <= kept < TOML_RESULTS
    untouched = (out / RESULTS).read_bytes()
    untouched = untouched[: untouched.rfind(b"\n") + 1]
    end = start(config, out)
    _, errors = end.communicate(timeout=120)
    assert end.returncode == 0, errors
    whole = start(config, tmp_path / "whole")
    _, errors = whole.communicate(timeout=120)
    assert whole.returncode == 0, errors
    assert (out / RESULTS).read_bytes().startswith(untouched)
    lines = (out / RESULTS).read_text().splitlines()
    assert len(lines) == len(read_results(out)) == TOML_RESULTS
    assert quality(read_results(out)) == quality(read_results(tmp_path / "whole"))
    assert (out / "report.html").is_file()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    config = write_toml(tmp_path)
    out = tmp_path / "stopped"
    command = [sys.executable, "-m", "rmls", "bench", "run", str(config), "--out", str(out)]
    process = subprocess.Popen(
        command,
        env={**os.environ, MARK: str(out)},
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background lets its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for_results(out, 1, process)  # type: ignore[arg-type]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "with the same command" in errors
    assert len(read_results(out)) >= 1
    assert wait_until_gone(out) == []
