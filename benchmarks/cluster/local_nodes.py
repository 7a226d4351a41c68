"""Ray nodes on this machine, each with its own processes and object store, and what they spend."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray  # noqa: F401  # psutil comes with it

from rmls.cluster import labels
from rmls.models.ranker.large import spread

STORE = 300 << 20


def start(n_nodes: int, memory: int | None = None) -> Any:
    """Start a head without work and so many nodes of one processor."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray lets workers wait for all others on a busy machine.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(n_nodes):
        add_node(cluster, memory)
    return cluster


def add_node(cluster: Any, memory: int | None = None, attempts: int = 3) -> None:
    """Add a node of one processor; Ray itself gives up after a fixed time."""
    more = {} if memory is None else {"memory": memory}
    try:
        cluster.add_node(num_cpus=1, object_store_memory=STORE, **more)
    except Exception:
        if attempts == 1:
            raise
        add_node(cluster, memory, attempts - 1)


def kill_node(node: Any) -> None:
    """Kill a node with its workers."""
    import psutil

    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    for process in (raylet, *raylet.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            process.kill()


@contextlib.contextmanager
def every_worker() -> Iterator[list[int]]:
    """Let every worker have work of every stage, whether it pays or not.

    Yields a list that is told their number.
    """
    rule, worth = spread.paying_shards, (spread.WORTH_ROWS, labels.WORTH_PAIRS)
    told: list[int] = []

    def take_all(touches: float, n_workers: int) -> int:
        told.append(n_workers)
        return n_workers

    spread.paying_shards = take_all
    spread.WORTH_ROWS, labels.WORTH_PAIRS = 1, 1
    try:
        yield told
    finally:
        spread.paying_shards = rule
        spread.WORTH_ROWS, labels.WORTH_PAIRS = worth


def look_at_processes() -> dict[int, tuple[str, float]]:
    """Return what this process and all that it has started are, and what each has spent."""
    import psutil

    own, found = psutil.Process(), {}
    for each in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            words = " ".join(each.cmdline()[:2])
            kind = "driver" if each == own else "daemons"
            if "default_worker" in words or ("ray::" in words and "Agent" not in words):
                kind = "workers"
            found[each.pid] = kind, sum(each.cpu_times()[:2])
    return found


class Meter:
    """Processor time of this process and of all that it has started, by what they are.

    Looks twice a second: a process that ends meanwhile has counted until then.
    """

    def __init__(self) -> None:
        self.first, self.last = look_at_processes(), {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self.last.update(look_at_processes())

    def stop(self) -> dict[str, float]:
        """Return what was spent since the beginning."""
        self._ended.set()
        self._thread.join()
        self.last.update(look_at_processes())
        spent = {"driver": 0.0, "workers": 0.0, "daemons": 0.0}
        for pid, (kind, seconds) in self.last.items():
            spent[kind] += seconds - self.first.get(pid, (kind, 0.0))[1]
        return spent


class Peaks:
    """The largest private memory of one process, by what it is, looked at twice a second."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            for pid, (kind, _) in look_at_processes().items():
                with contextlib.suppress(OSError, IndexError):
                    status = Path(f"/proc/{pid}/status").read_text()
                    private = int(status.split("RssAnon:")[1].split()[0]) << 10
                    self.bytes[kind] = max(self.bytes.get(kind, 0), private)
            time.sleep(0.5)

    @property
    def megabytes(self) -> dict[str, int]:
        """The peaks so far."""
        return {kind: round(each / 1e6) for kind, each in self.bytes.items()}
