"""Labels that come later: what is known of them is their names and perhaps a few rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmls.core.errors import InputError
from rmls.models.ranker.combination import (
    N_ENDS,
    N_NAME_COLUMNS,
    PLAIN_SLOPES,
    PLAIN_UNSEEN,
)
from rmls.models.ranker.label_words import LabelWords
from rmls.models.ranker.live.blocks import LabelParts, NameParts, as_csr, later_block
from rmls.models.ranker.live.tables import append_tables
from rmls.models.ranker.names import weigh_names
from rmls.models.ranker.scoring import LabelBlock
from rmls.models.ranker.sources import Background, Silent

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

# Added to the covariance of the vectors of rows, in units of its mean eigenvalue.
RIDGE = 1.0
# Rows at the mean of all that every label is given: the mean of two rows says little.
PRIOR_ROWS = 1.0
# How far relevant labels are above others in the score of the vectors, where nothing says it.
USUAL_RISE = 5.0

Floats = NDArray[np.float32]


def append_labels(
    changed: RMLSRanker, blocks: list[LabelBlock], names: list[Any], words: LabelWords | None
) -> list[LabelBlock]:
    """Put labels without rows behind the others; returns the blocks with them."""
    params = blocks[0].proposer.vectors.params
    d, k = params.W.shape
    count = len(names)
    called = NameParts.none(d)
    if words is not None and words.words.nnz:
        blocks = _with_names(changed, blocks)
        called = weigh_words(changed, words)
    parts = LabelParts(
        np.zeros((count, k), np.float32),
        np.full(count, usual_score(changed), np.float32),
        as_csr([], [], np.zeros(count + 1, np.int64), d),
        # As of a label without rows in a training.
        np.full(count, -1.0, np.float32),
        called,
        np.ones(count, np.float32),
    )
    n_first = blocks[0].proposer.vectors.n_labels
    if len(blocks) > 1:
        parts = LabelParts.of(blocks[1]).append(parts)
    append_tables(changed, names, np.zeros(count))
    return [blocks[0], later_block(blocks[0], parts, changed.precision, n_first)]


def _with_names(changed: RMLSRanker, blocks: list[LabelBlock]) -> list[LabelBlock]:
    """Let names be heard by a model whose own labels have none that say anything."""
    combination = changed.combination_
    sources = blocks[0].proposer.sources
    if sources and (sources[0].kind == "names" or sources[0].n_columns == N_NAME_COLUMNS):
        return blocks
    # Only labels that come later have names: what is usual counts for them, whatever their rows.
    slopes = np.hstack([np.tile(PLAIN_SLOPES, (N_ENDS, 1)), combination.slopes])
    unseen = np.concatenate([PLAIN_UNSEEN, np.zeros(combination.slopes.shape[1])])
    changed.combination_ = replace(combination, slopes=slopes, unseen=unseen)
    silent = Silent(N_NAME_COLUMNS)
    return [
        replace(block, proposer=replace(block.proposer, sources=(silent, *block.proposer.sources)))
        for block in blocks
    ]


def weigh_words(changed: RMLSRanker, words: LabelWords) -> NameParts:
    """Return names whose words weigh what their rarity in the training rows says."""
    background = changed._background
    assert background is not None
    total = changed._frequencies.total
    rarity = np.log((1 + total) / (1 + total * background.shares.astype(np.float64))) + 1
    return NameParts(*weigh_names(words.words, rarity, np.ones_like(rarity)), words.owners)


def usual_score(changed: RMLSRanker) -> float:
    """Return the mean score that the vectors of labels give to any row."""
    params = changed._scorer.proposer.vectors.params
    assert changed._background is not None
    return float((params.L @ changed._background.hidden + params.c).mean())


@dataclass(frozen=True)
class VectorMaker:
    """Vectors of labels from the vectors of their rows: a discriminant, scaled as the others are.

    Attributes
    ----------
    background : Background
    low, high : float
        Score of rows that have nothing to do with a label, and of its own.
    """

    background: Background
    low: float
    high: float

    @classmethod
    def of(cls, changed: RMLSRanker) -> VectorMaker:
        """Return the maker for a model."""
        assert changed._background is not None
        low = usual_score(changed)
        # Half of the relevant labels of held-out rows score higher than the knot.
        knot = float(changed.combination_.knots[2])
        return cls(changed._background, low, knot if knot > low else low + USUAL_RISE)

    def make(self, hidden: Floats, Y: sparse.csr_matrix) -> tuple[Floats, Floats]:
        """Return a vector and a bias for every column of ``Y`` that has rows."""
        spread = self.background.spread.astype(np.float64)
        mean = self.background.hidden.astype(np.float64)
        k = len(mean)
        size = float(np.trace(spread)) / k or 1.0
        spread.flat[:: k + 1] += RIDGE * size
        counts = np.asarray(Y.sum(axis=0), np.float64).ravel()
        sums = Y.T @ (hidden - mean)
        shifts = sums / (counts + PRIOR_ROWS)[:, None]
        vectors = self._solve(spread, shifts)
        own = np.einsum("ij,ij->i", vectors, sums / np.maximum(counts, 1)[:, None])
        # Rows of the label score high, the mean of all rows low.
        vectors *= ((self.high - self.low) / np.where(own > 0, own, 1.0))[:, None]
        bias = self.low - vectors @ mean
        return vectors.astype(np.float32), bias.astype(np.float32)

    def _solve(self, spread: NDArray[np.float64], shifts: NDArray[np.float64]) -> Any:
        try:
            return linalg.cho_solve(linalg.cho_factor(spread), shifts.T).T
        except (linalg.LinAlgError, ValueError) as error:
            raise InputError("what the model says of its rows is no covariance.") from error
