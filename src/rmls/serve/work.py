"""Turns: a few requests are worked on at a time, some wait, the others are told to come again."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from rmls.core.resources import THREAD_LIMITS
from rmls.serve.problems import busy
from rmls.serve.settings import Settings

if TYPE_CHECKING:
    from rmls.serve.service import Service

Result = TypeVar("Result")
# When the work of this thread has to be done.
_UNTIL: ContextVar[float] = ContextVar("until", default=float("inf"))


class Gate:
    """Threads that work, and the line before them; first come, first served."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # Linear algebra on one thread, once for all: requests are what runs side by side, and
        # changing the number with each of them would take longer than some.
        self._one_thread = ExitStack()
        self._one_thread.enter_context(THREAD_LIMITS.at_most(1))
        self._pool = ThreadPoolExecutor(settings.max_running, "rmls", THREAD_LIMITS.hold_worker)
        self._turns: asyncio.Semaphore | None = None
        self.running = self.waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether the line is as long as it may be."""
        return self.waiting >= self.settings.max_waiting

    def refuse_when_full(self) -> None:
        """Raise the answer to those who find the line full."""
        if self.is_full:
            raise busy(429, "too many requests are waiting; try again in a second.")

    async def run(self, function: Callable[..., Result], *args: object) -> Result:
        """Return what a function returns, once it was its turn."""
        self.refuse_when_full()
        # A semaphore belongs to the event loop it is first used in.
        turns = self._turns = self._turns or asyncio.Semaphore(self.settings.max_running)
        until = time.monotonic() + self.settings.max_seconds
        self.waiting += 1
        try:
            if turns.locked():
                await asyncio.wait_for(turns.acquire(), self.settings.max_seconds)
            else:
                await turns.acquire()
        except asyncio.TimeoutError:
            raise busy(503, "the request waited too long for its turn.") from None
        finally:
            self.waiting -= 1
        self.running += 1
        loop = asyncio.get_running_loop()

        def leave(_: Future[Result]) -> None:
            # A thread cannot be stopped: whoever gave up does not make room before it ends.
            loop.call_soon_threadsafe(self._leave, turns)

        try:
            future = self._pool.submit(_work, until, function, args)
        except BaseException:
            self._leave(turns)
            raise
        future.add_done_callback(leave)
        try:
            done = asyncio.shield(asyncio.wrap_future(future))
            return await within(max(0.0, until - time.monotonic()), done)
        except asyncio.TimeoutError:
            raise busy(503, "the work took too long; send less at a time.") from None

    def _leave(self, turns: asyncio.Semaphore) -> None:
        self.running -= 1
        turns.release()

    def close(self) -> None:
        """Take no more work; what runs is waited for."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._one_thread.close()


async def within(seconds: float, wanted: Awaitable[Result]) -> Result:
    """Return what comes in time; else raise `asyncio.TimeoutError`."""
    # `wait_for` makes a task of its own, and every task is a round of the event loop.
    if sys.version_info >= (3, 11):
        async with asyncio.timeout(seconds):
            return await wanted
    return await asyncio.wait_for(wanted, seconds)


def _work(until: float, function: Callable[..., Result], args: tuple[object, ...]) -> Result:
    _UNTIL.set(until)
    return function(*args)


def keep_to_time() -> None:
    """Give up work that takes too long; called between its parts."""
    if time.monotonic() > _UNTIL.get():
        raise busy(503, "the work took too long; send less at a time.")


async def run(service: Service, function: Callable[..., Result], *args: object) -> Result:
    """Return what a function returns; it is called on a thread when it is its turn."""
    return await service.gate.run(function, *args)
