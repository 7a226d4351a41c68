"""Scores of shortlists: what a trained ranker does with new rows, and what decisions rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.core.resources import for_blocks, require_memory
from rmls.decide import CardinalityCount, ScoreCounts, Threshold
from rmls.kernels.arrays import ListScores, Mixture, SparseWeights, WeightTables
from rmls.kernels.backend import Vectors, csr_arrays, get_backend
from rmls.models.ranker.combination import Frequencies, HeldOut, no_more
from rmls.models.ranker.label_index import LabelIndex
from rmls.models.ranker.sources import Rows, Source
from rmls.models.shared.evidence import fit_threshold
from rmls.models.shared.score_blocks import require_finite
from rmls.models.shared.training_set import TrainingSet

Floats = NDArray[np.float32]

# Where longer lists pay, and how many pairs they may make (docs/research/ranker.md).
ENOUGH_RECALL, MAX_LONG_PAIRS = 0.85, 10_000_000
# A listed label, and its place, row and dual variable among the pairs.
PAIR_BYTES = 24
# A further source may fill this part of a list: the other labels are those of the vectors.
FOUND_PART = 5
# Rows that are scored sooner with tables of the weights, which are made first.
WORTH_TABLES = 64


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


@dataclass(frozen=True)
class Proposer:
    """Vectors, the index of their labels, how many labels they propose, and further sources."""

    vectors: Vectors
    index: LabelIndex
    size: int
    sources: tuple[Source, ...] = ()

    def look(self, rows: Rows) -> list[Any]:
        """Return what every further source sees in a few normalised rows."""
        return [source.look(rows) for source in self.sources]

    def propose(
        self, rows: Rows, seen: list[Any] | None = None, hidden: Floats | None = None
    ) -> Shortlists:
        """Return the best labels of a few normalised rows."""
        hidden = self.vectors.hidden(rows.X) if hidden is None else hidden
        found = Shortlists(*self.index.search(hidden, self.size))
        if self.sources and self.size < self.vectors.n_labels:
            found = self._join(found, self._find(self.look(rows) if seen is None else seen), hidden)
        return found

    def _find(self, seen: list[Any]) -> NDArray[np.int32]:
        """Return the labels that any source wants to be listed, each of them once."""
        most = max(self.size // FOUND_PART, 1)
        first, *others = (
            source.find(part, most) for source, part in zip(self.sources, seen, strict=True)
        )
        for found in others:
            again = (found[:, :, None] == first[:, None, :]).any(axis=2)
            first = np.hstack([first, np.where(again, -1, found)])
        return first

    def _join(self, listed: Shortlists, found: NDArray[np.int32], hidden: Floats) -> Shortlists:
        """Let the weakest of the listed labels give way to those that a source has found."""
        get_backend(self.vectors.device).join_lists(
            listed.labels, listed.scores, found, hidden, self.vectors.params
        )
        return listed

    def more(self, seen: list[Any], labels: NDArray[np.int32]) -> Floats:
        """Return what the further sources say of the listed labels of a few rows."""
        sources = zip(self.sources, seen, strict=True)
        parts = [source.score(part, labels) for source, part in sources]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([no_more(labels), *parts], axis=2)

    def misses_labels(self, data: TrainingSet, longest: int, n_threads: int) -> bool:
        """Tell whether lists of held-out rows miss many labels, and longer ones are cheap.

        Not of a search in clusters, which is built for the length that the lists have.
        """
        held, n_pairs = data.left_out, data.n_rows * longest
        if longest <= self.size or n_pairs > MAX_LONG_PAIRS or self.index.n_probe:
            return False
        found = self.propose_all(Rows.of(held), n_threads)
        listed = (found.labels, found.scores, found.scores, held.labels, held.weights)
        return HeldOut(*listed, self.vectors.device).recall < ENOUGH_RECALL

    def more_all(self, rows: Rows, labels: NDArray[np.int32], n_threads: int) -> Floats:
        """Return what the further sources say of the listed labels of many rows."""
        n_columns = sum(source.n_columns for source in self.sources)
        found = np.empty((*labels.shape, n_columns), np.float32)

        def work(start: int, stop: int) -> None:
            found[start:stop] = self.more(self.look(rows.part(start, stop)), labels[start:stop])

        for_blocks(work, len(labels), self.index.block_rows, n_threads)
        return found

    def propose_all(self, rows: Rows, n_threads: int) -> Shortlists:
        """Return the best labels of many normalised rows, block by block."""
        return self.list_all(rows, np.arange(rows.X.shape[0]), n_threads)[1]

    def list_all(
        self,
        rows: Rows,
        scored: NDArray[np.int64],
        n_threads: int,
        tick: Callable[[float], None] | None = None,
        zeros: Callable[..., Any] = np.zeros,
    ) -> tuple[NDArray[np.int32], Shortlists]:
        """Return the best labels of many rows, in an array of ``zeros``, and scores of some rows.

        ``scored`` are their numbers, which rise. ``tick`` is told the share of rows that is done.
        """
        shape = (int(rows.X.shape[0]), self.size)
        labels, scores = zeros(shape, np.int32), np.empty((len(scored), self.size), np.float32)
        done: list[int] = []

        def work(start: int, stop: int) -> None:
            part = self.propose(rows.part(start, stop))
            labels[start:stop] = part.labels
            wanted = slice(*np.searchsorted(scored, (start, stop)))
            scores[wanted] = part.scores[scored[wanted] - start]
            done.append(stop - start)
            if tick is not None:
                tick(sum(done) / shape[0])

        for_blocks(work, shape[0], self.index.block_rows, n_threads)
        return labels, Shortlists(labels[scored], scores)


@dataclass(frozen=True)
class Stages:
    """A trained model: what proposes, what decides, and how many rows every label has in them."""

    proposer: Proposer
    weights: SparseWeights
    index_recall: float
    positives: NDArray[np.float64]


def require_room(data: TrainingSet, width: int, size: int) -> None:
    """Refuse vectors and lists that do not fit, before anything is asked for."""
    # Vectors as trained, as rounded and, of the labels, as an index orders them.
    vectors = 4 * width * (2 * data.n_features + 3 * data.n_labels)
    lists = PAIR_BYTES * data.n_rows * size
    if data.scratch is not None:
        data.scratch.require(lists, f"lists of {size} labels for {data.n_rows:,} rows")
    require_memory(
        vectors + (lists if data.scratch is None else 0),
        f"{width} components of {data.n_features} features and {data.n_labels} labels, with "
        f"lists of {size} labels for {data.n_rows} rows,",
        "use fewer components or a smaller shortlist_size",
    )


def scaled_positives(data: TrainingSet) -> NDArray[np.float64]:
    """Return the weight of every label in the rows that are trained on, as if these were all."""
    kept = data.kept
    return kept.positives() * float(data.weights.sum() / kept.weights.sum())


@dataclass(frozen=True)
class LabelBlock:
    """Labels that are listed among themselves: those of the training, or those added later.

    Attributes
    ----------
    proposer : Proposer
    weights : SparseWeights
    first : int
        The number of its first label among all.
    """

    proposer: Proposer
    weights: SparseWeights
    first: int = 0

    # Once: what every row asks for.
    @cached_property
    def tables(self) -> WeightTables | None:
        """What finds the weights of listed labels."""
        return get_backend(self.proposer.vectors.device).index_weights(self.weights)

    def __getstate__(self) -> dict[str, Any]:
        """A copy is the same whether the block was asked before or not."""
        return {name: value for name, value in vars(self).items() if name != "tables"}

    def score(self, rows: Rows, hidden: Floats) -> tuple[Shortlists, ListScores]:
        """Return the shortlists of a few normalised rows by numbers among all, and all scores."""
        seen = self.proposer.look(rows)
        found = self.proposer.propose(rows, seen, hidden)
        scores = self.scores_of(rows, found, seen)
        return replace(found, labels=found.labels + np.int32(self.first)), scores

    def scores_of(self, rows: Rows, found: Shortlists, seen: list[Any]) -> ListScores:
        """Return all scores of given labels, by numbers within the block."""
        backend = get_backend(self.proposer.vectors.device)
        # Work of the stored weights of the row's features, not of all labels: pruning left few.
        given = (csr_arrays(rows.X), self.weights, found.labels)
        tables = self.tables if len(found.labels) >= WORTH_TABLES else None
        own = backend.score_lists(*given, tables=tables)
        return ListScores(own, found.scores, self.proposer.more(seen, found.labels))


@dataclass(frozen=True)
class ListScorer:
    """Proposes labels by vectors, scores them by sparse weights too, and combines the scores.

    Attributes
    ----------
    blocks : tuple of LabelBlock
        The labels of the training; and those that were added later, whose lists are lists of their
        own: nobody else loses a place to them.
    mixture : Mixture
        The combination that ranks, in which rare labels are boosted.
    logits : Mixture
        The combination without the boost, which probabilities come from.
    """

    blocks: tuple[LabelBlock, ...]
    mixture: Mixture
    logits: Mixture

    @property
    def proposer(self) -> Proposer:
        """What proposes the labels of the training."""
        return self.blocks[0].proposer

    @property
    def weights(self) -> SparseWeights:
        """What decides among the labels of the training."""
        return self.blocks[0].weights

    @property
    def size(self) -> int:
        """Number of labels on every list."""
        return sum(block.proposer.size for block in self.blocks)

    @property
    def n_labels(self) -> int:
        """Number of all labels."""
        return len(self.mixture.coefficients)

    def block_of(self, label: int) -> LabelBlock:
        """Return the block that a label belongs to."""
        return next(block for block in reversed(self.blocks) if label >= block.first)

    # Once: it goes with the number of labels, which a row does not.
    @cached_property
    def boost(self) -> Floats:
        """What is added to the logit of every label before ranking."""
        return np.asarray(self.mixture.coefficients[:, 0] - self.logits.coefficients[:, 0])

    def __getstate__(self) -> dict[str, Any]:
        """A copy is the same whether the scorer was asked before or not."""
        return {name: value for name, value in vars(self).items() if name != "boost"}

    def look(self, rows: Rows) -> tuple[Shortlists, ListScores]:
        """Return the shortlists of a few normalised rows, and all that is known of them."""
        # All blocks share the vectors of features.
        hidden = self.proposer.vectors.hidden(rows.X)
        parts = [block.score(rows, hidden) for block in self.blocks]
        if len(parts) == 1:
            return parts[0]
        lists, scores = zip(*parts, strict=True)
        return (
            Shortlists(
                np.hstack([found.labels for found in lists]),
                np.hstack([found.scores for found in lists]),
            ),
            ListScores(*(np.concatenate(columns, axis=1) for columns in zip(*scores, strict=True))),
        )

    def score(self, rows: Rows, mixture: Mixture) -> tuple[Shortlists, Floats]:
        """Return the shortlists of a few normalised rows, and their combined scores."""
        found, scores = self.look(rows)
        combined = get_backend(self.proposer.vectors.device).mix_lists(
            found.labels, scores, mixture
        )
        if len(self.blocks) > 1:
            # What is listed stays above what is not, which is below the lowest of the first block.
            size = self.proposer.size
            lowest = combined[:, :size].min(axis=1, keepdims=True)
            np.maximum(combined[:, size:], lowest, out=combined[:, size:])
        return found, combined

    def rank(self, rows: Rows, k: int, mixture: Mixture, n_threads: int) -> Ranking:
        """Return the best ``k`` labels on the shortlist of every normalised row."""
        n_rows = int(rows.X.shape[0])
        labels, scores = np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
        backend = get_backend(self.proposer.vectors.device)

        def work(start: int, stop: int) -> None:
            found, combined = self.score(rows.part(start, stop), mixture)
            best = backend.rank_lists(found.labels, combined, k)
            labels[start:stop], scores[start:stop] = best

        for_blocks(work, n_rows, self.proposer.index.block_rows, n_threads)
        return Ranking.from_table(labels, require_finite(scores), self.n_labels)

    def score_all(self, rows: Rows) -> Floats:
        """Return scores of all labels: those that are not listed follow below, by their vectors."""
        n_rows, size = int(rows.X.shape[0]), self.proposer.size
        result = np.empty((n_rows, self.n_labels), np.float32)

        def work(start: int, stop: int) -> None:
            found, combined = self.score(rows.part(start, stop), self.mixture)
            part, hidden = result[start:stop], self.proposer.vectors.hidden(rows.X[start:stop])
            for block in self.blocks:
                vectors = block.proposer.vectors
                part[:, block.first : block.first + vectors.n_labels] = vectors.scores(hidden)
            # All that is not listed goes below what is, however large the scores are.
            part -= found.scores[:, :size].min(axis=1, keepdims=True)
            # A search in clusters may miss a label that scores above listed ones: it is capped
            # here.
            np.minimum(part, 0, out=part)
            lowest = combined.min(axis=1, keepdims=True)
            below = np.nextafter(lowest, np.float32(-np.inf))
            # Where scores are so large that 0.001 is lost to rounding, the next float is below.
            part += np.minimum(lowest - np.float32(1e-3), below)
            np.put_along_axis(part, found.labels, combined, axis=1)

        for_blocks(work, n_rows, self.proposer.index.block_rows, 1)
        return result


@dataclass(frozen=True)
class ListedRows:
    """The evidence of a ranker: the rows that its combination was learned from."""

    held: HeldOut
    scorer: ListScorer
    frequencies: Frequencies

    def cardinality_threshold(self) -> float:
        """Return the score above which as many labels are predicted as the rows have."""
        held = self.held
        counter = CardinalityCount(float(held.weights @ np.diff(held.truth.indptr)))
        counter.add(held.combined(self.scorer.mixture), held.weights)
        return counter.threshold()

    def tune(self, rule: Threshold) -> Threshold:
        """Return the rule with the threshold that suits its metric best."""
        return fit_threshold(rule, self.held.ranking(self.scorer.mixture), self.held.truth)

    def label_rows(self) -> NDArray[np.float64]:
        """Return the weight of the training rows that have each label."""
        return self.frequencies.positives

    def count_scores(self) -> ScoreCounts:
        """Return counts of the scores without the boost of rare labels."""
        held = self.held
        # That no training row has a label does not say that its name is wrong in all of them.
        kept = self.frequencies.positives[held.labels] > 0
        if held.more is None or not kept.any():
            kept[:] = True
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        logits = held.combined(self.scorer.logits)[kept]
        scores = sparse.csr_matrix((logits, held.labels[kept], indptr), held.truth.shape)
        # Only listed pairs are counted: probabilities are asked for listed labels alone.
        counts = ScoreCounts.covering(scores)
        for rows, label_rows in held.parts(self.frequencies):
            part = counts.empty()
            part.add(scores[rows], held.truth[rows], held.weights[rows])
            counts.join(part, label_rows)
        return counts
