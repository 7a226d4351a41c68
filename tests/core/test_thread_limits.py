"""Bounds on the threads of linear algebra: shared by all calls, and gone with the last of them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from rmls.core import resources
from rmls.core.errors import InputError
from rmls.core.resources import (
    THREAD_LIMITS,
    ThreadLimits,
    available_memory,
    count_threads,
    open_pool,
    run_parts,
)


class Library:
    """What `threadpoolctl` shows of a library, with a number of threads of its own."""

    def __init__(self, n_threads: int, user_api: str = "blas", layer: str = "pthreads") -> None:
        self.n_threads, self.user_api, self.threading_layer = n_threads, user_api, layer
        self.filepath = f"{user_api}-{layer}"

    def get_num_threads(self) -> int:
        return self.n_threads

    def set_num_threads(self, n_threads: int) -> None:
        self.n_threads = n_threads


class OwnLibrary(Library):
    """A library that counts threads for every thread by itself, as OpenMP does."""

    def __init__(self, n_threads: int) -> None:
        super().__init__(n_threads, "openmp", "")
        self.start, self.numbers = n_threads, threading.local()

    def get_num_threads(self) -> int:
        return int(getattr(self.numbers, "value", self.start))

    def set_num_threads(self, n_threads: int) -> None:
        self.numbers.value = n_threads


def limits_of(monkeypatch: pytest.MonkeyPatch, *libraries: Library) -> ThreadLimits:
    class Controller:
        lib_controllers = libraries

    monkeypatch.setattr(resources, "ThreadpoolController", Controller)
    return ThreadLimits()


def test_a_bound_holds_inside_and_is_gone_after(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(8)
    limits = limits_of(monkeypatch, library)
    with limits.at_most(2):
        assert library.n_threads == 2
        with limits.at_most(1):
            assert library.n_threads == 1
        assert library.n_threads == 2
    assert library.n_threads == 8


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_calls_may_end_in_any_order(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(8)
    limits = limits_of(monkeypatch, library)
    wanted = {0: 1, 1: 4, 2: 2}
    calls = {number: limits.at_most(bound) for number, bound in wanted.items()}
    for number in range(3):
        calls[number].__enter__()
        assert library.n_threads == 1
    for number in order:
        calls[number].__exit__(None, None, None)
        del wanted[number]
        assert library.n_threads == min(wanted.values(), default=8)


def test_a_bound_never_raises_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(1)
    with limits_of(monkeypatch, library).at_most(4):
        assert library.n_threads == 1
    assert library.n_threads == 1


def test_an_error_ends_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(8)
    limits = limits_of(monkeypatch, library)
    with pytest.raises(KeyboardInterrupt), limits.at_most(1):
        raise KeyboardInterrupt
    assert library.n_threads == 8


@pytest.mark.parametrize("chosen", [1, 3, 16])
def test_what_the_user_sets_meanwhile_stays(chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(8)
    limits = limits_of(monkeypatch, library)
    with limits.at_most(2):
        library.set_num_threads(chosen)
        with limits.at_most(4):
            assert library.n_threads == min(chosen, 2)
    assert library.n_threads == chosen


def test_a_library_loaded_later_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Library(8), Library(8)
    second.filepath = "another"
    limits = limits_of(monkeypatch, first)
    with limits.at_most(1):
        pass

    class Controller:
        lib_controllers = (first, second)

    monkeypatch.setattr(resources, "ThreadpoolController", Controller)
    monkeypatch.setitem(resources.sys.modules, "a_module_that_was_not_there", resources)
    with limits.at_most(1):
        assert second.n_threads == 1
    assert (first.n_threads, second.n_threads) == (8, 8)


def test_a_library_that_counts_by_thread_is_bounded_in_every_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = OwnLibrary(8)
    monkeypatch.setattr(resources, "THREAD_LIMITS", limits_of(monkeypatch, library))
    with open_pool(2) as pool:
        inside = set(pool.map(lambda _: library.get_num_threads(), range(20)))
        assert library.get_num_threads() == 1
    assert inside == {1}
    assert library.get_num_threads() == 8


def test_a_child_forgets_the_calls_of_threads_that_it_does_not_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = Library(8)
    limits = limits_of(monkeypatch, library)
    entered, leave = threading.Event(), threading.Event()

    def call() -> None:
        with limits.at_most(1):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=call)
    thread.start()
    entered.wait()
    with limits.at_most(4):
        limits._after_fork()
        assert library.n_threads == 4
    assert library.n_threads == 8
    leave.set()
    thread.join()


def blas_threads() -> list[int]:
    return [library.get_num_threads() for library in THREAD_LIMITS._find("blas")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_a_fork_in_the_middle_of_a_call_has_the_number_of_before() -> None:
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def call() -> None:
        with THREAD_LIMITS.at_most(1):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=call)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        with THREAD_LIMITS.at_most(1):
            pass
        os._exit(0 if blas_threads() == before else 1)
    _, status = os.waitpid(child, 0)
    leave.set()
    thread.join()
    assert status == 0
    assert blas_threads() == before


def test_no_more_threads_are_started_than_there_are_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    pool = resources.ThreadPoolExecutor

    def count(n_threads: int, *rest: Any) -> Any:
        opened.append(n_threads)
        return pool(n_threads, *rest)

    monkeypatch.setattr(resources, "ThreadPoolExecutor", count)
    assert run_parts(abs, [-1, -2, -3], 1000) == [1, 2, 3]
    assert opened == [3]


def test_a_million_threads_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        count_threads(10**6)
    assert str(caught.value) == "n_jobs must be at most 1024; use -1 for all cores."


# -- what a container leaves ----------------------------------------------------------------------


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    monkeypatch.setattr(resources, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(resources, "GROUPS", tmp_path / "groups")
    (tmp_path / "groups").mkdir()
    return tmp_path / "groups"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 16), ("400000 100000", 4), ("150000 100000", 2), ("1 100000", 1), ("", 16)],
)
def test_a_quota_of_processor_time_counts_as_cores(quota: str, cores: int, groups: Path) -> None:
    write(groups.parent, own="0::/app")
    write(groups / "app", cpu__max=quota)
    assert count_threads(-1) == cores
    assert count_threads(-2) == max(1, cores - 1)


def test_the_smallest_quota_on_the_way_to_the_root_counts(groups: Path) -> None:
    write(groups.parent, own="0::/pod/app")
    write(groups / "pod" / "app", cpu__max="800000 100000")
    write(groups / "pod", cpu__max="300000 100000")
    assert count_threads(-1) == 3


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_quotas_of_the_first_version_are_read(folder: str, groups: Path) -> None:
    write(groups.parent, own="3:memory:/elsewhere\n2:cpu,cpuacct:/not/seen/inside\n0::/")
    write(groups / folder, cpu__cfs_quota_us="200000", cpu__cfs_period_us="100000")
    assert count_threads(-1) == 2
    write(groups / folder, cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert count_threads(-1) == 16


def test_a_number_of_threads_that_was_asked_for_is_taken(groups: Path) -> None:
    write(groups.parent, own="0::/")
    write(groups, cpu__max="100000 100000")
    assert count_threads(6) == 6


@pytest.mark.parametrize("version", [1, 2])
def test_a_limit_of_memory_is_what_is_available(version: int, groups: Path) -> None:
    stat = "anon 5\ninactive_file 400\n"
    if version == 2:
        write(groups.parent, own="0::/")
        write(groups, memory__max="1000", memory__current="700", memory__stat=stat)
    else:
        write(groups.parent, own="5:memory:/")
        files = {"memory__limit_in_bytes": "1000", "memory__usage_in_bytes": "700"}
        write(groups / "memory", **files, memory__stat=stat)
    assert available_memory() in (700, None)


@pytest.mark.parametrize(("module", "daemon", "cores"), [("loky", False, 3), ("m", True, 1)])
def test_a_worker_of_joblib_has_its_share(
    module: str, daemon: bool, cores: int, groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = type("Process", (), {"__module__": f"joblib.externals.{module}", "daemon": daemon})
    monkeypatch.setattr(resources.multiprocessing, "current_process", process)
    for name in resources.SHARES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert count_threads(-1) == cores


def share_and_bound() -> tuple[int, list[int]]:
    import scipy.linalg  # noqa: F401

    with THREAD_LIMITS.at_most(4):
        return count_threads(-1), blas_threads()


@pytest.mark.slow
def test_workers_of_joblib_do_not_ask_for_more_than_there_is() -> None:
    from joblib import Parallel, cpu_count, delayed

    n_workers = cpu_count()
    found = Parallel(n_jobs=n_workers)(delayed(share_and_bound)() for _ in range(n_workers))
    if n_workers > 1:
        assert {share for share, _ in found} == {1}
    assert all(threads == [1] * len(threads) for _, threads in found)
