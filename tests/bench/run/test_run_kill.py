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
from bench_samples import RMLS_METHOD, TOML, quality, small_study, write_toml
from other_processes import strays, wait_until

from rmls.bench.run.measure import measure
from rmls.bench.run.store import RESULTS, read_results

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/proc/self/environ").exists(), reason="looks for stray processes in /proc"
    ),
]

MARK = "RMLS_TEST_STUDY"
FEWER_FITS = TOML.replace("[0, 1]", "[0]").replace("[3, 5]", "3").replace("= 3\n", "= 5\n", 1)
N_RESULTS = 5 * (2 + 1)


@pytest.fixture(scope="module")
def fit_seconds() -> float:
    """How long a first fit takes on this machine, as busy as it is."""
    start = time.perf_counter()
    measure(small_study(RMLS_METHOD).fits()[0])
    return time.perf_counter() - start


@pytest.fixture(scope="module")
def limit(fit_seconds: float) -> float:
    """Seconds after which a wait has failed: what is waited for takes some thirty fits' time."""
    return 60 + 100 * fit_seconds


def start(config: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rmls", "bench", "run", str(config), "--out", str(out)],
        env={**os.environ, MARK: str(out)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background lets its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def left_running(out: Path) -> list[int]:
    """Return the processes that were started for the study and still run."""
    return strays(f"{MARK}={out}")


def count_lines(out: Path) -> int:
    path = out / RESULTS
    return path.read_bytes().count(b"\n") if path.exists() else 0


def finish(process: subprocess.Popen[str], limit: float) -> None:
    _, errors = process.communicate(timeout=limit)
    assert process.returncode == 0, errors


def test_killed_three_times_it_ends_with_the_same_results(
    tmp_path: Path, fit_seconds: float, limit: float
) -> None:
    config = write_toml(tmp_path, FEWER_FITS)
    chance = random.Random(5)
    out = tmp_path / "killed"
    kept = 0
    for _ in range(3):
        process = start(config, out)
        assert wait_until(lambda before=kept: count_lines(out) > before, limit)
        # Any moment of the next fit: before it, inside it, or while its result is written.
        time.sleep(chance.random() * min(fit_seconds, 0.5))
        process.kill()
        process.communicate()
        assert wait_until(lambda: not left_running(out), limit), left_running(out)
        before, kept = kept, len(read_results(out))
        assert kept > before
    assert kept < N_RESULTS
    content = (out / RESULTS).read_bytes()
    untouched = content[: content.rfind(b"\n") + 1]
    for folder in (out, tmp_path / "whole"):
        finish(start(config, folder), limit)
    assert (out / RESULTS).read_bytes().startswith(untouched)
    assert count_lines(out) == len(read_results(out)) == N_RESULTS
    assert quality(read_results(out)) == quality(read_results(tmp_path / "whole"))
    assert (out / "report.html").is_file()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path, limit: float) -> None:
    out = tmp_path / "stopped"
    process = start(write_toml(tmp_path, FEWER_FITS), out)
    assert wait_until(lambda: count_lines(out) > 0, limit)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=limit)
    assert process.returncode == 130, errors
    assert "with the same command" in errors
    assert len(read_results(out)) >= 1
    assert wait_until(lambda: not left_running(out), limit), left_running(out)
