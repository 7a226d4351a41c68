"""Scores of shortlists: what a trained ranker does with new rows, and what decisions rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.core.resources import for_blocks
from rmls.decide import CardinalityCount, ScoreCounts, Threshold
from rmls.kernels.arrays import Mixture, SparseWeights
from rmls.kernels.backend import Vectors, csr_arrays, get_backend
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.label_index import LabelIndex
from rmls.models.shared.evidence import fit_threshold
from rmls.models.shared.score_blocks import require_finite

Floats = NDArray[np.float32]


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

    def take(self, rows: NDArray[np.int64]) -> Shortlists:
        """Return the lists of some rows."""
        return Shortlists(self.labels[rows], self.scores[rows])


@dataclass(frozen=True)
class Proposer:
    """Vectors, the index of their labels, and how many labels they propose."""

    vectors: Vectors
    index: LabelIndex
    size: int

    def propose(self, X: sparse.csr_matrix) -> Shortlists:
        """Return the best labels of a few normalised rows."""
        return Shortlists(*self.index.search(self.vectors.hidden(X), self.size))

    def propose_all(
        self, X: sparse.csr_matrix, n_threads: int, tick: Callable[[float], None] | None = None
    ) -> Shortlists:
        """Return the best labels of many normalised rows, block by block.

        ``tick`` is called with the share of the rows that is done, from any thread.
        """
        shape = (int(X.shape[0]), self.size)
        found = Shortlists(np.empty(shape, np.int32), np.empty(shape, np.float32))
        done: list[int] = []

        def work(start: int, stop: int) -> None:
            part = self.propose(X[start:stop])
            found.labels[start:stop], found.scores[start:stop] = part.labels, part.scores
            done.append(stop - start)
            if tick is not None:
                tick(sum(done) / shape[0])

        for_blocks(work, shape[0], self.index.block_rows, n_threads)
        return found


@dataclass(frozen=True)
class Stages:
    """A trained model: what proposes and what decides."""

    proposer: Proposer
    weights: SparseWeights
    index_recall: float


@dataclass(frozen=True)
class ListScorer:
    """Proposes labels by vectors, scores them by sparse weights too, and combines the scores.

    Attributes
    ----------
    proposer : Proposer
    weights : SparseWeights
    mixture : Mixture
        The combination that ranks, in which rare labels are boosted.
    logits : Mixture
        The combination without the boost, which probabilities come from.
    """

    proposer: Proposer
    weights: SparseWeights
    mixture: Mixture
    logits: Mixture

    @property
    def boost(self) -> Floats:
        """What is added to the logit of every label before ranking."""
        return np.asarray(self.mixture.coefficients[:, 0] - self.logits.coefficients[:, 0])

    def score(self, X: sparse.csr_matrix, mixture: Mixture) -> tuple[Shortlists, Floats]:
        """Return the shortlists of a few normalised rows, and their combined scores."""
        found = self.proposer.propose(X)
        backend = get_backend(self.proposer.vectors.device)
        # Work of the stored weights of the row's features, not of all labels: pruning left few.
        own = backend.score_lists(csr_arrays(X), self.weights, found.labels)
        return found, backend.mix_lists(found.labels, own, found.scores, mixture)

    def rank(self, X: sparse.csr_matrix, k: int, mixture: Mixture, n_threads: int) -> Ranking:
        """Return the best ``k`` labels on the shortlist of every normalised row."""
        labels = np.empty((X.shape[0], k), np.int32)
        scores = np.empty((X.shape[0], k), np.float32)
        backend = get_backend(self.proposer.vectors.device)

        def work(start: int, stop: int) -> None:
            found, combined = self.score(X[start:stop], mixture)
            best = backend.rank_lists(found.labels, combined, k)
            labels[start:stop], scores[start:stop] = best

        for_blocks(work, int(X.shape[0]), self.proposer.index.block_rows, n_threads)
        return Ranking.from_table(labels, require_finite(scores), self.proposer.vectors.n_labels)

    def score_all(self, X: sparse.csr_matrix) -> Floats:
        """Return scores of all labels: those that are not listed follow below, by their vectors."""
        vectors = self.proposer.vectors
        result = np.empty((X.shape[0], vectors.n_labels), np.float32)

        def work(start: int, stop: int) -> None:
            found, combined = self.score(X[start:stop], self.mixture)
            part = result[start:stop]
            part[:] = vectors.scores(vectors.hidden(X[start:stop]))
            # All that is not listed goes below what is, however large the scores are.
            part -= found.scores.min(axis=1, keepdims=True)
            # A search in clusters may miss a label that scores above listed ones: it is capped
            # here.
            np.minimum(part, 0, out=part)
            lowest = combined.min(axis=1, keepdims=True)
            below = np.nextafter(lowest, np.float32(-np.inf))
            # Where scores are so large that 0.001 is lost to rounding, the next float is below.
            part += np.minimum(lowest - np.float32(1e-3), below)
            np.put_along_axis(part, found.labels, combined, axis=1)

        for_blocks(work, int(X.shape[0]), self.proposer.index.block_rows, 1)
        return result


@dataclass(frozen=True)
class ListedRows:
    """The evidence of a ranker: the rows that its combination was learned from."""

    held: HeldOut
    scorer: ListScorer

    def cardinality_threshold(self) -> float:
        """Return the score above which as many labels are predicted as the rows have."""
        held = self.held
        counter = CardinalityCount(float(held.weights @ np.diff(held.truth.indptr)))
        counter.add(held.combined(self.scorer.mixture), held.weights)
        return counter.threshold()

    def tune(self, rule: Threshold) -> Threshold:
        """Return the rule with the threshold that suits its metric best."""
        return fit_threshold(rule, self.held.ranking(self.scorer.mixture), self.held.truth)

    def count_scores(self) -> ScoreCounts:
        """Return counts of the scores without the boost of rare labels."""
        held = self.held
        indptr = np.arange(0, held.labels.size + 1, held.labels.shape[1])
        logits = held.combined(self.scorer.logits).ravel()
        scores = sparse.csr_matrix((logits, held.labels.ravel(), indptr), held.truth.shape)
        # Only listed pairs are counted: probabilities are asked for listed labels alone.
        counts = ScoreCounts.covering(scores)
        counts.add(scores, held.truth, held.weights)
        return counts
