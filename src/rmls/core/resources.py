"""Threads and memory: what a run may use, what it needs, and work in parts on several threads.

What may be used is that of the process: its cores, and the limits of its container. Linux tells a
process its control groups; version 1 has a tree of folders for every resource, version 2 one for
all, and a limit may be set at any folder on the way to the root.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import lru_cache, wraps
from numbers import Integral
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rmls.core.errors import InputError
from rmls.core.words import read_size, size

JOBS_PER_THREAD = 8
# More than any machine has cores: a larger number is a slip, and as many threads a hang.
MAX_THREADS = 1024
# Letters of a wrong value that an error repeats; looks at the memory, which fills more slowly.
MAX_SHOWN, LOOKS_A_SECOND = 60, 10
# Where Linux shows the groups of this process, and their folders.
OWN_GROUPS = Path("/proc/self/cgroup")
OWN_SIZE = Path("/proc/self/statm")
GROUPS = Path("/sys/fs/cgroup")
# Limit and use, in version 2 and in version 1.
MEMORY_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
# A limit that the user sets, such as "4 GB".
MEMORY = "RMLS_MEMORY"
# joblib tells its workers their share of the cores by these.
SHARES = ("LOKY_MAX_CPU_COUNT", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Indices = NDArray[np.int64]
Part = TypeVar("Part")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: None is 1, -1 all cores, -2 all but one.

    All cores are those that this process may use: its affinity, the quota of its container, and
    its share where it is a worker of joblib.

    Examples
    --------
    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise InputError(f"n_jobs must be a whole number or None; got {repr(n_jobs)[:MAX_SHOWN]}.")
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; use None for one thread, -1 for all cores.")
    if n_jobs > MAX_THREADS:
        raise InputError(f"n_jobs must be at most {MAX_THREADS}; use -1 for all cores.")
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, min(count_cores(), MAX_THREADS) + 1 + int(n_jobs))


def count_cores() -> int:
    """Return how many cores this process may keep busy, at least 1."""
    # The cores of this process, which may be fewer than those of the machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min([cores or 1, *container_cores(), *_worker_share()]))


def container_cores() -> Iterator[int]:
    """Yield the quotas of processor time that hold for this process, in whole cores."""
    for folder in _folders("cpu"):
        # Version 2: "50000 100000", or "max 100000". Version 1: two files, -1 for no quota.
        quota, period = [*_words(folder / "cpu.max"), "", ""][:2]
        if not quota:
            quota = "".join(_words(folder / "cpu.cfs_quota_us"))
            period = "".join(_words(folder / "cpu.cfs_period_us"))
        if quota.isdigit() and period.isdigit() and int(quota) and int(period):
            # Half a core is still one thread.
            yield math.ceil(int(quota) / int(period))


def _worker_share() -> Iterator[int]:
    """Yield the share of the cores that a worker of a pool of processes has."""
    process = multiprocessing.current_process()
    if process.daemon:
        # The pool of multiprocessing has a worker for every core; joblib counts it so, too.
        yield 1
    elif "loky" in type(process).__module__:
        yield from (int(os.environ[name]) for name in SHARES if os.environ.get(name, "").isdigit())


def available_memory() -> int | None:
    """Return the bytes that can be allocated now, or None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        # In kB, and with the caches that the system would give up; MemFree leaves them out.
        if line.startswith("MemAvailable:"):
            limits = (*container_memory(), *_address_space(), *_told())
            return min([int(line.split()[1]) * 1024, *limits])
    return None


def container_memory() -> Iterator[int]:
    """Yield the bytes that the limits of the groups of this process leave it."""
    for folder in _folders("memory"):
        for names in MEMORY_FILES:
            limit, usage = ("".join(_words(folder / name)) for name in names)
            if limit.isdigit() and usage.isdigit():
                # Cached files count as used, and are given up when memory is asked for.
                yield max(0, int(limit) - int(usage) + _cached(folder))


def _address_space() -> Iterator[int]:
    """Yield what a limit on the addresses of this process (``ulimit -v``) leaves it."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getpagesize, getrlimit
    except ImportError:
        return
    limit, pages = getrlimit(RLIMIT_AS)[0], _words(Path("/proc/self/statm"))[:1]
    if limit != RLIM_INFINITY and pages:
        yield max(0, limit - int(pages[0]) * getpagesize())


def _told() -> Iterator[int]:
    """Yield what the environment leaves this process; files that it has mapped do not count."""
    told, pages = os.environ.get(MEMORY), _words(OWN_SIZE)
    if told and len(pages) > 2:
        private = (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGESIZE")
        yield max(0, read_size(MEMORY, told) - private)


def _cached(folder: Path) -> int:
    words = _words(folder / "memory.stat")
    figures = dict(zip(words[::2], words[1::2], strict=False))
    found = figures.get("total_inactive_file", figures.get("inactive_file", ""))
    return int(found) if found.isdigit() else 0


def require_memory(needed: int, purpose: str, way_out: str) -> None:
    """Raise a sentence when ``needed`` bytes cannot be had; ``way_out`` says what to do instead."""
    available = _look(available_memory, int(LOOKS_A_SECOND * time.monotonic()))
    if available is not None and needed > available:
        raise InputError(
            f"{purpose} needs {size(needed)} of memory but {size(available)} is available; "
            f"{way_out}."
        )


@lru_cache(maxsize=1)
def _look(look: Callable[[], int | None], now: int) -> int | None:
    """Return what ``look`` does, once at a time: some twenty files are read for it."""
    return look()


def _folders(resource: str) -> Iterator[Path]:
    """Yield the folders of the groups of this process that rule a resource, up to the root."""
    for line in _lines(OWN_GROUPS):
        _, _, rest = line.partition(":")
        resources, _, place = rest.partition(":")
        if resources and resource not in resources.split(","):
            continue
        # Inside a container its own folder is the root, whatever the path outside is called.
        group = PurePosixPath(place.lstrip("/"))
        for root in {resource, resources} if resources else {""}:
            yield from (GROUPS / root / folder for folder in (group, *group.parents))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, ValueError):
        return []


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]


class ThreadLimits:
    """Bounds on the threads of linear algebra that all calls under way in this process share.

    The libraries know one number of threads for the whole process. The lowest bound of all calls
    holds; the last call to end restores what was there before the first. A number that somebody
    else sets meanwhile counts as what was there before.
    """

    def __init__(self) -> None:
        self._bounds: list[_Bound] = []
        # For every library: what was there before the first call, and what we have set.
        self._held: dict[str, tuple[int, int]] = {}
        self._libraries: dict[str, list[Any]] = {}
        self._seen_modules = 0
        self._lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=lambda: self._lock.acquire(),
                after_in_parent=lambda: self._lock.release(),
                after_in_child=self._after_fork,
            )

    @contextmanager
    def at_most(self, n_threads: int) -> Iterator[None]:
        """Hold the libraries to a number of threads until the block ends."""
        bound = _Bound(n_threads)
        try:
            with self._lock:
                self._bounds.append(bound)
                bound.lower_own(self._find("openmp"))
                self._apply()
            yield
        finally:
            with self._lock:
                if bound in self._bounds:
                    self._bounds.remove(bound)
                self._apply()
                bound.restore_own()

    def holds_one(self) -> bool:
        """Tell whether a block of this thread holds the libraries to one thread already."""
        thread = threading.get_ident()
        return any(each.thread == thread and each.n_threads == 1 for each in self._bounds)

    def hold_worker(self) -> None:
        """Hold the libraries that count threads for every thread by itself to one, in this one."""
        # A thread does not inherit what its caller has set.
        np.seterr(all="ignore")
        with self._lock:
            for library in self._find("openmp"):
                library.set_num_threads(1)

    def _find(self, kind: str) -> list[Any]:
        """Return the libraries of a kind; those loaded since the last call are found as well."""
        # Looking for them takes milliseconds; a library comes with a module that needs it.
        n_modules = len(sys.modules)
        if self._seen_modules != n_modules:
            self._libraries = {"openmp": [], "blas": []}
            for library in ThreadpoolController().lib_controllers:
                # BLAS on top of OpenMP asks OpenMP for its threads, and that by calling thread.
                if getattr(library, "threading_layer", "") != "openmp":
                    self._libraries[library.user_api].append(library)
            self._seen_modules = n_modules
        return self._libraries[kind]

    def _apply(self) -> None:
        lowest = min((bound.n_threads for bound in self._bounds), default=None)
        for library in self._find("blas"):
            now = library.get_num_threads()
            before, ours = self._held.pop(library.filepath, (now, now))
            if now != ours:
                before = now
            wanted = before if lowest is None else min(before, lowest)
            if now != wanted:
                library.set_num_threads(wanted)
            if lowest is not None:
                # What it took may differ from what it was told.
                self._held[library.filepath] = (before, library.get_num_threads())

    def _after_fork(self) -> None:
        """Forget the calls of threads that the child does not have."""
        self._lock = threading.RLock()
        alive = [bound for bound in self._bounds if bound.thread == threading.get_ident()]
        if len(alive) < len(self._bounds):
            self._bounds = alive
            self._apply()


class _Bound:
    """The bound of one call, with what it changed for its own thread alone."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads, self.thread = n_threads, threading.get_ident()
        self._own: list[tuple[Any, int, int]] = []

    def lower_own(self, libraries: list[Any]) -> None:
        """Lower the threads of libraries that count them for every thread by itself."""
        for library in libraries:
            now = library.get_num_threads()
            if now > self.n_threads:
                library.set_num_threads(self.n_threads)
                self._own.append((library, now, self.n_threads))

    def restore_own(self) -> None:
        """Undo `lower_own`, except where somebody has set another number since."""
        for library, before, ours in self._own:
            if library.get_num_threads() == ours:
                library.set_num_threads(before)


THREAD_LIMITS = ThreadLimits()


def keeps_to_n_jobs(method: Function) -> Function:
    """Decorate a method of an estimator: no library uses more threads than its ``n_jobs``."""

    # Nobody is warned of numbers that leave their range: scores must be finite where they are made.
    @wraps(method)
    def bounded(self: Any, *args: Any, **options: Any) -> Any:
        with THREAD_LIMITS.at_most(self._count_threads()), np.errstate(all="ignore"):
            return method(self, *args, **options)

    return bounded  # type: ignore[return-value]


def on_one_thread(function: Function) -> Function:
    """Decorate a function that has no ``n_jobs``: no library uses a second thread in it."""

    @wraps(function)
    def bounded(*args: Any, **options: Any) -> Any:
        with THREAD_LIMITS.at_most(1), np.errstate(all="ignore"):
            return function(*args, **options)

    return bounded  # type: ignore[return-value]


@contextmanager
def open_pool(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads, each of which has linear algebra on one thread."""
    pool = ThreadPoolExecutor(n_threads, "rmls", THREAD_LIMITS.hold_worker)
    with THREAD_LIMITS.at_most(1), pool:
        yield pool


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
    if min(n_threads, len(listed)) < 2:
        return [work(part) for part in listed]
    # Threads share the arrays; kernels and BLAS run without the interpreter's lock.
    with open_pool(min(n_threads, len(listed))) as pool:
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

    Products of matrices inside use one thread each: the result does not depend on the number.

    Examples
    --------
    >>> for_blocks(lambda start, stop: stop - start, 5, 2, 1)
    [2, 2, 1]
    """
    # Asking the libraries once more takes as long as the words of a short text.
    with nullcontext() if THREAD_LIMITS.holds_one() else THREAD_LIMITS.at_most(1):
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
