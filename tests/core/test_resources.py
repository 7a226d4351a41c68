"""Threads, memory, and optional imports."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rmls.core import resources
from rmls.core.errors import InputError, MissingExtraError
from rmls.core.optional import import_extra
from rmls.core.resources import available_memory, count_threads, require_memory


@pytest.fixture(autouse=True)
def outside_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "OWN_GROUPS", Path("no such file"))


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(None, 1), (1, 1), (3, 3), (-1, 4), (-2, 3), (-4, 1), (-99, 1)]
)
def test_threads_are_counted_as_in_scikit_learn(
    n_jobs: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    assert count_threads(n_jobs) == threads


def test_cores_are_counted_where_affinity_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert count_threads(-1) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_threads(-1) == 1


def test_no_threads_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="n_jobs must not be 0"):
        count_threads(0)


def test_memory_is_refused_only_when_there_is_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "available_memory", lambda: 1 << 30)
    require_memory(1 << 30, "a table", "pass fewer rows")
    with pytest.raises(InputError) as caught:
        require_memory((1 << 30) + 1, "a table", "pass fewer rows")
    assert str(caught.value) == (
        "a table needs 1.1 GB of memory but 1.1 GB is available; pass fewer rows."
    )


def test_a_system_that_does_not_tell_its_memory_is_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resources, "Path", lambda name: NoFile())
    assert available_memory() is None
    require_memory(1 << 60, "a table", "pass fewer rows")


class NoFile:
    def read_text(self) -> str:
        raise FileNotFoundError


def test_available_memory_is_read_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    class MemoryInfo:
        def read_text(self) -> str:
            return "MemTotal: 9 kB\nMemAvailable:      3 kB\n"

    monkeypatch.setattr(resources, "Path", lambda name: MemoryInfo())
    assert available_memory() == 3 * 1024


def test_a_limit_on_the_addresses_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1 << 50, 1 << 50))
    monkeypatch.setattr(resources, "_words", lambda path: [str(2**50 // resource.getpagesize())])
    assert list(resources._address_space()) == [0]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    assert not list(resources._address_space())


def test_a_missing_extra_is_named_with_the_command_to_install_it() -> None:
    with pytest.raises(MissingExtraError) as caught:
        import_extra("no_such_package.part", "plots", "drawing")
    assert str(caught.value) == (
        "drawing needs no_such_package, which is not installed; "
        "install it with: pip install 'rmls[plots]'."
    )
