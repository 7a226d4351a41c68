"""Work on blocks of rows by several threads, each with one thread of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

JOBS_PER_THREAD = 8

Indices = NDArray[np.int64]
Result = TypeVar("Result")


@cache
def _controller() -> Any:
    """Return the controller of the libraries that are loaded; looking for them takes a while."""
    return ThreadpoolController()


def for_blocks(
    work: Callable[[int, int], Any], n_rows: int, size: int, n_threads: int
) -> list[Any]:
    """Call ``work(start, stop)`` for blocks of at most ``size`` rows; returns what it returned.

    The products of matrices inside use one thread each: two of them side by side need no locks,
    and what comes out does not depend on the number of threads.

    Examples
    --------
    >>> for_blocks(lambda start, stop: stop - start, 5, 2, 1)
    [2, 2, 1]
    """
    starts = range(0, n_rows, size)
    stops = [min(start + size, n_rows) for start in starts]
    with _controller().limit(limits=1, user_api="blas"):
        if n_threads == 1 or len(stops) < 2:
            return [work(start, stop) for start, stop in zip(starts, stops, strict=True)]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work, starts, stops))


def map_on_threads(
    work: Callable[[Indices], list[Result]], items: Indices, n_threads: int
) -> list[Result]:
    """Call ``work`` on parts of ``items``, on several threads, and join the lists it returns."""
    if n_threads == 1 or len(items) < 2:
        return work(items)
    # Neighbouring labels may differ much in their rows: small parts keep all threads busy.
    parts: list[Any] = np.array_split(items, min(len(items), JOBS_PER_THREAD * n_threads))
    with ThreadPoolExecutor(n_threads) as pool:
        return [result for results in pool.map(work, parts) for result in results]
