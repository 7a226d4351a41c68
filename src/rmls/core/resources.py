"""Threads and memory: what a run may use, what it needs, and work in parts on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rmls.core.errors import InputError
from rmls.core.words import size

JOBS_PER_THREAD = 8

Indices = NDArray[np.int64]
Part = TypeVar("Part")
Result = TypeVar("Result")


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
    # The cores of this process, which may be fewer than those of the machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) + 1 + n_jobs)


def available_memory() -> int | None:
    """Return the bytes that can be allocated now, or None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        # In kB, and with the caches that the system would give up; MemFree leaves them out.
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def require_memory(needed: int, purpose: str, way_out: str) -> None:
    """Raise a sentence when ``needed`` bytes cannot be had; ``way_out`` says what to do instead."""
    available = available_memory()
    if available is not None and needed > available:
        raise InputError(
            f"{purpose} needs {size(needed)} of memory but {size(available)} is available; "
            f"{way_out}."
        )


@cache
def _controller() -> Any:
    """Return the controller of the libraries that are loaded; looking for them takes a while."""
    return ThreadpoolController()


def run_parts(
    work: Callable[[Part], Result], parts: Iterable[Part], n_threads: int
) -> list[Result]:
    """Call ``work`` on every part, on several threads; returns what it returned, in order.

    Examples
    --------
    >>> run_parts(len, ["one", "three"], 2)
    [3, 5]
    """
    listed = list(parts)
    if n_threads == 1 or len(listed) < 2:
        return [work(part) for part in listed]
    # Threads share the arrays; kernels and BLAS run without the interpreter's lock.
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, listed))


def cut_blocks(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Return the bounds of blocks of at most ``size`` rows.

    Examples
    --------
    >>> cut_blocks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def for_blocks(
    work: Callable[[int, int], Result], n_rows: int, size: int, n_threads: int
) -> list[Result]:
    """Call ``work(start, stop)`` for blocks of at most ``size`` rows; returns what it returned.

    The products of matrices inside use one thread each: two of them side by side need no locks,
    and what comes out does not depend on the number of threads.

    Examples
    --------
    >>> for_blocks(lambda start, stop: stop - start, 5, 2, 1)
    [2, 2, 1]
    """
    with _controller().limit(limits=1, user_api="blas"):
        return run_parts(lambda block: work(*block), cut_blocks(n_rows, size), n_threads)


def map_on_threads(
    work: Callable[[Indices], list[Result]], items: Indices, n_threads: int
) -> list[Result]:
    """Call ``work`` on parts of ``items``, on several threads, and join the lists it returns."""
    if n_threads == 1 or len(items) < 2:
        return work(items)
    # Neighbouring labels may differ much in their rows: small parts keep all threads busy.
    parts: list[Any] = np.array_split(items, min(len(items), JOBS_PER_THREAD * n_threads))
    return [result for results in run_parts(work, parts, n_threads) for result in results]
