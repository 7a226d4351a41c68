"""Label sets of a whole batch of rows at once, for macro-F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.options import check_number, check_whole
from rmls.core.ranking import Ranking
from rmls.decide.rules import Rule


@dataclass(frozen=True)
class MacroF1TopK(Rule):
    """Take k labels a row so that the expected macro-F over all rows at once is best.

    Parameters
    ----------
    k : int, default=5
    depth : int, default=100
        Best labels of every row that are considered.
    n_passes : int, default=10
        Rounds over the rows at most.

    Notes
    -----
    Expected hits and sizes of every label are kept while the rows are visited in turn; a row takes
    the k labels whose F gains most (Schultheis et al., 2023). Rows are decided together: the sets
    of a row depend on the others of the same call. Probabilities below the best ``depth`` of a row
    do not enter the expected sizes of the labels. O(entries log depth) a round.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.9, 0.2], [0.8, 0.3]])
    >>> MacroF1TopK(1).select(ranking).toarray().tolist()
    [[1, 0], [0, 1]]
    """

    name: ClassVar[str] = "macro_f1@k"
    needs_probabilities: ClassVar[bool] = True
    k: int = 5
    depth: int = 100
    n_passes: int = 10

    def __post_init__(self) -> None:
        for name in ("k", "depth", "n_passes"):
            check_whole(name, getattr(self, name), 1)
            object.__setattr__(self, name, int(getattr(self, name)))

    @property
    def top(self) -> int:
        """Number of best labels that are considered."""
        return max(self.depth, self.k)

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries are taken."""
        from rmls.kernels.cpu.decide.ascent import ascend

        considered = ranking.positions < self.top
        ranking = ranking.where(considered)
        # Expected F of label j: 2 hits_j / (size_j + expected_j). No row can be decided without the
        # others.
        expected = np.bincount(ranking.labels, ranking.scores, ranking.n_labels)
        chosen = ranking.positions < self.k
        ascend(
            ranking.indptr,
            ranking.labels,
            ranking.scores.astype(np.float64),
            expected,
            chosen,
            self.k,
            self.n_passes,
        )
        considered[considered] = chosen
        return considered


@dataclass(frozen=True)
class MacroF1Batch(Rule):
    """Give every label the rows of the batch that promise it the best F.

    Parameters
    ----------
    least : float, default=0.003
        Probabilities below this are not considered.

    Notes
    -----
    Of each label the most probable rows are taken, as many as have the best expected F with
    independent rows: ``Σ_k 2 p / (k + 1 + rest)``, where ``rest`` is the number of relevant rows
    that the others let expect. The best row of a label is always taken, because a label that is
    never predicted counts 0. So the sets of a row depend on the other rows of the call, and a batch
    should have hundreds of rows: of a few, most labels are taken. O(entries log entries).

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.9, 0.02], [0.8, 0.1]])
    >>> MacroF1Batch().select(ranking).toarray().tolist()
    [[1, 0], [1, 1]]
    """

    name: ClassVar[str] = "macro_f1_batch"
    needs_probabilities: ClassVar[bool] = True
    least: float = 0.003

    def __post_init__(self) -> None:
        check_number("least", self.least, positive=True)
        object.__setattr__(self, "least", float(self.least))

    def lowest(self, block: NDArray[np.float32]) -> Any:
        """Return the lowest probability that is considered."""
        return np.float32(self.least)

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries are taken."""
        considered = ranking.scores >= np.float32(self.least)
        labels, chances = ranking.labels[considered], ranking.scores[considered].astype(np.float64)
        # Label after label, the most probable row first; ties to the earlier row.
        order = np.lexsort((-chances, labels))
        starts = np.searchsorted(labels[order], np.arange(ranking.n_labels + 1))
        lengths = np.diff(starts)
        sums = np.concatenate([np.zeros(1), np.cumsum(chances[order])])
        taken = np.arange(len(order)) - np.repeat(starts[:-1], lengths) + 1
        hits = sums[1:] - np.repeat(sums[starts[:-1]], lengths)
        mass = np.repeat(sums[starts[1:]] - sums[starts[:-1]], lengths)
        # E[hit_i / (k + T)] with the hit known and the other rows by their expectation.
        values = hits / (taken + 1 + mass - hits / taken)
        filled = np.flatnonzero(lengths)
        best = np.maximum.reduceat(values, starts[filled]) if len(filled) else values
        is_best = np.flatnonzero(values == np.repeat(best, lengths[filled]))
        sizes = np.zeros(ranking.n_labels, dtype=np.int64)
        # Of equal values the smallest set: written last.
        sizes[labels[order][is_best[::-1]]] = taken[is_best[::-1]]
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order] = taken <= np.repeat(sizes, lengths)
        considered[considered] = chosen
        return considered
