"""Resamplers: seconds, memory and what they do to the labels, on every data set at hand.

Prints a Markdown table with one row for every data set and method, default settings. Each runs in a
process of its own on one thread, with kernels compiled before. Seconds are those of `fit_resample`
alone; memory is what a second call allocates at most, its result included.

    python benchmarks/resamplers.py [--datasets enron delicious] [--methods MLROS MLSMOTE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import scipy

from rmls import imbalance
from rmls.core.errors import RmlsError
from rmls.datasets import load

REAL = (
    "yeast",
    "enron",
    "rcv1sub1",
    "cooking",
    "debtags",
    "delicious",
    "eurlex57k_4k",
    "tate",
    "debdeps",
    "eurlex57k",
)
SETTINGS = {
    **{name: {} for name in imbalance.RESAMPLERS},
    "MLRUS, in turns": {"draw": "labels"},
}
TIME_LIMIT = 600
MIB = 1 << 20
WARM_UP_ROWS = 60


def make(title):
    return getattr(imbalance, title.partition(",")[0])(**SETTINGS[title])


def peak(function, *arguments):
    """Return the most bytes of arrays that a call holds at a time, its result included."""
    tracemalloc.start()
    function(*arguments)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def compile_kernels(title):
    rng = np.random.default_rng(0)
    Y = rng.random((WARM_UP_ROWS, 6)) < [0.9, 0.5, 0.3, 0.2, 0.1, 0.1]
    X = rng.random((WARM_UP_ROWS, 4)).astype(np.float32)
    make(title).fit_resample(X, Y)


def figures(Y):
    report = imbalance.describe(Y)
    counts = report.label_counts[report.label_counts > 0]
    return {
        "rows": report.n_samples,
        "cardinality": report.cardinality,
        "mean_ir": report.mean_ir,
        "cvir": report.cvir,
        "scumble": report.scumble,
        "rarest": int(counts.min()),
    }


def work(name, title):
    """Run one method on one data set; print the result as JSON."""
    compile_kernels(title)
    data = load(name)
    started = time.perf_counter()
    _, Y = make(title).fit_resample(data.X, data.Y)
    seconds = time.perf_counter() - started
    memory = peak(make(title).fit_resample, data.X, data.Y)
    result = {"seconds": seconds, "memory": memory, **figures(Y)}
    print(json.dumps(result))


def run(name, title):
    command = [sys.executable, __file__, "--work", name, title]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def show(title, found):
    if found is None:
        return f"| {title} | more than {TIME_LIMIT} | | | | | | | |"
    values = (
        f"{found['seconds']:.2f}" if "seconds" in found else "",
        f"{found['memory'] / MIB:.0f}" if "memory" in found else "",
        f"{found['rows']:,}",
        f"{found['cardinality']:.2f}",
        f"{found['mean_ir']:,.1f}",
        f"{found['cvir']:.2f}",
        f"{found['scumble']:.3f}",
        f"{found['rarest']:,}",
    )
    return f"| {title} | {' | '.join(values)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=REAL)
    parser.add_argument("--methods", nargs="+", default=SETTINGS, choices=SETTINGS)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    print(f"{versions}, SciPy {scipy.__version__}, {platform.machine()}, one thread, seed 0")
    for name in options.datasets:
        try:
            data = load(name)
        except RmlsError:
            print(f"\n{name} is not at hand")
            continue
        sizes = f"{data.n_features:,} features, {data.n_labels:,} labels, {data.X.nnz:,} values"
        print(f"\n{name}: {sizes}, {data.Y.nnz:,} assignments\n")
        print("| | seconds | MiB | rows | labels/row | MeanIR | CVIR | SCUMBLE | rarest |")
        print("|---|---|---|---|---|---|---|---|---|")
        print(show("before", figures(data.Y)))
        for title in options.methods:
            print(show(title, run(name, title)), flush=True)


if __name__ == "__main__":
    main()
