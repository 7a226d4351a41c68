"""Processes that are killed at any moment: what was said to be saved is there, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from other_processes import strays, wait_until

import rmls
from rmls.archive import read_archive, write_archive
from rmls.bench.run.store import RESULTS, read_results
from rmls.datasets import Dataset, load, make_longtail, save

from ..cases import Case, Kind
from ..models.estimators import make, toy_data

PATIENCE = 120.0
MARK = "RMLS_FUZZ_STUDY"
STUDY = """
n_folds = 5
seeds = [0, 1]

[[experiment]]
datasets = [{ name = "small", longtail = { n = 120, d = 40, m = 12 } }]

[[experiment.method]]
method = "MostFrequent"

[[experiment.method]]
method = "RMLS"
params = { n_components = 3, max_iter = 2 }
"""


def _say(pipe: int, number: int) -> None:
    os.write(pipe, number.to_bytes(8, "little"))


class Child:
    """A forked process that does something and says so through a pipe."""

    def __init__(self, work: Callable[[Callable[[int], None]], None]) -> None:
        self._reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                null = os.open(os.devnull, os.O_WRONLY)
                for stream in (1, 2):
                    os.dup2(null, stream)
                work(lambda number: _say(writing, number))
            finally:
                os._exit(1)
        os.close(writing)

    def wait_for_first(self) -> int:
        """Return the first number that the child says."""
        return int.from_bytes(os.read(self._reading, 8), "little")

    def kill(self, after: float) -> int | None:
        """Kill it and return the last number that it said, None if it said none."""
        time.sleep(after)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        said = b""
        while chunk := os.read(self._reading, 1 << 16):
            said += chunk
        os.close(self._reading)
        return int.from_bytes(said[-8:], "little") if said else None


def write_version(path: Path, version: int) -> None:
    write_archive(path, {"version": version}, {"v": np.full(20_000, version)})


def read_version(path: Path) -> int:
    archive = read_archive(path)
    version = int(archive.manifest["version"])
    if len(archive.arrays["v"]) != 20_000 or not (archive.arrays["v"] == version).all():
        raise AssertionError(f"half of version {version}")
    return version


def run_save(case: Case) -> None:
    """Kill a process that saves one model after another."""
    kill_writer(case, case.folder / "model", write_version, read_version)


def run_data(case: Case) -> None:
    """Kill a process that saves one data set after another, with names that change."""
    ending = case.random.choice((".npz", ".arff", ".svm", ".xmc", ".rmls.gz"))
    kill_writer(case, case.folder / f"data{ending}", save_data, read_data)


def save_data(path: Path, version: int) -> None:
    m = 2 + version % 3
    X, Y = np.full((50, 3), version + 1), np.ones((50, m), dtype=int)
    save(Dataset(X, Y, label_names=[f"l{version}-{at}" for at in range(m)]), path)


def read_data(path: Path) -> int:
    data = load(path)
    version = int(data.X[0, 0]) - 1
    names = [f"l{version}-{at}" for at in range(2 + version % 3)]
    if data.X.nnz != 150 or (data.X.data != version + 1).any() or data.label_names != names:
        raise AssertionError(f"half of version {version}")
    return version


def kill_writer(
    case: Case, path: Path, write: Callable[[Path, int], None], read: Callable[[Path], int]
) -> None:
    write(path, 0)
    kept = sorted(entry.name for entry in case.folder.iterdir())

    def work(say: Callable[[int], None]) -> None:
        for version in range(1, 10**6):
            write(path, version)
            say(version)

    child = Child(work)
    first = child.wait_for_first()
    said = child.kill(case.random.uniform(0, 0.05)) or first
    try:
        found = read(path)
    except Exception as error:
        case.report(f"lost: {case.kind} {path.suffix}", f"said {said}: {error}")
        return
    if found < said:
        case.report(f"lost: {case.kind} {path.suffix}", f"said {said}, found {found}")
    write(path, found + 1)
    left = sorted(entry.name for entry in case.folder.iterdir())
    if left != kept:
        case.report(f"left behind: {case.kind} {path.suffix}", str(left))


def prepare_train(folder: Path) -> tuple[Path, float]:
    """Return a data file, and the seconds that training on it takes."""
    path = folder / "train.npz"
    if not path.exists():
        save(make_longtail(200, 60, 15, random_state=0), path)
    target = folder / f"timed-{os.getpid()}"
    began = time.monotonic()
    _finish(Child(lambda say: train(path, target, "RMLSRanker")))
    began = time.monotonic()
    _finish(Child(lambda say: train(path, target, "RMLSRanker")))
    return path, time.monotonic() - began


def _finish(child: Child) -> None:
    os.waitpid(child.pid, 0)


def train(data: Path, target: Path, method: str) -> None:
    from rmls.cli.app import app

    sizes = ("--set", "n_components=4", "--set", "max_iter=3")
    options = ("--method", method, *sizes, "--overwrite", "--quiet")
    app(["train", str(data), "-o", str(target), *options], standalone_mode=False)


def run_train(case: Case) -> None:
    """Kill `rmls train` at any moment of it, over an older model and without one."""
    data, seconds = case.prepared
    path, method = case.folder / "model", case.random.choice(("RMLS", "RMLSRanker", "KNN"))
    older = case.random.random() < 0.5
    X, Y = toy_data()
    if older:
        make("MostFrequent").fit(X, Y).save(path)

    def work(say: Callable[[int], None]) -> None:
        train(data, path, method)
        say(1)

    said = Child(work).kill(case.random.uniform(0, 1.2 * seconds))
    try:
        found = type(rmls.load(path)).__name__ if older or said or path.exists() else ""
    except Exception as error:
        case.report("lost: kill-train", f"said {said}, older {older}: {error}")
        return
    if said and found != method:
        case.report("lost: kill-train", f"{method} was said to be there; found {found}")
    make("MostFrequent").fit(X, Y).save(path)
    left = [entry.name for entry in case.folder.iterdir() if entry.name != "model"]
    if left:
        case.report("left behind: kill-train", str(left))


def prepare_bench(folder: Path) -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY)
    return path


def start_bench(config: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rmls", "bench", "run", str(config), "--out", str(out)],
        env={**os.environ, MARK: str(out)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def count_lines(out: Path) -> int:
    path = out / RESULTS
    return path.read_bytes().count(b"\n") if path.exists() else 0


def run_bench(case: Case) -> None:
    """Kill `rmls bench run`, and the run that goes on where it ended."""
    out = case.folder / "out"
    said, content = 0, b""
    for _ in range(2):
        process = start_bench(case.prepared, out)
        wait_until(
            lambda before=said, process=process: (
                count_lines(out) > before or process.poll() is not None
            ),
            PATIENCE,
        )
        time.sleep(case.random.uniform(0, 0.3))
        said = max(said, count_lines(out))
        process.kill()
        process.wait()
        if not wait_until(lambda: not strays(f"{MARK}={out}"), PATIENCE):
            case.report("left behind: kill-bench", f"processes {strays(f'{MARK}={out}')}")
        try:
            found = len(read_results(out))
        except Exception as error:
            case.report("lost: kill-bench", str(error))
            return
        after = (out / RESULTS).read_bytes()
        if found < said or not after.startswith(content):
            case.report("lost: kill-bench", f"{said} results were there, {found} are")
        content = after[: after.rfind(b"\n") + 1]


HAS_FORK = hasattr(os, "fork") and Path("/proc/self/environ").exists()
KINDS = [
    Kind("kill-save", "kills", run_save, weight=2),
    Kind("kill-data", "kills", run_data, weight=2),
    Kind("kill-train", "kills", run_train, prepare_train, weight=2),
    Kind("kill-bench", "kills", run_bench, prepare_bench),
]
if not HAS_FORK:
    KINDS = []
