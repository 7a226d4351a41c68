"""Stratified folds: seconds, growth with the number of labels, and how even the labels are.

Prints, from one run on one machine: the time to compile; seconds for 5 folds of 100,000 rows with
1,000 labels; how the time of a pass grows when the label assignments double; and the share of even
labels (every fold holds its share of the label's rows rounded down or up) of shuffled folds, of
iterative stratification alone and of the swaps that follow, also for real data where it is at hand.

    python benchmarks/stratify.py [--folds 5] [--passes 0 20 50 100]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
from numba import __version__ as numba_version
from scipy import sparse
from sklearn.model_selection import KFold

from rmls.core.errors import RmlsError
from rmls.datasets import load, make_longtail
from rmls.imbalance import assign_folds, folds
from rmls.kernels.cpu.imbalance import stratify as kernels

REAL = ("yeast", "enron", "cooking", "debtags", "eurlex57k_4k", "tate", "debdeps", "delicious")
FIRST_CALL = """
import time, numpy as np
from rmls.imbalance import assign_folds
Y = np.random.default_rng(0).random((50, 9)) < 0.3
started = time.process_time()
assign_folds(Y, [0.5, 0.5])
print(time.process_time() - started)
"""


def seconds_of_first_call():
    """Return the seconds of a first call: without compiled kernels on disk, and with them."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", FIRST_CALL]
        return [float(subprocess.check_output(command, env=environment)) for _ in range(2)]


def timed(function, *arguments, **options):
    started = time.process_time()
    result = function(*arguments, **options)
    return time.process_time() - started, result


def count_by_fold(Y, assigned, n_folds):
    members = sparse.csr_matrix(
        (np.ones(len(assigned), np.int64), (assigned, np.arange(len(assigned)))),
        shape=(n_folds, len(assigned)),
    )
    counts = (members @ Y).toarray().T
    return counts[counts.sum(axis=1) > 0]


def describe(Y, assigned, n_folds):
    """Return the even labels, the rows that the worst is off, the labels missing from a fold.

    Labels with fewer rows than there are folds are not counted as missing.
    """
    counts = count_by_fold(Y, assigned, n_folds)
    totals = counts.sum(axis=1, keepdims=True)
    off = np.maximum(totals // n_folds - counts, counts - -(-totals // n_folds)).clip(0).max(axis=1)
    missing = ((counts == 0).any(axis=1) & (totals.ravel() >= n_folds)).sum()
    return f"{100 * (off == 0).mean():6.2f}%  {off.max():5d}  {missing:6d}"


def shuffle(Y, n_folds):
    assigned = np.empty(Y.shape[0], np.int64)
    for fold, (_, test) in enumerate(KFold(n_folds, shuffle=True, random_state=0).split(Y)):
        assigned[test] = fold
    return assigned


def compare(name, Y, n_folds, passes):
    print(f"\n{name}: {Y.shape[0]} rows, {Y.shape[1]} labels, {Y.nnz} assignments, {n_folds} folds")
    print("                     seconds     even    off  missing")
    seconds, assigned = timed(shuffle, Y, n_folds)
    print(f"shuffled            {seconds:8.2f}  {describe(Y, assigned, n_folds)}")
    shares = [1 / n_folds] * n_folds
    for n_passes in passes:
        seconds, assigned = timed(assign_folds, Y, shares, n_passes=n_passes)
        title = f"{n_passes} passes" if n_passes else "rarest label first"
        print(f"{title:<18}  {seconds:8.2f}  {describe(Y, assigned, n_folds)}", flush=True)


def seconds_of_steps(Y, n_folds, repeats=5):
    """Return the least seconds of the first assignment and of a pass."""
    shares = np.full(n_folds, 1 / n_folds)
    matrix, _ = folds._standardise(Y, np.random.default_rng(0))
    sizes = folds._round_sizes(shares, Y.shape[0])
    best = np.full(2, np.inf)
    for _ in range(repeats):
        labels, spread = folds._prepare(matrix, shares)
        queue = kernels.make_queue(np.diff(labels.label_start))
        waiting = np.full((n_folds, n_folds), kernels.NONE)
        first, _ = timed(kernels.assign_rarest_first, labels, spread, queue, sizes.copy())
        second, _ = timed(kernels.swap_rows, labels, spread, waiting, 0.0)
        best = np.minimum(best, [first, second])
    return best


def report_growth(n_folds):
    print("\nseconds of the first assignment and of one pass, 100,000 rows, 1,000 labels")
    before = None
    for labels_per_row in (5.0, 10.0, 20.0):
        Y = make_longtail(100_000, 10, 1000, labels_per_row=labels_per_row, features_per_row=1.0).Y
        steps = seconds_of_steps(Y, n_folds)
        line = f"{Y.nnz:9d} assignments  {steps[0]:.3f}  {steps[1]:.3f}"
        if before is not None:
            grown = steps / before[1]
            line += f"  ratios {grown[0]:.2f} and {grown[1]:.2f} for {Y.nnz / before[0]:.2f} times"
        print(line, flush=True)
        before = Y.nnz, steps


def load_labels(name):
    try:
        return load(name).Y
    except RmlsError:
        print(f"\n{name} is not at hand")
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--passes", type=int, nargs="+", default=[0, 20, 50, 100])
    options = parser.parse_args()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba_version}"
    print(f"{versions}, {platform.machine()}, seed 0; seconds are CPU time of one thread")
    cold, warm = seconds_of_first_call()
    print(f"first call, nothing compiled {cold:.1f} s; compiled before {warm:.1f} s")
    assign_folds(np.eye(4), [0.5, 0.5])
    Y = make_longtail(100_000, 10, 1000, features_per_row=1.0).Y
    compare("long tail", Y, options.folds, options.passes)
    Y = make_longtail(100_000, 10, 1000, labels_per_row=20.0, features_per_row=1.0).Y
    compare("long tail, 20 labels a row", Y, options.folds, options.passes)
    report_growth(options.folds)
    for name in REAL:
        Y = load_labels(name)
        if Y is not None:
            compare(name, Y, options.folds, options.passes)


if __name__ == "__main__":
    main()
