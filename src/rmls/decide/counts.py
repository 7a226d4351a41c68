"""Held-out scores, counted in bins: all that calibration and thresholds are fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.sparse import as_label_csr

Floats = NDArray[np.float64]

MOST_COUNTS = 1 << 20
MOST_BINS, LEAST_BINS = 256, 24
MARGIN = 0.1


@dataclass
class ScoreCounts:
    """How often the labels get a score, and how often they are relevant then.

    Memory is that of the bins, whatever the number of rows: at most a million bins, or 24 a label.

    Attributes
    ----------
    low, step : float
        Bin b of a label holds scores from ``low + b * step``.
    total, positive : ndarray of float32, shape (n_labels, n_bins)
        Weight of all pairs of row and label, and of the relevant ones.

    Examples
    --------
    >>> counts = ScoreCounts.covering([[-2.0, 2.0]])
    >>> counts.add([[-1.0, 1.0], [0.5, -2.0]], [[0, 1], [1, 0]])
    >>> float(counts.total.sum()), counts.positive.sum(axis=1).tolist()
    (4.0, [1.0, 1.0])
    """

    low: float
    step: float
    total: NDArray[np.float32]
    positive: NDArray[np.float32]

    @classmethod
    def covering(cls, scores: Any) -> ScoreCounts:
        """Return empty counts for scores that lie about where those of a first block lie.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n_rows, n_labels)
        """
        block: Any = scores if sparse.issparse(scores) else np.asarray(scores, dtype=np.float32)
        values = sparse.csr_matrix(block).data if sparse.issparse(scores) else block
        if block.ndim != 2 or not values.size:
            raise InputError("bins are laid over a block of scores (rows × labels) that has some.")
        low, high = float(values.min()), float(values.max())
        _check_finite(low, high)
        # Bins wide enough for float32 to tell apart, where all scores are nearly equal.
        margin = MARGIN * (high - low) + 1e-4 * max(abs(low), abs(high)) or 1e-3
        n_labels = int(block.shape[1])
        n_bins = int(np.clip(MOST_COUNTS // n_labels, LEAST_BINS, MOST_BINS))
        step = (high - low + 2 * margin) / n_bins
        empty = np.zeros((2, n_labels, n_bins), dtype=np.float32)
        return cls(low - margin, step, empty[0], empty[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.total)

    @property
    def centres(self) -> Floats:
        """Score in the middle of every bin."""
        return np.asarray(self.low + self.step * (np.arange(self.total.shape[1]) + 0.5))

    def add(self, scores: Any, Y: Any, weights: ArrayLike | None = None) -> None:
        """Count a block of scores; ``Y`` says which labels are relevant.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n_rows, n_labels)
            Of a sparse matrix the stored entries count, zeros among them, and no others.
        Y : array-like or sparse matrix of 0/1, shape (n_rows, n_labels)
        weights : array-like of shape (n_rows,), optional
        """
        listed = sparse.issparse(scores)
        block: Any = sparse.csr_matrix(scores) if listed else np.asarray(scores, dtype=np.float32)
        truth = as_label_csr(Y)
        if block.shape != truth.shape or block.shape[1] != self.n_labels:
            raise InputError(
                f"scores of shape {block.shape} and labels of shape {truth.shape} do not fit "
                f"{self.n_labels} labels."
            )
        rows = np.ones(block.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        if rows.shape != block.shape[:1]:
            raise InputError(f"weights of shape {rows.shape} do not fit {block.shape[0]} rows.")
        if listed:
            self._add_entries(block, truth, rows)
        else:
            self._add_block(np.ascontiguousarray(block), truth, rows)

    def _add_block(
        self, block: NDArray[np.float32], truth: sparse.csr_matrix, weights: Floats
    ) -> None:
        from rmls.kernels.cpu.decide.blocks import count_block

        if block.size:
            _check_finite(float(block.min()), float(block.max()))
        count_block(
            block,
            truth.indptr.astype(np.int64),
            truth.indices.astype(np.int64),
            weights.astype(np.float32),
            np.float32(self.low),
            np.float32(self.step),
            self.total,
            self.positive,
        )

    def _add_entries(
        self, listed: sparse.csr_matrix, truth: sparse.csr_matrix, weights: Floats
    ) -> None:
        if not listed.nnz:
            return
        _check_finite(float(listed.data.min()), float(listed.data.max()))
        rows = np.repeat(np.arange(listed.shape[0], dtype=np.int64), np.diff(listed.indptr))
        true_rows = np.repeat(np.arange(truth.shape[0], dtype=np.int64), np.diff(truth.indptr))
        relevant = np.isin(
            rows * self.n_labels + listed.indices, true_rows * self.n_labels + truth.indices
        )
        n_bins = self.total.shape[1]
        places = np.clip((listed.data - self.low) / self.step, 0, n_bins - 1).astype(np.int64)
        index = listed.indices.astype(np.int64) * n_bins + places
        for counts, chosen in ((self.total, slice(None)), (self.positive, relevant)):
            added = np.bincount(index[chosen], weights[rows][chosen], counts.size)
            counts += added.reshape(counts.shape).astype(np.float32)


def _check_finite(*values: float) -> None:
    if not np.isfinite(values).all():
        raise InputError("scores must be finite numbers to be counted.")
