"""The labels that a representation proposes for a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels import cpu
from rmls.models.ranker.label_index import LabelClusters
from rmls.models.ranker.representation import Representation
from rmls.models.shared.threads import for_blocks

BLOCK_ROWS = 256
SEARCHED_ROWS = 2048


@dataclass(frozen=True)
class Shortlists:
    """The proposed labels of rows, in the order of the labels, with their scores.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_rows, size)
    scores : ndarray of float32, shape (n_rows, size)
    """

    labels: NDArray[np.int32]
    scores: NDArray[np.float32]

    @classmethod
    def empty(cls, n_rows: int, size: int) -> Shortlists:
        """Return tables to be filled."""
        return cls(np.empty((n_rows, size), np.int32), np.empty((n_rows, size), np.float32))


def block_rows(index: LabelClusters | None) -> int:
    """Return how many rows to score at a time; the more, the more of them share a cluster."""
    return BLOCK_ROWS if index is None else SEARCHED_ROWS


def propose(
    representation: Representation,
    X: sparse.csr_matrix,
    start: int,
    stop: int,
    size: int,
    index: LabelClusters | None = None,
) -> Shortlists:
    """Return the best labels of rows ``start`` to ``stop``, of an index if there is one."""
    found = Shortlists.empty(stop - start, size)
    hidden = representation.hidden(X, start, stop)
    keys, counts, _ = (index or representation).search(hidden, size)
    cpu.take_best(size, keys, counts, found.labels, found.scores)
    return found


def propose_all(
    representation: Representation,
    X: sparse.csr_matrix,
    size: int,
    n_threads: int,
    index: LabelClusters | None = None,
) -> Shortlists:
    """Return the shortlists of all rows."""
    found = Shortlists.empty(X.shape[0], size)

    def work(start: int, stop: int) -> None:
        part = propose(representation, X, start, stop, size, index)
        found.labels[start:stop] = part.labels
        found.scores[start:stop] = part.scores

    for_blocks(work, X.shape[0], block_rows(index), n_threads)
    return found
