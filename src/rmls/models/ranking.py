"""From dense score blocks to rankings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from rmls.core.ranking import Ranking
from rmls.kernels import cpu


def rank_block(
    scores: NDArray[np.float32],
    labels_out: NDArray[np.int32],
    scores_out: NDArray[np.float32],
    n_threads: int,
) -> None:
    """Write the best labels of every row of ``scores`` and their scores to the two tables."""
    n_rows = len(scores)
    if n_threads == 1 or n_rows < 2 * n_threads:
        cpu.best_of_rows(scores, 0, n_rows, labels_out, scores_out)
        return
    cuts = np.linspace(0, n_rows, n_threads + 1).astype(int)
    with ThreadPoolExecutor(n_threads) as pool:
        list(
            pool.map(
                lambda start, stop: cpu.best_of_rows(scores, start, stop, labels_out, scores_out),
                cuts[:-1],
                cuts[1:],
            )
        )


def select_above(scores: NDArray[np.float32], threshold: np.float32) -> Ranking:
    """Rank only the labels that score at least ``threshold``."""
    rows, labels = np.nonzero(scores >= threshold)
    values = scores[rows, labels]
    order = np.lexsort((labels, -values, rows))
    counts = np.bincount(rows, minlength=len(scores))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ranking(indptr, labels[order].astype(np.int32), values[order], scores.shape[1])
