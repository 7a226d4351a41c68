"""Working memory that goes with the number of labels, kept for every thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.cpu.ranker.names import make_room

Floats = NDArray[np.float32]


class Scratch(threading.local):
    """Working memory of one thread, zero between calls: none is made for the next row."""

    def __init__(self) -> None:
        self._sums, self._places = np.zeros(0, np.float32), np.zeros(0, np.int64)
        self._numbers = np.zeros(0, np.int32)
        self._names: Any = None
        self._sizes = (0, 0)

    def sums(self, n_labels: int) -> Floats:
        """Return a number for each of at least so many labels."""
        if len(self._sums) < n_labels:
            self._sums = np.zeros(n_labels, np.float32)
        return self._sums

    def places(self, n_labels: int) -> NDArray[np.int64]:
        """Return a place for each of at least so many labels."""
        if len(self._places) < n_labels:
            self._places = np.zeros(n_labels, np.int64)
        return self._places

    def numbers(self, n_labels: int) -> NDArray[np.int32]:
        """Return the numbers from 0 to below so many; they are only read."""
        if len(self._numbers) < n_labels:
            self._numbers = np.arange(n_labels, dtype=np.int32)
        return self._numbers[:n_labels]

    def names(self, n_names: int, n_labels: int) -> Any:
        """Return the room of at least so many names and labels."""
        if n_names > self._sizes[0] or n_labels > self._sizes[1]:
            self._sizes = (max(n_names, self._sizes[0]), max(n_labels, self._sizes[1]))
            self._names = make_room(*self._sizes)
        return self._names


SCRATCH = Scratch()
