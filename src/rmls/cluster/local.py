"""The threads of this machine as a cluster: nothing travels, everything else is the same."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np

from rmls.cluster.engine import LOCAL, Batch, Shared, Spent, current_usage
from rmls.core.resources import THREAD_LIMITS


class LocalEngine:
    """Threads of this process; kernels run without the interpreter's lock."""

    def __init__(self, n_threads: int) -> None:
        self.n_workers, self.usage = n_threads, current_usage()
        self._numbers = itertools.count()
        self._limit = THREAD_LIMITS.at_most(1)
        self._limit.__enter__()
        self._pool = ThreadPoolExecutor(n_threads, "rmls", THREAD_LIMITS.hold_worker)

    def share(self, value: Any) -> Shared:
        """Return the value itself: threads see all."""
        return Shared(value, 0, next(self._numbers))

    def map(
        self, work: Callable[..., Any], parts: Sequence[Any], *shared: Shared, memory: int = 0
    ) -> Batch:
        """Start the parts."""
        values = [each.value for each in shared]
        tickets = [self._pool.submit(_measured, work, part, values) for part in parts]
        return Batch(work, parts, shared, tickets, memory, {})

    def gather(self, batch: Batch, done: Callable[[int, Any], None] | None = None) -> list[Any]:
        """Return what the parts have returned."""
        numbers = {ticket: number for number, ticket in enumerate(batch.tickets)}
        found: list[Any] = [None] * len(numbers)
        try:
            for ticket in as_completed(numbers):
                result, spent = ticket.result()
                self.usage.add(spent, batch, 0)
                found[numbers[ticket]] = result
                if done is not None:
                    done(numbers[ticket], result)
        except BaseException:
            for ticket in numbers:
                ticket.cancel()
            raise
        return found

    def all_reduce(self, batch: Batch, combine: Callable[[list[Any]], Any]) -> Shared:
        """Combine what all parts have returned."""
        return self.share(combine(self.gather(batch)))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)
        self._limit.__exit__(None, None, None)


def _measured(work: Callable[..., Any], part: Any, values: Sequence[Any]) -> tuple[Any, Spent]:
    started, cpu = time.perf_counter(), time.thread_time()
    with np.errstate(all="ignore"):
        result = work(part, *values)
    spent = (time.thread_time() - cpu, time.perf_counter() - started)
    return result, Spent(LOCAL, *spent, 0, 0)
