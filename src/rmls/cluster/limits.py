"""A part of the work takes the memory that was announced for it, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rmls.core.errors import InputError
from rmls.core.words import size

# What a process takes beside its part, for kernels that are loaded and for itself.
ROOM = 512 << 20


@contextmanager
def within(n_bytes: int, name: str) -> Iterator[None]:
    """Let the private memory of this process grow by ``n_bytes`` and `ROOM`, and no further.

    The system refuses what goes beyond; 0 is no bound. Shared memory, and files that are mapped
    before the block, do not count. Only Linux knows what a process has taken.
    """
    taken = _private_bytes() if n_bytes else 0
    if not taken:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = taken + n_bytes + ROOM
    lowest = min((limit for limit in (soft, hard) if limit >= 0), default=bound)
    resource.setrlimit(resource.RLIMIT_DATA, (min(bound, lowest), hard))
    try:
        yield
    except MemoryError:
        raise InputError(
            f"a part of the work ({name}) was refused more memory than the {size(n_bytes + ROOM)} "
            "that were announced for it; use fewer components or shorter lists."
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _private_bytes() -> int:
    """Return what `RLIMIT_DATA` counts, or 0 where that is not known."""
    try:
        with open("/proc/self/status") as file:
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return 0
    return int(lines.get("VmData", "0 kB").split()[0]) << 10
