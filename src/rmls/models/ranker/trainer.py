"""Training in two stages: vectors that propose labels, sparse classifiers that decide.

A classifier is trained on the rows that have its label and the rows that propose it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.labels import LabelSpace
from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem, SparseWeights
from rmls.kernels.backend import Vectors, csr_arrays, get_backend, join_vectors
from rmls.models.ranker.archive import index_type, round_vectors
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.label_index import build_index
from rmls.models.ranker.scoring import Proposer, Shortlists
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.sampling import Totals, count_passes, count_rows
from rmls.models.rmls.sgd import Settled, Sgd, Training, run_passes
from rmls.models.shared.training_set import TrainingSet

# Rows come in the order of their fingerprints: the first ones are a fair sample.
INDEX_ROWS = 256


@dataclass(frozen=True)
class Stages:
    """A trained model: what proposes and what decides."""

    proposer: Proposer
    weights: SparseWeights
    index_recall: float


@dataclass
class StageTrainer:
    """Train both stages on normalised rows.

    Attributes
    ----------
    space : LabelSpace
    members : list of RMLS
        Settings of the representations, which are joined; each has its own seed.
    size : int
        Length of the shortlists.
    index : {"auto", "exact", "clusters"}
    precision : str
    options : ClassifierOptions
    seed, n_threads : int
    seconds : dict of str to float
        Time of every stage so far.
    """

    space: LabelSpace
    members: list[RMLS]
    size: int
    index: str
    precision: str
    options: ClassifierOptions
    seed: int
    n_threads: int
    seconds: dict[str, float] = field(default_factory=dict)

    def train(self, data: TrainingSet) -> Stages:
        """Train on the rows that are kept; the set is compact."""
        return self._train(data)[0]

    def train_and_score(self, data: TrainingSet) -> tuple[Stages, HeldOut]:
        """Train on the rows that are kept, score the others, then learn from them as well.

        The classifiers take up their solution; the vectors stay as they are.
        """
        stages, classifiers, listed = self._train(data)
        with self._stage("held-out rows"):
            held = self.score(stages, data.left_out, listed.take(data.held_out))
            # A rare label must not lose its few rows to the held-out part: they are learned in the
            # end.
            everything = np.ones(data.n_rows, dtype=bool)
            return replace(stages, weights=classifiers.solve(everything)), held

    def _train(self, data: TrainingSet) -> tuple[Stages, ClassifierTrainer, Shortlists]:
        with self._stage("representation"):
            vectors = train_representation(self.members, self.space, data.kept, self.precision)
        with self._stage("shortlists"):
            sample = vectors.hidden(data.X[:INDEX_ROWS])
            index, recall = build_index(
                self.index, vectors, sample, self.size, self.seed, self.n_threads
            )
            proposer = Proposer(vectors, index, self.size)
            # The labels a row proposes without having them are the hard negatives: n x size pairs,
            # not n x m.
            listed = proposer.propose_all(data.X, self.n_threads)
        with self._stage("weights"):
            classifiers = ClassifierTrainer.of(
                data, listed.labels, vectors, self.options, self.n_threads
            )
            # Held-out rows are laid out among the pairs at cost 0; the second solve only switches
            # them on.
            used = np.ones(data.n_rows, dtype=bool)
            used[data.held_out] = False
            stages = Stages(proposer, classifiers.solve(used), recall)
        return stages, classifiers, listed

    def score(self, stages: Stages, data: TrainingSet, found: Shortlists | None = None) -> HeldOut:
        """Return the scores of some rows' shortlists, with the truth."""
        X, device = data.features, stages.proposer.vectors.device
        if found is None:
            found = stages.proposer.propose_all(X, self.n_threads)
        own = get_backend(device).score_lists(
            csr_arrays(X), stages.weights, found.labels, self.n_threads
        )
        return HeldOut(found.labels, own, found.scores, data.labels, data.weights, device)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


def train_representation(
    members: list[RMLS], space: LabelSpace, data: TrainingSet, precision: str
) -> Vectors:
    """Train vectors on normalised rows; the scores of several members are averaged.

    Vectors are rounded as they will be when they are read back from an archive.
    """
    vectors = join_vectors([train_vectors(member, space, data) for member in members])
    params = vectors.params
    # Rounded before the shortlists are made: the classifiers learn from lists that a loaded model
    # will propose again.
    rounded = params._replace(
        W=round_vectors(params.W, precision), L=round_vectors(params.L, precision)
    )
    return replace(vectors, params=rounded)


def train_vectors(options: RMLS, space: LabelSpace, data: TrainingSet) -> Vectors:
    """Train the vectors of one RMLS, and nothing besides them."""
    options._check_options()
    settled = Settled.of(options, space, Totals.of(data))
    state = Sgd.of(options, (data.n_features, data.n_labels, int(options.n_components)))
    if options.log_q:
        settled.start_bias(state.params.c)
    passes = range(count_passes(options.max_iter, count_rows(data.weights)))
    run_passes(Training.of(options, state, settled, data), passes, options)
    return Vectors(state.params, options.activation, options.device)


@dataclass(frozen=True)
class ClassifierOptions:
    """How the classifiers are trained.

    Attributes
    ----------
    loss : {"squared_hinge", "logistic"}
    C : float
        Cost of a row, against the squared norm of the weights, of a label with one relevant row.
    cost_power : float
        The cost of a label with n relevant rows is ``C / n ** cost_power``.
    tolerance : float
        Violation of the optimality conditions at which a label is finished.
    max_epochs : int
    prune : float
        Weights smaller than this are dropped.
    offset : float
        Share of the representation's score that is given, so that the weights learn the rest.
    """

    loss: str
    C: float
    cost_power: float
    tolerance: float
    max_epochs: int
    prune: float
    offset: float


@dataclass
class ClassifierTrainer:
    """The rows of every label and the dual variables of the solution so far.

    Attributes
    ----------
    data : TrainingSet
        Normalised and compact.
    pairs : Pairs
        The rows of every label: those that have it, and those that list it.
    offsets : ndarray of float32
        One number a pair, or empty.
    options : ClassifierOptions
    device : str
    n_threads : int
    """

    data: TrainingSet
    pairs: Pairs
    offsets: NDArray[np.float32]
    options: ClassifierOptions
    device: str
    n_threads: int

    def __post_init__(self) -> None:
        # Kept between two solves: w = sum_i a_i y_i x_i, so that they are the solution, and rows
        # that are added later start from it.
        self.duals = np.zeros(len(self.pairs.rows), np.float32)
        self._solved = np.zeros(0, dtype=bool)

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        listed: NDArray[np.int32],
        vectors: Vectors,
        options: ClassifierOptions,
        n_threads: int,
    ) -> ClassifierTrainer:
        """Lay out the rows of every label."""
        backend = get_backend(vectors.device)
        pairs = backend.pair_rows(csr_arrays(data.Y), listed, data.n_labels)
        offsets = np.zeros(0, np.float32)
        if options.offset:
            hidden = vectors.hidden(data.X)
            # Scores at the pairs alone; the matrix of all scores is never formed.
            offsets = backend.products_at(pairs, vectors.params.L, hidden, n_threads)
            offsets += np.repeat(vectors.params.c, np.diff(pairs.indptr))
            offsets *= np.float32(options.offset)
        return cls(data, pairs, offsets, options, vectors.device, n_threads)

    def solve(self, rows: NDArray[np.bool_]) -> SparseWeights:
        """Train on the marked rows; a second call adds rows to the solution of the first."""
        lengths, indices, values, bias = get_backend(self.device).solve_classifiers(
            self._problem(rows), self.pairs, self.duals, self.data.n_features, self.n_threads
        )
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        self._solved = rows.copy()
        return weights_by_feature(indptr, indices, values, bias, self.data.n_features)

    def _problem(self, rows: NDArray[np.bool_]) -> Problem:
        X, options = self.data.X, self.options
        # Empty in the first solve; later only new rows and variables above 0 have to move.
        added = rows & ~self._solved if len(self._solved) else self._solved
        # |x_i|^2 + 1 is the diagonal of Q in the dual, the curvature of a step: once for all
        # labels.
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel()
        return Problem(
            X.indptr.astype(np.int64),
            X.indices.astype(index_type(X.shape[1])),
            X.data.astype(np.float32, copy=False),
            squares,
            np.where(rows, self.data.weights, 0.0).astype(np.float32),
            self._label_costs(rows),
            added,
            self.offsets,
            DUAL_LOSSES.index(options.loss),
            np.float32(options.tolerance),
            options.max_epochs,
            np.float32(options.prune),
        )

    def _label_costs(self, rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return what a row costs for every label, by the number of marked rows that have it."""
        n_relevant = self.pairs.n_relevant
        labels = np.repeat(np.arange(len(n_relevant)), n_relevant)
        # The relevant rows of a label stand before those that list it; the shift jumps over the
        # latter.
        skipped = self.pairs.indptr[:-1] - np.cumsum(n_relevant) + n_relevant
        relevant = self.pairs.rows[np.arange(len(labels)) + np.repeat(skipped, n_relevant)]
        counts = np.bincount(labels[rows[relevant]], minlength=len(n_relevant))
        costs = self.options.C / np.maximum(counts, 1.0) ** self.options.cost_power
        return np.asarray(costs, dtype=np.float32)


def weights_by_feature(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[np.float32],
    bias: NDArray[np.float32],
    n_features: int,
) -> SparseWeights:
    """Return weights by feature from weights by label.

    Examples
    --------
    >>> parts = (np.array([0, 1, 3]), np.uint16([2, 0, 2]), np.float32([5, 6, 7]))
    >>> found = weights_by_feature(*parts, np.zeros(2, np.float32), 3)
    >>> found.indptr.tolist(), found.indices.tolist(), found.values.tolist()
    ([0, 1, 1, 3], [1, 0, 1], [6.0, 5.0, 7.0])
    """
    shape = (len(bias), n_features)
    # A solver writes label by label; scoring reads the features of a row. The transposition is made
    # once here.
    by_label = sparse.csr_matrix((values, indices.astype(np.int32), indptr), shape)
    by_feature = by_label.tocsc()
    labels: NDArray[Any] = by_feature.indices.astype(index_type(len(bias)))
    scale = np.ones(len(bias), np.float32)
    return SparseWeights(by_feature.indptr.astype(np.int64), labels, by_feature.data, scale, bias)
