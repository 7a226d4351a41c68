"""Threads and memory: what a run may use, and what it will need."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path

from rmls.core.errors import InputError

GIB = 1 << 30


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: None is 1, -1 all cores, -2 all but one.

    Examples
    --------
    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise InputError(f"n_jobs must be a whole number or None; got {n_jobs!r}.")
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; use None for one thread, -1 for all cores.")
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) + 1 + n_jobs)


def available_memory() -> int | None:
    """Return the bytes that can be allocated now, or None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def require_memory(needed: int, purpose: str, way_out: str) -> None:
    """Raise a sentence when ``needed`` bytes cannot be had; ``way_out`` says what to do instead."""
    available = available_memory()
    if available is not None and needed > available:
        raise InputError(
            f"{purpose} needs {needed / GIB:.1f} GiB of memory but {available / GIB:.1f} GiB "
            f"is available; {way_out}."
        )
