"""Run one adapter on one problem and write what came of it: the half inside a peer's environment.

    python worker.py --adapter FILE --problem FILE --result FOLDER --threads N --options JSON

Needs numpy and scipy only; what else it imports, the adapter brings.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import resource
import time
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import numpy as np
import scipy
from exchange import read_problem, write_json, write_rankings

DEPTH = 50


def load_adapter(path, threads, folder, options):
    """Import the adapter file, as a module that cannot shadow the peer it is named after."""
    spec = importlib.util.spec_from_file_location(f"adapter_of_{Path(path).stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make(threads, folder, **options)


def cpu_seconds():
    """CPU time of this process, all its threads, and the children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def timed(report, name):
    """Record wall and CPU seconds of a block."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield
    report[f"{name}_cpu_seconds"] = cpu_seconds() - cpu
    report[f"{name}_seconds"] = time.perf_counter() - wall


def memory_bytes(field):
    """Read a line of the process's status: VmHWM is its peak, VmRSS what it has now.

    ``ru_maxrss`` also counts what the parent had when it started this process.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def folder_bytes(folder):
    """Size of all files under a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def find_version(distributions):
    """Return name and version of the first distribution that is installed."""
    installed = {found.metadata["Name"]: found.version for found in metadata.distributions()}
    names = [name for name in distributions if name in installed]
    return f"{names[0]} {installed[names[0]]}" if names else "unknown"


def warm_up(adapter):
    """Warm an adapter up; return the report that this begins."""
    report = {}
    with timed(report, "warm_up"):
        adapter.warm_up()
    return report


def measure(adapter, problem, folder):
    """Train and predict; return the report and the rankings of test and sample rows."""
    report = warm_up(adapter)
    k = min(DEPTH, problem.Y_train.shape[1])
    with timed(report, "convert"):
        data = adapter.convert_training(problem.X_train, problem.Y_train)
    report["start_bytes"] = memory_bytes("VmRSS")
    with timed(report, "train"):
        adapter.train(data)
    rows = adapter.convert_rows(problem.X_test)
    with timed(report, "predict"):
        predicted = adapter.predict(rows, k)
    report["peak_bytes"] = memory_bytes("VmHWM")
    test = adapter.read_ranking(predicted)
    saved = Path(folder, "model")
    saved.mkdir()
    adapter.save(saved)
    report["model_bytes"] = folder_bytes(saved)
    rows = adapter.convert_rows(problem.X_train[problem.sample])
    return report, {"test": test, "sample": adapter.read_ranking(adapter.predict(rows, k))}


def run_adapter(title, read_problem, measure):
    """Do what the command line asks for; ``measure`` gives a report and named rankings."""
    parser = argparse.ArgumentParser(description=title)
    for name in ("--adapter", "--problem", "--result"):
        parser.add_argument(name, required=True, type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", type=json.loads, default={})
    options = parser.parse_args()
    problem = read_problem(options.problem)
    adapter = load_adapter(options.adapter, options.threads, options.result, options.options)
    report, rankings = measure(adapter, problem, options.result)
    write_rankings(options.result / "rankings.npz", **rankings)
    report["version"] = find_version(adapter.distributions)
    report["settings"] = adapter.settings()
    report["versions"] = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    write_json(options.result / "report.json", report)


if __name__ == "__main__":
    run_adapter(__doc__.splitlines()[0], read_problem, measure)
