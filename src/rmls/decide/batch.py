"""The best k labels of a whole batch of rows for macro-F: block coordinate ascent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.options import check_whole
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
