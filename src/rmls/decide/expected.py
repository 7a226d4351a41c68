"""Label sets of the best expected F or Jaccard value, from probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.ranking import Ranking
from rmls.decide.rules import Rule

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _BestSize(Rule):
    """Take the best labels of every row, as many as promise the best value."""

    needs_probabilities: ClassVar[bool] = True

    def keep(self, ranking: Ranking) -> Ranking:
        """Return the best set of every row: at least one label, unless all are impossible.

        Notes
        -----
        Labels that are not listed count with ``ranking.rest`` in the expected size of the truth.
        O(number of entries), given that they are sorted.
        """
        if not len(ranking.scores):
            return ranking
        starts, filled = ranking.indptr[:-1], ranking.lengths > 0
        sums = np.concatenate([[0.0], np.cumsum(ranking.scores, dtype=np.float64)])
        inside = sums[1:] - np.repeat(sums[starts], ranking.lengths)
        mass = sums[ranking.indptr[1:]] - sums[starts]
        if ranking.rest is not None:
            mass = mass + ranking.rest
        positions = ranking.positions
        values = self._value(inside, positions + 1, np.repeat(mass, ranking.lengths))
        best = np.zeros(ranking.n_samples)
        best[filled] = np.maximum.reduceat(values, starts[filled])
        last = np.zeros(ranking.n_samples, dtype=np.int64)
        reaches = np.where(values >= np.repeat(best, ranking.lengths), positions, len(values))
        last[filled] = np.minimum.reduceat(reaches, starts[filled])
        last[best <= 0] = -1
        return ranking.where(positions <= np.repeat(last, ranking.lengths))

    def lowest(self, block: NDArray[np.float32]) -> Any:
        """Return for each row a probability below which no label can be in the best set."""
        best = block.max(axis=1).astype(np.float64)
        mass = block.sum(axis=1, dtype=np.float64)
        # A little less than the bound: sums of float32 are rounded.
        least = (1 - 1e-6) * self._least(best, mass)
        return np.minimum(least, best).astype(np.float32)[:, None]

    def _value(self, inside: Floats, size: Any, mass: Floats) -> Floats:
        """Return the plug-in value of sets from the sum of their probabilities and their size."""
        raise NotImplementedError

    def _least(self, best: Floats, mass: Floats) -> Floats:
        """Return what the next label must promise beyond a set of the best label alone."""
        raise NotImplementedError


@dataclass(frozen=True)
class ExpectedF1(_BestSize):
    """Take the set with the best expected F, ``2 S_k / (k + sum of all probabilities)``.

    Notes
    -----
    The plug-in value replaces the expectation of a ratio by the ratio of expectations. Against all
    subsets of up to 8 independent labels its set lost at most 0.073 of the expected F, in rows like
    (1, 0.37, 0.37) that were searched for, and 0.003 on average of rows drawn at random; three
    quarters of the sets and more are the best.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.9, 0.5, 0.1], [0.2, 0.1, 0.1]])
    >>> ExpectedF1().select(ranking).toarray().tolist()
    [[1, 1, 0], [1, 0, 0]]
    """

    name: ClassVar[str] = "f1"

    def _value(self, inside: Floats, size: Any, mass: Floats) -> Floats:
        return np.asarray(2 * inside / (size + mass))

    def _least(self, best: Floats, mass: Floats) -> Floats:
        # A label helps while its probability exceeds half the F reached so far.
        return best / (1 + mass)


@dataclass(frozen=True)
class ExpectedJaccard(_BestSize):
    """Take the set with the best expected Jaccard value, ``S_k / (k + sum beyond the first k)``.

    Notes
    -----
    The plug-in value J is ``F / (2 - F)`` of the plug-in F, which rises with F: the sets are those
    of `ExpectedF1`. Measured as there, they lost at most 0.101 of the expected Jaccard value, and
    0.004 on average.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.9, 0.5, 0.1]])
    >>> ExpectedJaccard().select(ranking).toarray().tolist()
    [[1, 1, 0]]
    """

    name: ClassVar[str] = "jaccard"

    def _value(self, inside: Floats, size: Any, mass: Floats) -> Floats:
        return np.asarray(inside / (size + mass - inside))

    def _least(self, best: Floats, mass: Floats) -> Floats:
        return best / (1 + mass + best)
