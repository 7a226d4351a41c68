"""Compile the kernels that many tests wait for, each in one process, before workers start."""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from places import REPOSITORY

# Long ones first; RMLSRanker trains an RMLS, whose kernels are there when its turn comes.
TASKS = (
    "RMLS",
    "ReverseMultiLabel",
    "WSABIE",
    "BMLPL",
    "RMLSRanker",
    "GFM",
    "COCOA",
    "MultiWindowKNN",
    "Calibrated",
    "IRUS",
    "LEML",
    "KNN",
)


def kernels_key() -> str:
    """Return what the compiled code depends on: sources, Python and numba."""
    import numba

    key = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for path in sorted((REPOSITORY / "src" / "rmls" / "kernels").rglob("*.py")):
        key.update(path.read_bytes())
    return key.hexdigest()


def use(name: str) -> None:
    """Fit an estimator and ask it everything, which compiles what it needs."""
    from model_samples import make, make_blocks

    X, Y = make_blocks()
    model = make(name).fit(X, Y)
    model.predict(X)
    model.rank(X, 3)
    model.decision_function(X)


def warm_kernels(n_processes: int) -> None:
    """Run all tasks on some processes; a failure is left to the tests to show."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, mp_context=context) as pool:
        for task in [pool.submit(use, name) for name in TASKS]:
            task.exception()
