"""What a cluster does for a training: share values, map parts, gather results, merge them.

A part of the work is a function of the module level, called with the part and with shared values.
It returns the same whoever calls it and however often: a node that dies costs its parts and
nothing else, and no result tells which node made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from rmls.core.errors import InputError
from rmls.core.resources import MAX_THREADS

LOCAL = "local"


class Shared(NamedTuple):
    """A value that every node can see; it travels to a node once.

    Attributes
    ----------
    value : object
        What the engine finds it by.
    n_bytes : int
        What it takes to bring it to a node; files that are mapped count nothing.
    number : int
        Tells shared values apart.
    """

    value: Any
    n_bytes: int
    number: int


class Batch(NamedTuple):
    """Parts of some work that are under way; ``homes`` are nodes that wait for a part."""

    work: Callable[..., Any]
    parts: Sequence[Any]
    shared: tuple[Shared, ...]
    tickets: list[Any]
    memory: int
    homes: dict[int, str]


@dataclass
class NodeUsage:
    """What one node has done.

    Attributes
    ----------
    tasks : int
    cpu, seconds : float
        Processor time and wall time of its tasks.
    bytes_in, bytes_out : int
        What it was sent, and what it sent back.
    memory : int
        The largest private memory of one of its processes.
    """

    tasks: int = 0
    cpu: float = 0.0
    seconds: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    memory: int = 0


@dataclass
class Usage:
    """What all nodes have done.

    Attributes
    ----------
    nodes : dict of str to NodeUsage
    work : dict of str to float
        Processor time by the function that spent it.
    repeated, doubled : int
        Parts that were lost with a node and run again, and parts that another node was given as
        well because the first took long.
    """

    nodes: dict[str, NodeUsage] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    repeated: int = 0
    doubled: int = 0
    _seen: set[tuple[str, int]] = field(default_factory=set)

    def add(self, spent: Spent, batch: Batch, sent: int) -> None:
        """Count one part of a batch: what it spent, and what had to travel to its node."""
        name = getattr(batch.work, "__name__", "work")
        self.work[name] = self.work.get(name, 0.0) + spent.cpu
        node = self.nodes.setdefault(spent.node, NodeUsage())
        node.tasks += 1
        node.cpu += spent.cpu
        node.seconds += spent.seconds
        node.memory = max(node.memory, spent.memory)
        node.bytes_in += sent
        node.bytes_out += spent.bytes_out
        for value in batch.shared:
            if (spent.node, value.number) not in self._seen:
                self._seen.add((spent.node, value.number))
                node.bytes_in += value.n_bytes


_WATCHED: ContextVar[Usage | None] = ContextVar("usage", default=None)


@contextmanager
def watching() -> Iterator[Usage]:
    """Yield what all nodes do that work inside the block."""
    usage = Usage()
    token = _WATCHED.set(usage)
    try:
        yield usage
    finally:
        _WATCHED.reset(token)


def current_usage() -> Usage:
    """Return where the work of nodes is counted."""
    return _WATCHED.get() or Usage()


class Spent(NamedTuple):
    """What one task has cost, and where."""

    node: str
    cpu: float
    seconds: float
    memory: int
    bytes_out: int


class Engine(Protocol):
    """Nodes that work for a training."""

    @property
    def n_workers(self) -> int:
        """Parts that run at the same time; settled when the engine is opened."""
        ...

    @property
    def usage(self) -> Usage:
        """What the nodes have done so far."""
        ...

    def share(self, value: Any) -> Shared:
        """Let every node see a value; arrays in it are not copied by those that read them."""
        ...

    def map(
        self, work: Callable[..., Any], parts: Sequence[Any], *shared: Shared, memory: int = 0
    ) -> Batch:
        """Start ``work(part, *shared)`` for every part.

        Each takes ``memory`` bytes at most; 0 is no bound. Threads, which share theirs, have none.
        """
        ...

    def gather(self, batch: Batch, done: Callable[[int, Any], None] | None = None) -> list[Any]:
        """Return what the parts have returned, in order; ``done`` hears of each as it comes."""
        ...

    def all_reduce(self, batch: Batch, combine: Callable[[list[Any]], Any]) -> Shared:
        """Combine what all parts have returned, and share the outcome with every node."""
        ...

    def close(self) -> None:
        """Let the nodes go."""
        ...


@contextmanager
def open_cluster(address: Any, see: Sequence[str] = ()) -> Iterator[Engine]:
    """Open the nodes at an address.

    Parameters
    ----------
    address : str
        ``"local"`` or ``"local:4"``: so many threads of this machine. ``"auto"``: the Ray cluster
        that this machine belongs to. Anything else is the address of a Ray cluster.
    see : sequence of str
        Folders and files that every node has to see.

    Examples
    --------
    >>> with open_cluster("local:2") as engine:
    ...     engine.gather(engine.map(abs, [-3, 2]))
    [3, 2]
    """
    engine = _open(address, see)
    try:
        yield engine
    finally:
        engine.close()


def check_address(address: Any) -> None:
    """Raise a sentence for what is no address of a cluster."""
    _count_local(address)


def _count_local(address: Any) -> int:
    """Return the threads that a local address asks for; 0 for one of Ray."""
    if not isinstance(address, str) or not address.strip():
        shown = repr(address)[:60]
        raise InputError(
            f"cluster must be 'local:N', 'auto' or the address of a Ray cluster; got {shown}."
        )
    kind, _, number = address.partition(":")
    if kind != LOCAL:
        return 0
    if number and not (number.isdecimal() and 0 < int(number) <= MAX_THREADS):
        raise InputError(
            f"cluster='local:N' takes a number of threads from 1 to {MAX_THREADS}; got {address!r}."
        )
    return int(number or 2)


def _open(address: Any, see: Sequence[str]) -> Engine:
    n_threads = _count_local(address)
    if n_threads:
        from rmls.cluster.local import LocalEngine

        return LocalEngine(n_threads)
    from rmls.cluster.ray_engine import RayEngine

    return RayEngine.connect(address, see)
