"""Training in two stages: vectors that propose labels, sparse weights that decide."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.labels import LabelSpace
from rmls.kernels import cpu
from rmls.models.ranker.classifiers import ResidualOptions, ResidualTrainer
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.label_index import LabelClusters, build_index
from rmls.models.ranker.precision import round_vectors
from rmls.models.ranker.representation import Representation, join, train_representation
from rmls.models.ranker.shortlist import Shortlists, propose_all
from rmls.models.rmls.rmls import RMLS
from rmls.models.shared.threads import for_blocks

SCORED_ROWS = 1024
INDEX_ROWS = 256

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Stages:
    """A trained model: what proposes and what decides."""

    representation: Representation
    weights: cpu.SparseWeights
    index: LabelClusters | None = None
    index_recall: float = 1.0


@dataclass
class TwoStageTrainer:
    """Train both stages on normalised rows.

    Attributes
    ----------
    X, Y : CSR matrices
        Distinct training rows and their labels.
    row_weights : ndarray of float64
    members : list of RMLS
        Settings of the representations, which are joined; each has its own seed.
    size : int
        Length of the shortlists.
    indexed : bool
        Whether labels are searched in clusters.
    seconds : dict of str to float
        Time of every stage so far.
    """

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    row_weights: NDArray[np.float64]
    space: LabelSpace
    members: list[RMLS]
    size: int
    indexed: bool
    seed: int
    precision: str
    options: ResidualOptions
    n_threads: int
    seconds: dict[str, float] = field(default_factory=dict)

    def fit(self, kept: Rows, held_out: Rows) -> tuple[Stages, HeldOut | None]:
        """Train on the kept rows and score the others, which the weights then learn from too."""
        with self._stage("representation"):
            proposing = self._train_representation(kept)
        with self._stage("shortlists"):
            index, recall = self._make_index(proposing)
            listed = propose_all(proposing, self.X, self.size, self.n_threads, index)
        with self._stage("weights"):
            residual = ResidualTrainer.of(
                self.X,
                self.Y,
                self.row_weights,
                listed.labels,
                proposing,
                self.options,
                self.n_threads,
            )
            used = np.zeros(self.X.shape[0], dtype=bool)
            used[kept] = True
            stages = Stages(proposing, residual.solve(used), index, recall)
        if not len(held_out):
            return stages, None
        with self._stage("held-out rows"):
            found = Shortlists(listed.labels[held_out], listed.scores[held_out])
            held = self.score(stages, held_out, found)
            used[held_out] = True
            return replace(stages, weights=residual.solve(used)), held

    def _train_representation(self, rows: Rows) -> Representation:
        weights = self.row_weights[rows]
        parts = [
            train_representation(member, self.space, self.X, self.Y, rows, weights)
            for member in self.members
        ]
        joined = join(parts)
        return replace(
            joined,
            features=round_vectors(joined.features, self.precision),
            labels=round_vectors(joined.labels, self.precision),
        )

    def _make_index(self, proposing: Representation) -> tuple[LabelClusters | None, float]:
        if not self.indexed:
            return None, 1.0
        # Distinct rows come in the order of their fingerprints: the first ones are a fair sample.
        hidden = proposing.hidden(self.X, 0, min(INDEX_ROWS, self.X.shape[0]))
        return build_index(proposing, hidden, self.size, self.seed, self.n_threads)

    def score(self, stages: Stages, rows: Rows, found: Shortlists | None = None) -> HeldOut:
        """Return the scores of some rows' shortlists, with the truth."""
        X = self.X[rows]
        if found is None:
            found = propose_all(stages.representation, X, self.size, self.n_threads, stages.index)
        own = score_shortlists(stages.weights, X, found.labels, self.n_threads)
        return HeldOut(found.labels, own, found.scores, self.Y[rows], self.row_weights[rows])

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


def score_shortlists(
    weights: cpu.SparseWeights, X: sparse.csr_matrix, labels: NDArray[np.int32], n_threads: int
) -> NDArray[np.float32]:
    """Return the scores of the listed labels of every row."""
    out = np.empty(labels.shape, np.float32)
    arrays = (X.indptr, X.indices, X.data)

    def work(start: int, stop: int) -> None:
        sums = np.zeros(len(weights.bias), np.float32)
        part = slice(start, stop)
        cpu.score_listed(*arrays, weights, labels[part], start, start, stop, sums, out[part])

    for_blocks(work, X.shape[0], SCORED_ROWS, n_threads)
    return out
