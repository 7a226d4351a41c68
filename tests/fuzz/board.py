"""What the watcher knows of its workers: the case in flight and what is done, in a mapped file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

IDLE = -1


def _layout(n_kinds: int) -> np.dtype[Any]:
    return np.dtype(
        [
            ("kind", "i8"),
            ("case", "i8"),
            ("wall", "f8"),
            ("cpu", "f8"),
            ("memory", "f8"),
            ("done", "i8", (n_kinds,)),
            ("seconds", "f8", (n_kinds,)),
            ("over", "i8"),
        ]
    )


class Board:
    """One entry for every worker; it survives the worker, whatever kills that."""

    def __init__(self, path: Path, n_workers: int, n_kinds: int, *, new: bool = False) -> None:
        mode: Any = "w+" if new else "r+"
        self.entries = np.memmap(path, _layout(n_kinds), mode, shape=(n_workers,))
        if new:
            self.entries["kind"] = IDLE

    def begin(self, worker: int, kind: int, case: int) -> None:
        """Note the case that a worker begins."""
        entry = self.entries[worker]
        entry["case"], entry["wall"], entry["cpu"] = case, time.monotonic(), time.process_time()
        # Last: the watcher takes an entry with a kind for complete.
        entry["kind"] = kind

    def end(self, worker: int) -> None:
        """Note that a worker has finished its case, or that it never will."""
        entry = self.entries[worker]
        kind = int(entry["kind"])
        entry["kind"] = IDLE
        entry["done"][kind] += 1
        entry["seconds"][kind] += time.monotonic() - entry["wall"]
