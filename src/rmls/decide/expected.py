"""Label sets of the best expected F or Jaccard value, from probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.ranking import Ranking
from rmls.decide.rules import Rule

Floats = NDArray[np.float64]

# Correct to the last digits for up to so many labels; twice the nodes for four times the labels
# (docs/decisions.md).
N_NODES, NODE_LABELS, MOST_DOUBLINGS = 24, 40, 5
FEW = 0.02
"""Labels below this probability are counted by their sum alone."""


@dataclass(frozen=True)
class _BestSize(Rule):
    """Take the best labels of every row, as many as promise the best value."""

    needs_probabilities: ClassVar[bool] = True
    _kernel: ClassVar[str] = ""

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return the best set of every row: at least one label, unless all are impossible.

        Notes
        -----
        Labels that are not listed count with ``ranking.rest`` in the expected size of the truth.
        24 visits of every entry of rows with up to 40 labels, given that they are sorted; 48 up
        to 160, and so on.
        """
        from rmls.kernels.cpu.decide import expectation

        # Many improbable labels act on the size of the truth as a Poisson number with this mean.
        rest = ranking.rest if ranking.rest is not None else np.zeros(ranking.n_samples)
        sizes = np.zeros(ranking.n_samples, dtype=np.int64)
        scores = ranking.scores.astype(np.float64)
        best_sizes = getattr(expectation, self._kernel)
        rest = rest.astype(np.float64)
        best_sizes(ranking.indptr, scores, rest, _nodes_for(ranking.lengths + rest), sizes)
        return ranking.positions < np.repeat(sizes, ranking.lengths)

    def lowest(self, block: NDArray[np.float32]) -> Any:
        """Return for each row a probability below which no label can be in the best set."""
        best = block.max(axis=1).astype(np.float64)
        mass = block.sum(axis=1, dtype=np.float64)
        # Labels below go to ``rest`` unseen: only a few of m are sorted.
        return np.minimum(self._min_probability(best, mass), FEW).astype(np.float32)[:, None]

    def _min_probability(self, best: Floats, mass: Floats) -> Floats:
        """Return what any label of the best set must promise at least."""
        raise NotImplementedError


@dataclass(frozen=True)
class ExpectedF1(_BestSize):
    """Take the set with the best expected F.

    Notes
    -----
    Exact for labels that are independent given the row: the expectation over all truths is an
    integral, computed to the last digits, and the best set consists of the most probable labels. A
    truth without labels counts 0, as in `rmls.metrics`.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.9, 0.5, 0.1], [0.9, 0.1, 0.1]])
    >>> ExpectedF1().select(ranking).toarray().tolist()
    [[1, 1, 0], [1, 0, 0]]
    """

    name: ClassVar[str] = "f1"
    _kernel: ClassVar[str] = "best_sizes_f"

    def _min_probability(self, best: Floats, mass: Floats) -> Floats:
        # The last label of the best set has p >= 3/8 F, and F >= 2 best / (2 + mass).
        return 0.75 * best / (2 + mass)


@dataclass(frozen=True)
class ExpectedJaccard(_BestSize):
    """Take the set with the best expected Jaccard value (accuracy); sets are a little smaller.

    Notes
    -----
    Exact for labels that are independent given the row, as `ExpectedF1`.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.9, 0.5, 0.1], [1.0, 0.4, 0.3]])
    >>> ExpectedJaccard().select(ranking).toarray().tolist()
    [[1, 1, 0], [1, 0, 0]]
    """

    name: ClassVar[str] = "jaccard"
    _kernel: ClassVar[str] = "best_sizes_jaccard"

    def _min_probability(self, best: Floats, mass: Floats) -> Floats:
        # The last label of the best set has p >= 2/5 J, and J >= best / (1 + mass).
        return 0.4 * best / (1 + mass)


def _nodes_for(n_labels: Floats) -> Any:
    """Return the nodes for rows with so many labels that count."""
    from rmls.kernels.cpu.decide.expectation import Nodes

    # Nodes lie 1 / q^2 apart at t = 1, where the integrand is 1 / n wide: q grows with sqrt(n).
    doublings = np.ceil(np.log2(np.maximum(n_labels / NODE_LABELS, 1)) / 2).astype(np.int64)
    rules = np.minimum(doublings, MOST_DOUBLINGS)
    return Nodes(*_quadratures(int(rules.max(initial=0)) + 1), rules)


@lru_cache(maxsize=MOST_DOUBLINGS + 1)
def _quadratures(n_rules: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return nodes and weights of Gauss and Legendre on [0, 1], each rule of twice the nodes."""
    both = [np.polynomial.legendre.leggauss(N_NODES << rule) for rule in range(n_rules)]
    starts = np.cumsum([0, *(len(nodes) for nodes, _ in both)])
    # From [-1, 1] to [0, 1], where 1/(k + n) is the integral of t^(k + n - 1).
    places = np.concatenate([(nodes + 1) / 2 for nodes, _ in both])
    return places, np.concatenate([weights / 2 for _, weights in both]), starts
