"""Rows of the training on their way to a device: all of them at once, or piece by piece.

A piece of a pass are the features of its visits in their order, and the labels of their rows.
Where the rows do not fit on the device they stay with the host; while one piece is trained on, a
thread gathers the next one and copies it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from rmls.kernels.arrays import LabelledRows
from rmls.kernels.gpu.draws import Labelled, mark_labels, put, repeat


class DeviceRows(NamedTuple):
    """The arrays of a CSR matrix on a device."""

    indptr: Any
    indices: Any
    data: Any


class Piece(NamedTuple):
    """Features of visits in their order, the labels of some rows, and which of these are visited.

    ``owners`` are the visits of the features.
    """

    features: DeviceRows
    owners: Any
    labelled: Labelled
    rows: Any


def take(indptr: Any, arrays: list[Any], rows: Any) -> tuple[Any, Any, list[Any]]:
    """Return rows of a CSR matrix: indptr, which of them every entry belongs to, and the others."""
    counts = indptr[rows + 1] - indptr[rows]
    owner, number = repeat(counts)
    entries = indptr[rows][owner] + number
    taken = torch.zeros(len(rows) + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(counts, 0, out=taken[1:])
    return taken, owner, [array[entries] for array in arrays]


def count_bytes(rows: LabelledRows) -> int:
    """Return the memory that all rows take on a device, with the marks of their labels."""
    return sum(array.nbytes for array in rows) + 16 * len(rows.y_indices)


class ResidentRows:
    """All rows on the device."""

    def __init__(self, rows: LabelledRows, n_labels: int, device: str) -> None:
        self.X = DeviceRows(*(put(array, device) for array in rows[:3]))
        y_indptr, y_indices = (put(array, device) for array in rows[3:5])
        self.labelled, self.device = mark_labels(y_indptr, y_indices, n_labels), device

    def pieces(self, visited: np.ndarray, cuts: list[int]) -> Iterator[Piece]:
        """Yield the pieces of a pass between the cuts."""
        rows = put(visited.astype(np.int64), self.device)
        for start, stop in pairwise(cuts):
            here = rows[start:stop]
            indptr, owners, taken = take(self.X.indptr, [self.X.indices, self.X.data], here)
            yield Piece(DeviceRows(indptr, *taken), owners, self.labelled, here)


class StreamedRows:
    """Rows in the memory of the host, copied piece by piece ahead of the training."""

    def __init__(self, rows: LabelledRows, n_labels: int, device: str) -> None:
        self.host = [put(array, "cpu") for array in rows[:5]]
        self.n_labels, self.device = n_labels, device
        self.is_cuda = device.startswith("cuda")
        self.stream = torch.cuda.Stream() if self.is_cuda else None

    def pieces(self, visited: np.ndarray, cuts: list[int]) -> Iterator[Piece]:
        """Yield the pieces of a pass between the cuts; the next one is on its way meanwhile."""
        rows = torch.from_numpy(visited.astype(np.int64))
        parts = [rows[start:stop] for start, stop in pairwise(cuts)]
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(self._bring, parts[0]) if parts else None
            for number in range(len(parts)):
                assert coming is not None
                arrays = coming.result()
                if number + 1 < len(parts):
                    coming = pool.submit(self._bring, parts[number + 1])
                if self.stream is not None:
                    torch.cuda.current_stream().wait_stream(self.stream)
                x_indptr, owners, x_indices, x_data, y_indptr, y_indices = arrays
                here = torch.arange(len(parts[number]), device=self.device)
                labelled = mark_labels(y_indptr, y_indices, self.n_labels)
                features = DeviceRows(x_indptr, x_indices, x_data)
                yield Piece(features, owners, labelled, here)

    def _bring(self, rows: Any) -> list[Any]:
        """Return features and labels of some rows on the device."""
        x_indptr, x_indices, x_data, y_indptr, y_indices = self.host
        new_x, owners, features = take(x_indptr, [x_indices, x_data], rows)
        new_y, _, labels = take(y_indptr, [y_indices], rows)
        arrays = [new_x, owners, *features, new_y, *labels]
        if not self.is_cuda:
            return arrays
        with torch.cuda.stream(self.stream) if self.stream is not None else nullcontext():
            # Pinned memory is copied while kernels run.
            brought = [array.pin_memory().to(self.device, non_blocking=True) for array in arrays]
            torch.cuda.current_stream().synchronize()
        return brought
