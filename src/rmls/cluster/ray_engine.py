"""A Ray cluster: plain tasks and its shared memory.

Parts are started by this process and by nobody else, a few more than there are workers. One that is
lost with its node is started again here, with the same arguments; so is one that takes much longer
than the others, and whichever comes first counts. Ray's own repetition is switched off: it would
repeat what lost objects were made from, pass after pass.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rmls.cluster.carrying import Packed, pack, unpack
from rmls.cluster.engine import Batch, Shared, Spent, current_usage
from rmls.cluster.joining import check_nodes, join, require_workers
from rmls.cluster.limits import ROOM, within
from rmls.core.errors import InputError, RmlsError
from rmls.core.words import size

# Parts that are sent before a worker is free for them, for every worker.
AHEAD = 2
ATTEMPTS = 5
# Letters of what Ray says that an error repeats.
REASON = 200
# A second node gets a part that takes so many times what others took, and so many seconds.
STRAGGLES, STRAGGLES_SECONDS = 4.0, 20.0
# Seconds between two looks at nodes that are silent.
LOOK = 2.0


class RayEngine:
    """Workers of a Ray cluster; ``n_cores`` of them at most work at a time."""

    def __init__(self, ray: Any, owned: bool, n_cores: int) -> None:
        self._ray, self._owned = ray, owned
        self.usage = current_usage()
        self.n_workers = require_workers(ray)
        # More workers than cores would only push each other out of the caches.
        self._at_once = n_cores if n_cores < self.n_workers else AHEAD * self.n_workers
        self._numbers = itertools.count()
        self._task = ray.remote(run_task)
        self._lost = _kinds_of_loss(ray)
        self._homes: dict[tuple[Callable[..., Any], int], str] = {}
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._place = NodeAffinitySchedulingStrategy

    @classmethod
    def connect(cls, address: str, see: Sequence[str] = ()) -> RayEngine:
        """Join the cluster at an address, and look whether its nodes can do the work."""
        ray, owned = join(address)
        try:
            return cls(ray, owned, check_nodes(ray, see))
        except BaseException:
            if owned:
                ray.shutdown()
            raise

    def share(self, value: Any) -> Shared:
        """Put a value into shared memory; every node fetches it once."""
        packed = pack(value)
        # A tuple of arrays: they lie in shared memory as they are.
        reference = self._ray.put((packed.rest, *packed.arrays))
        return Shared(reference, packed.n_bytes, next(self._numbers))

    def map(
        self, work: Callable[..., Any], parts: Sequence[Any], *shared: Shared, memory: int = 0
    ) -> Batch:
        """Announce the parts; the first of them are started."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        _require_memory(nodes, memory)
        batch = Batch(work, parts, shared, [], memory, self._find_homes(work, len(parts), nodes))
        for number in range(min(len(parts), self._at_once)):
            batch.tickets.append(self._start(batch, number))
        return batch

    def gather(self, batch: Batch, done: Callable[[int, Any], None] | None = None) -> list[Any]:
        """Return what the parts have returned."""
        return _Gathering(self, batch, done).run()

    def all_reduce(self, batch: Batch, combine: Callable[[list[Any]], Any]) -> Shared:
        """Combine what all parts have returned, and put it into shared memory."""
        return self.share(combine(self.gather(batch)))

    def close(self) -> None:
        """Leave the cluster, if we have joined it."""
        if self._owned:
            self._ray.shutdown()

    def _find_homes(
        self, work: Callable[..., Any], n_parts: int, nodes: list[Any]
    ) -> dict[int, str]:
        """Return the nodes that had these parts last time, where each has room for its own.

        Work that comes in rounds, a part for every worker or fewer, finds there what it has kept.
        """
        if n_parts > self.n_workers:
            return {}
        free = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in nodes}
        homes = {}
        for number in range(n_parts):
            home = self._homes.get((work, number), "")
            if free.get(home, 0):
                free[home] -= 1
                homes[number] = home
        return homes

    def _start(self, batch: Batch, number: int, *, again: bool = False) -> tuple[Any, int]:
        packed = pack(batch.parts[number])
        references = [each.value for each in batch.shared]
        announced = batch.memory + ROOM if batch.memory else None
        task = self._task.options(
            num_cpus=1,
            memory=announced,
            max_retries=0,
            scheduling_strategy=self._where(batch, None if again else batch.homes.get(number)),
        )
        # Ray sends small ones with the task, and puts large ones into shared memory by itself.
        sent = (packed.rest, *packed.arrays)
        return task.remote(batch.work, batch.memory, sent, *references), packed.n_bytes

    def _where(self, batch: Batch, home: str | None) -> Any:
        """Return where a part should run: at home, or where it comes in rounds, apart from others.

        Not at home where it was lost, or takes long.
        """
        if home is not None:
            return self._place(home, soft=True)
        return "SPREAD" if len(batch.parts) <= self.n_workers else "DEFAULT"


class _Gathering:
    """Waits for the parts of a batch, and repeats those that are lost or late."""

    def __init__(
        self, engine: RayEngine, batch: Batch, done: Callable[[int, Any], None] | None
    ) -> None:
        self.engine, self.batch, self.done = engine, batch, done
        self.ray = engine._ray
        self.found: dict[int, Any] = {}
        self.running: dict[Any, tuple[int, int, float]] = {}
        self.attempts = [1] * len(batch.parts)
        self.seconds: list[float] = []
        for number, ticket in enumerate(batch.tickets):
            self._note(number, ticket)
        self.next = len(batch.tickets)

    def run(self) -> list[Any]:
        """Return what the parts have returned, in order."""
        try:
            while len(self.found) < len(self.batch.parts):
                self._step()
        finally:
            for reference in self.running:
                self.ray.cancel(reference, force=True)
        return [self.found[number] for number in range(len(self.batch.parts))]

    def _note(self, number: int, ticket: tuple[Any, int]) -> None:
        reference, sent = ticket
        self.running[reference] = (number, sent, time.monotonic())

    def _step(self) -> None:
        ready, _ = self.ray.wait(list(self.running), timeout=LOOK)
        if not ready:
            require_workers(self.ray)
            self._double()
        for reference in ready:
            number, sent, started = self.running.pop(reference)
            if number in self.found:
                continue
            try:
                packed, spent = self.ray.get(reference)
            except self.engine._lost as error:
                self._repeat(number, error)
                continue
            except self.ray.exceptions.RayTaskError as error:
                raise _told(error) from error
            self.seconds.append(time.monotonic() - started)
            self._take(number, unpack(Packed(packed[0], list(packed[1:]))), spent, sent)
            if self.next < len(self.batch.parts):
                self._note(self.next, self.engine._start(self.batch, self.next))
                self.next += 1

    def _take(self, number: int, result: Any, spent: Spent, sent: int) -> None:
        self.engine.usage.add(spent, self.batch, sent)
        self.engine._homes[self.batch.work, number] = spent.node
        self.found[number] = result
        if self.done is not None:
            self.done(number, result)

    def _repeat(self, number: int, error: Exception) -> None:
        """Start a part again that was lost with its worker."""
        if any(other == number for other, _, _ in self.running.values()):
            return
        self.attempts[number] += 1
        if self.attempts[number] > ATTEMPTS:
            reason = " ".join(str(error).split())[-REASON:].rstrip(".")
            raise InputError(
                f"a part of the work was lost {ATTEMPTS} times with its worker ({reason}); look "
                "at the memory of the nodes, and go on with --resume."
            ) from error
        self.engine.usage.repeated += 1
        self._note(number, self.engine._start(self.batch, number, again=True))

    def _double(self) -> None:
        """Give parts that take long to a second worker, where one is idle."""
        if self.next < len(self.batch.parts) or len(self.running) >= self.engine.n_workers:
            return
        usual = statistics.median(self.seconds) if self.seconds else 0.0
        numbers = [number for number, _, _ in self.running.values()]
        for number, _, started in list(self.running.values()):
            late = time.monotonic() - started > max(STRAGGLES * usual, STRAGGLES_SECONDS)
            if usual and late and numbers.count(number) == 1:
                self.engine.usage.doubled += 1
                self._note(number, self.engine._start(self.batch, number, again=True))


def run_task(
    work: Callable[..., Any], memory: int, part: tuple[Any, ...], *shared: tuple[Any, ...]
) -> Any:
    """Do one part of the work on a node; returns its result, packed, and what it has cost."""
    import ray

    from rmls.core.resources import THREAD_LIMITS

    started, cpu = time.perf_counter(), time.process_time()
    with THREAD_LIMITS.at_most(1), np.errstate(all="ignore"):
        values = [unpack(Packed(each[0], list(each[1:]))) for each in shared]
        given = unpack(Packed(part[0], list(part[1:])))
        with within(memory, getattr(work, "__name__", "work")):
            result = work(given, *values)
    packed = pack(result)
    node = ray.get_runtime_context().get_node_id()
    spent = (time.process_time() - cpu, time.perf_counter() - started)
    return (packed.rest, *packed.arrays), Spent(node, *spent, _private(), packed.n_bytes)


def _private() -> int:
    """Return the private memory of this process, without mapped files and shared memory."""
    try:
        with open("/proc/self/statm") as file:
            pages = file.read().split()
    except OSError:
        return 0
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGESIZE")


def _require_memory(nodes: list[Any], needed: int) -> None:
    """Refuse work that no node has announced memory for: it would wait for ever."""
    able = (node["Resources"] for node in nodes if node["Resources"].get("CPU"))
    most = max((each.get("memory", 0.0) for each in able), default=0.0)
    if needed and needed + ROOM > most:
        raise InputError(
            f"a part of the work needs {size(needed + ROOM)} of memory, and the largest node of "
            f"the cluster announces {size(int(most))}; start nodes with more (ray start --memory), "
            "or use fewer components."
        )


def _kinds_of_loss(ray: Any) -> tuple[type[Exception], ...]:
    """Return what Ray raises when a part is lost and not wrong."""
    names = (
        "WorkerCrashedError",
        "NodeDiedError",
        "ObjectLostError",
        "ObjectFetchTimedOutError",
        "OutOfMemoryError",
        "RaySystemError",
        "TaskCancelledError",
        "TaskUnschedulableError",
    )
    found = (getattr(ray.exceptions, name, None) for name in names)
    return tuple(each for each in found if each is not None)


def _told(error: Any) -> Exception:
    """Return what a part has raised, as if it had been raised here."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, (RmlsError, MemoryError)) else RuntimeError(str(error))
