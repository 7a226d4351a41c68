"""Lists of labels: the best ones of rows, and the rows of every label that is listed.

The best are found by products with one tile of labels after another.
The matrix of all scores is never formed. Large searches look for candidates in half precision and
score these again in float32. Labels that do not fit on the device come tile by tile from the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from rmls.kernels.arrays import Csr, Pairs
from rmls.kernels.gpu.draws import are_relevant, mark_labels, put
from rmls.kernels.gpu.memory import free_bytes

# Scores that exist at once, of some rows and a tile of labels.
SCORES_AT_ONCE, TILE_LABELS = 1 << 28, 1 << 16
# Products from which on candidates are looked for in half precision, and how many more of them.
HALF_WORK, MORE = 1e11, 16
# Bytes of what is kept of a score while its best are found, and of one of the best.
SCORE_BYTES, BEST_BYTES = 20, 50


def search_labels(
    hidden: np.ndarray, vectors: np.ndarray, bias: np.ndarray, k: int, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best ``k`` labels of every row and their scores, by label."""
    n, m = len(hidden), len(vectors)
    free = free_bytes(device)
    half = device.startswith("cuda") and hidden.size * m >= HALF_WORK
    # Half of the memory for the labels; a quarter for rows and their best labels, and for scores.
    stays = vectors.nbytes * (1.5 if half else 1.0) <= free / 2
    L = Resident(vectors, bias, half, device) if stays else Streamed(vectors, bias, device)
    size = free / 4 / (4 * hidden.shape[1] + BEST_BYTES * (k + MORE))
    size = max(1, int(min(n, size, SCORES_AT_ONCE)))
    labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    for start in range(0, n, size):
        part = slice(start, start + size)
        found = best_of_tiles(put(hidden[part], device), L, k, free / 4 / SCORE_BYTES)
        labels[part], scores[part] = (each.cpu().numpy() for each in found)
    return labels, scores


class Resident:
    """All labels on the device."""

    def __init__(self, vectors: np.ndarray, bias: np.ndarray, half: bool, device: str) -> None:
        self.half = half
        self.exact = (put(vectors, device), put(bias, device))
        self.rough = tuple(each.half() for each in self.exact) if half else self.exact

    def __len__(self) -> int:
        return len(self.exact[0])

    def tiles(self) -> Iterator[tuple[int, Any, Any]]:
        """Yield the first label of every tile, their vectors and biases."""
        for first in range(0, len(self), TILE_LABELS):
            part = slice(first, first + TILE_LABELS)
            yield first, self.rough[0][part], self.rough[1][part]

    def take(self, labels: Any) -> tuple[Any, Any]:
        """Return vectors and biases of labels."""
        return self.exact[0][labels], self.exact[1][labels]


class Streamed:
    """Labels in the memory of the host; the next tile is copied while one is looked at."""

    half = False

    def __init__(self, vectors: np.ndarray, bias: np.ndarray, device: str) -> None:
        self.vectors, self.bias, self.device = put(vectors, "cpu"), put(bias, "cpu"), device
        self.side = torch.cuda.Stream() if device.startswith("cuda") else None

    def __len__(self) -> int:
        return len(self.vectors)

    def tiles(self) -> Iterator[tuple[int, Any, Any]]:
        """Yield the first label of every tile, their vectors and biases."""
        coming = self._bring(0)
        for first in range(0, len(self), TILE_LABELS):
            if self.side is not None:
                torch.cuda.current_stream().wait_stream(self.side)
            here, coming = coming, self._bring(first + TILE_LABELS)
            yield first, *here

    def _bring(self, first: int) -> Any:
        part = slice(first, first + TILE_LABELS)
        arrays = [self.vectors[part], self.bias[part]]
        if self.side is None:
            return arrays
        with torch.cuda.stream(self.side):
            brought = [array.pin_memory().to(self.device, non_blocking=True) for array in arrays]
        for array in brought:
            array.record_stream(torch.cuda.current_stream())
        return brought


def best_of_tiles(
    h: Any, L: Resident | Streamed, k: int, room: float = SCORES_AT_ONCE
) -> tuple[Any, Any]:
    """Return the best ``k`` labels of every row of ``h`` and their scores, in label order.

    At most ``room`` scores exist at once. Every tile of labels is brought once.
    """
    wanted = min(len(L), k + MORE) if isinstance(L, Resident) and L.half else min(len(L), k)
    rough = h.half() if L.half else h
    scores, labels = rough[:, :0], torch.empty((len(h), 0), dtype=torch.int64, device=h.device)
    size = max(1, int(min(room, SCORES_AT_ONCE)) // min(len(L), TILE_LABELS))
    for first, vectors, bias in L.tiles():
        found = [
            _join_best((scores[part], labels[part]), (rough[part], vectors, bias, first), wanted)
            for part in (slice(start, start + size) for start in range(0, len(h), size))
        ]
        scores, labels = (torch.cat(each) for each in zip(*found, strict=True))
    if isinstance(L, Resident) and L.half:
        scores, labels = _score_again(h, L, labels, k)
    labels, order = labels.sort(dim=1)
    return labels.to(torch.int32), scores.gather(1, order)


def _join_best(best: tuple[Any, Any], seen: Any, wanted: int) -> tuple[Any, Any]:
    """Return the best labels so far and of a tile: vectors and biases of labels from ``first``."""
    (scores, labels), (h, vectors, bias, first) = best, seen
    tile = torch.addmm(bias, h, vectors.T)
    found, places = tile.topk(min(wanted, tile.shape[1]), dim=1, sorted=False)
    if not scores.shape[1]:
        return found, places + first
    scores, labels = torch.cat([scores, found], 1), torch.cat([labels, places + first], 1)
    scores, places = scores.topk(min(wanted, scores.shape[1]), dim=1, sorted=False)
    return scores, labels.gather(1, places)


def _score_again(h: Any, L: Resident, labels: Any, k: int) -> tuple[Any, Any]:
    """Return the best ``k`` of candidates by their scores in float32."""
    scores = torch.empty(labels.shape, device=h.device)
    size = max(1, SCORES_AT_ONCE // (labels.shape[1] * h.shape[1]))
    for start in range(0, len(h), size):
        part = slice(start, start + size)
        vectors, bias = L.take(labels[part])
        scores[part] = torch.baddbmm(bias[:, :, None], vectors, h[part][:, :, None])[:, :, 0]
    scores, places = scores.topk(min(k, scores.shape[1]), dim=1, sorted=False)
    return scores, labels.gather(1, places)


def pair_rows(Y: Csr, listed: np.ndarray, n_labels: int, zeros: Any, device: str) -> Pairs:
    """Return for every label the rows that have it, then the rows that list it."""
    n, k = listed.shape
    labelled = mark_labels(put(Y.indptr, device), put(Y.indices, device), n_labels)
    every = torch.arange(n, device=device)
    label = put(listed, device).view(-1).long()
    row = every.repeat_interleave(k)
    kept = label >= 0
    kept &= ~are_relevant(labelled, row, label.clamp(min=0))
    own = torch.repeat_interleave(every, labelled.indptr.diff())
    # A stable sort keeps the order of the rows.
    keys = torch.cat([2 * labelled.indices.long(), 2 * label[kept] + 1])
    rows = torch.cat([own, row[kept]]).to(torch.int32)[keys.sort(stable=True).indices]
    n_relevant = torch.bincount(labelled.indices.long(), minlength=n_labels)
    counts = n_relevant + torch.bincount(label[kept], minlength=n_labels)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts.cpu().numpy())])
    found = zeros(int(indptr[-1]), np.int32)
    found[...] = rows.cpu().numpy()
    return Pairs(indptr, found, n_relevant.cpu().numpy())
