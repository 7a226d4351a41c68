"""Sums of a loss over entries of a score matrix ``H L'`` that is never formed as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.numeric import sigmoid
from rmls.kernels.cpu.linalg.products import csr_times_dense, products_at

Floats = NDArray[np.float32]

# Scores of a block of rows; the n x m matrix of all is never held.
BLOCK_BYTES = 16 << 20
LOSSES = ("squared", "logistic", "squared_hinge")


def loss_values(loss: str, scores: Floats, target: Floats) -> Floats:
    """Return the loss of every score; ``target`` is 1 (relevant) or -1.

    Squared: ``(s - y)^2 / 2`` with y = 0 or 1; logistic: ``log(1 + exp(-t s))``; squared hinge:
    ``max(0, 1 - t s)^2``.
    """
    if loss == "squared":
        return np.asarray(0.5 * (scores - 0.5 * (target + 1)) ** 2, dtype=np.float32)
    margin = target * scores
    if loss == "logistic":
        return np.asarray(np.logaddexp(np.float32(0), -margin), dtype=np.float32)
    return np.asarray(np.maximum(1 - margin, 0) ** 2, dtype=np.float32)


def loss_slopes(loss: str, scores: Floats, target: Floats) -> Floats:
    """Return the derivative of `loss_values` in the scores."""
    if loss == "squared":
        return np.asarray(scores - 0.5 * (target + 1), dtype=np.float32)
    if loss == "logistic":
        return np.asarray(-target * sigmoid(-target * scores), dtype=np.float32)
    return np.asarray(-2 * target * np.maximum(1 - target * scores, 0), dtype=np.float32)


def loss_curvatures(loss: str, scores: Floats, target: Floats) -> Floats:
    """Return the (generalised) second derivative of `loss_values` in the scores."""
    if loss == "squared":
        return np.ones_like(scores)
    if loss == "logistic":
        share = sigmoid(scores)
        return np.asarray(share * (1 - share), dtype=np.float32)
    # Not differentiable at the margin 1: either side serves Newton's method.
    return np.asarray(2 * (target * scores < 1), dtype=np.float32)


class Entries(Protocol):
    """The entries that count. ``H`` has a row per sample, ``L`` one per label."""

    def total(self, H: Floats, L: Floats) -> float:
        """Return the weighted loss of all entries."""

    def slope(self, H: Floats, L: Floats, by_label: bool) -> Floats:
        """Return the gradient of `total` in ``L`` or in ``H``."""

    def curve(self, H: Floats, L: Floats, direction: Floats, by_label: bool) -> Floats:
        """Return the Hessian of `total` in ``L`` or in ``H`` times ``direction``."""


@dataclass
class AllEntries:
    """Every entry of the label matrix, in blocks of rows; each use costs O(n m k)."""

    loss: str
    Y: sparse.csr_matrix
    weights: Floats

    def total(self, H: Floats, L: Floats) -> float:
        """Return the weighted loss of all entries."""
        result = 0.0
        for block, target in self._blocks():
            values = loss_values(self.loss, H[block] @ L.T, target)
            result += float(self.weights[block] @ values.sum(axis=1, dtype=np.float64))
        return result

    def slope(self, H: Floats, L: Floats, by_label: bool) -> Floats:
        """Return the gradient of `total` in ``L`` or in ``H``."""
        out = np.zeros_like(L if by_label else H)
        for block, target in self._blocks():
            slopes = loss_slopes(self.loss, H[block] @ L.T, target)
            self._contract(slopes, block, H, L, out, by_label)
        return out

    def curve(self, H: Floats, L: Floats, direction: Floats, by_label: bool) -> Floats:
        """Return the Hessian of `total` in ``L`` or in ``H`` times ``direction``."""
        out = np.zeros_like(direction)
        for block, target in self._blocks():
            curvatures = loss_curvatures(self.loss, H[block] @ L.T, target)
            # Scores are linear in either factor: the Hessian is loss'' times the change of the
            # scores.
            curvatures *= H[block] @ direction.T if by_label else direction[block] @ L.T
            self._contract(curvatures, block, H, L, out, by_label)
        return out

    def _contract(
        self, values: Floats, block: slice, H: Floats, L: Floats, out: Floats, by_label: bool
    ) -> None:
        values *= self.weights[block, None]
        if by_label:
            out += values.T @ H[block]
        else:
            out[block] = values @ L

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of rows with their targets, 1 or -1."""
        n_rows, n_labels = self.Y.shape
        size = max(1, BLOCK_BYTES // (4 * n_labels))
        for start in range(0, n_rows, size):
            block = slice(start, min(start + size, n_rows))
            target = np.full((block.stop - start, n_labels), -1, np.float32)
            labels = self.Y[block]
            target[np.repeat(np.arange(len(target)), np.diff(labels.indptr)), labels.indices] = 1
            yield block, target


class ObservedEntries:
    """The entries of a sparse pattern only; each use costs O(nnz(pattern) k)."""

    def __init__(
        self,
        loss: str,
        Y: sparse.csr_matrix,
        observed: sparse.csr_matrix,
        weights: Floats,
        n_threads: int = 1,
    ) -> None:
        self.loss, self.n_threads = loss, n_threads
        self.pattern = (observed.indptr.astype(np.int64), observed.indices)
        lengths = np.diff(observed.indptr)
        self.weights = np.repeat(weights, lengths)
        # 3 where relevant, 1 where not: no observed entry becomes a zero that a sparse sum would
        # drop.
        relevant = sparse.csr_matrix(observed + 2 * observed.multiply(Y))
        relevant.sort_indices()
        self.target: Floats = np.where(relevant.data > 1, 1, -1).astype(np.float32)
        # Numbers of the entries, transposed once: values are then brought into label order by a
        # lookup.
        places = np.arange(observed.nnz)
        numbered = sparse.csr_matrix((places, observed.indices, observed.indptr), observed.shape)
        transposed = sparse.csr_matrix(numbered.T)
        transposed.sort_indices()
        self.transposed = (transposed.indptr.astype(np.int64), transposed.indices.astype(np.int32))
        self.order = transposed.data

    def total(self, H: Floats, L: Floats) -> float:
        """Return the weighted loss of all entries."""
        values = loss_values(self.loss, self._products(H, L), self.target)
        return float(self.weights.astype(np.float64) @ values)

    def slope(self, H: Floats, L: Floats, by_label: bool) -> Floats:
        """Return the gradient of `total` in ``L`` or in ``H``."""
        slopes = loss_slopes(self.loss, self._products(H, L), self.target)
        return self._contract(slopes, H, L, by_label)

    def curve(self, H: Floats, L: Floats, direction: Floats, by_label: bool) -> Floats:
        """Return the Hessian of `total` in ``L`` or in ``H`` times ``direction``."""
        curvatures = loss_curvatures(self.loss, self._products(H, L), self.target)
        pair = (H, direction) if by_label else (direction, L)
        return self._contract(curvatures * self._products(*pair), H, L, by_label)

    def _products(self, left: Floats, right: Floats) -> Floats:
        out = np.empty(len(self.weights), np.float32)
        return products_at(*self.pattern, left, right, out, self.n_threads)

    def _contract(self, values: Floats, H: Floats, L: Floats, by_label: bool) -> Floats:
        values = values * self.weights
        if by_label:
            arrays = (*self.transposed, values[self.order], H)
            return csr_times_dense(*arrays, np.empty_like(L), self.n_threads)
        return csr_times_dense(*self.pattern, values, L, np.empty_like(H), self.n_threads)
