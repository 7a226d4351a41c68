"""The best labels of some rows so far, in memory of a fixed size a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.arrays import Leading
from rmls.kernels.backend import read_only
from rmls.kernels.cpu.linalg.select import offer_scores, room_for, take_best, take_best_again
from rmls.kernels.cpu.ranker.listed import SCRATCH

TILE_LABELS, TILE_ROWS = 1024, 32
# Labels whose scores tell what it takes to be among the best.
SAMPLE = 512

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]


class CpuSelection:
    """The best labels of some rows so far, in memory of a fixed size a row."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.k = k
        self._keys, self._counts, self._lowest = room_for(n_rows, k)

    def offer(self, scores: Floats, labels: Labels, rows: NDArray[np.int64]) -> None:
        """Show the scores of some labels to some rows."""
        offer_scores(scores, labels, rows, self.k, self._keys, self._counts, self._lowest)

    def expect(self, scores: Floats | np.float32, rows: Any = slice(None)) -> None:
        """Forget what some rows were shown; lower scores than these will not count for them."""
        self._counts[rows], self._lowest[rows] = 0, scores

    def rows_below(self, count: int) -> NDArray[np.int64]:
        """Return the rows that were shown fewer labels that count."""
        return np.flatnonzero(self._counts < count)

    def offer_all(
        self,
        score: Callable[[slice], Floats],
        labels: Labels,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Show the scores of all labels to all rows, or some, in tiles that stay in the cache."""
        rows = np.arange(len(self._counts)) if rows is None else rows
        # Scores of a row or two are in the cache, however many; every call takes microseconds.
        size = TILE_LABELS * max(1, TILE_ROWS // max(len(rows), 1))
        for first in range(0, len(labels), size):
            part = slice(first, first + size)
            self.offer(score(part), labels[part], rows)

    def take_again(
        self, k: int, hidden: Floats, vectors: Floats, bias: Floats, following: Labels
    ) -> tuple[Labels, Floats]:
        """Return the best ``k`` by ``h . l_j + c_j``, of these and all with the same vectors."""
        labels, scores = make_tables(len(self._counts), k)
        offered = (self._keys, self._counts)
        known = (hidden, read_only(vectors), read_only(bias))
        take_best_again(k, self.k, *offered, *known, read_only(following), labels, scores)
        return labels, scores

    def take(self) -> tuple[Labels, Floats]:
        """Return the best labels of every row and their scores, in the order of the labels."""
        labels, scores = make_tables(len(self._counts), self.k)
        take_best(self.k, self._keys, self._counts, labels, scores)
        return labels, scores


def guess_scores(cut: Floats, leading: Leading, wanted: int) -> Floats:
    """Return a score for every row that some more labels than are wanted have, as far as one knows.

    Labels at even distances are a sample of all. Without a score to beat from the start, lists
    would fill up, and be parted, again and again.
    """
    step = len(leading.labels) // SAMPLE
    sample = leading.vectors[step // 2 :: step][:SAMPLE]
    # A deviation more than are wanted: few rows get fewer than these, hardly one less than half.
    share = wanted * SAMPLE / len(leading.labels)
    found = CpuSelection(len(cut), min(math.ceil(share + math.sqrt(share)), SAMPLE))
    found.offer(cut @ sample.T, SCRATCH.numbers(SAMPLE), np.arange(len(cut)))
    lowest: Floats = found.take()[1].min(axis=1)
    return lowest


def make_tables(n_rows: int, k: int) -> tuple[Labels, Floats]:
    """Return room for labels and scores of some rows."""
    return np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
