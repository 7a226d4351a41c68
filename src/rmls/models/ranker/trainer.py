"""Training in two stages: vectors that propose labels, sparse classifiers that decide.

A classifier is trained on the rows that have its label and the rows that propose it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmls.core.labels import LabelSpace
from rmls.core.options import is_auto, read_seed
from rmls.core.resources import count_threads
from rmls.core.sparse import label_counts, row_squares, slice_rows
from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem, SparseWeights
from rmls.kernels.backend import Vectors, csr_arrays, get_backend
from rmls.models.ranker.archive import LabelWeights, feature_numbers, no_weights, round_vectors
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.label_index import build_index, list_lengths
from rmls.models.ranker.scoring import Proposer, Shortlists, Stages, require_room, scaled_positives
from rmls.models.ranker.sources import Folds, Rows, SourceTrainer, Twins, make_members, make_sources
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.sgd import Training, train_members
from rmls.models.shared.progress import stage
from rmls.models.shared.training_set import TrainingSet

# Rows come in the order of their fingerprints: the first ones are a fair sample.
INDEX_ROWS = 2_048
DEFAULT_COST = {"squared_hinge": 2.0, "logistic": 20.0}
# C / n^0.25: each row of a rare label is needed, a frequent one is held back more.
DEFAULT_COST_POWER = 0.25
# Where a tenth of the rows or less is added, labels of more rows hardly gain by it.
FEW_ROWS, FEW_ADDED = 100, 0.11
MANY_PAIRS = 1 << 24  # of more, those of some labels are in memory at a time

Tick = Callable[[float], None]
# Labels of all rows, and with scores those of the rows that are held out.
Listed: TypeAlias = tuple[NDArray[np.int32], Shortlists]
Trained: TypeAlias = "tuple[Stages, ClassifierTrainer, Shortlists]"


@dataclass
class StageTrainer:
    """Train both stages on normalised rows.

    Attributes
    ----------
    space : LabelSpace
    members : list of RMLS
        Settings of the representations, which are joined; each has its own seed.
    size, longest : int
        Length of the shortlists, and the one they get where they miss many labels; 0 for never.
    index : {"auto", "exact", "leading", "clusters"}
    precision : str
    options : ClassifierOptions
    seed, n_threads : int
    merges : bool
        Whether labels that the same rows have share a vector.
    sources : sequence of SourceTrainer
        What learns further sources.
    seconds : dict of str to float
        Time of every stage so far.
    vectors, classifiers, stages, parts : Vectors, ClassifierTrainer, Stages, list of HeldOut
        What there is so far of the model that is kept, and of scores of rows it has not seen.
    interrupted : str
        The end of a sentence about Ctrl-C, if it was pressed.
    has_held_out : bool
        Whether classifiers scored rows that they have not seen; Ctrl-C may come before.
    """

    space: LabelSpace
    members: list[RMLS]
    size: int
    index: str
    precision: str
    options: ClassifierOptions
    seed: int
    n_threads: int
    merges: bool = True
    longest: int = 0
    sources: Sequence[SourceTrainer] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    vectors: Vectors | None = None
    classifiers: ClassifierTrainer | None = None
    stages: Stages | None = None
    parts: list[HeldOut] = field(default_factory=list)
    interrupted: str = ""
    has_held_out: bool = True

    def fit(self, data: TrainingSet, folds: Folds) -> tuple[Stages, HeldOut]:
        """Train both stages; returns them with scores of rows that they have not seen.

        These are the rows that ``data`` holds out, or else those of folds, each scored by a model
        fitted to the other rows; without either, the rows that were trained on.
        Ctrl-C returns the best there is, and is raised where there is nothing yet.
        """
        try:
            # First of all the model that is kept.
            self.stages, self.classifiers, found = self._train(data, keeps=True)
            if len(data.held_out):
                return self._learn_rest(data, self.stages, self.classifiers, found)
            if folds.n_folds:
                return self.stages, self._cross_fit(data, folds)
            return self.stages, self.score(self.stages, data)
        except KeyboardInterrupt:
            from rmls.models.ranker.interruption import keep_best

            return keep_best(self, data, folds)

    def _learn_rest(
        self, data: TrainingSet, stages: Stages, classifiers: ClassifierTrainer, found: Shortlists
    ) -> tuple[Stages, HeldOut]:
        """Score the held-out rows, then learn from them as well.

        The classifiers take up their solution; the vectors stay as they are.
        """
        self.parts = [self.score(stages, data.left_out, found)]
        # Their work is done, and the classifiers know them still, label by label.
        nothing = no_weights(data.n_labels, data.n_features, classifiers.device)
        self.stages = stages = replace(stages, weights=nothing)
        with self.stage("weights"), stage("held-out rows") as shown:
            # A rare label must not lose its few rows: those held out are learned in the end.
            weights = classifiers.solve(np.ones(data.n_rows, dtype=bool), shown.tick)
            proposer = self._learn_sources(data, stages)
            return replace(stages, weights=weights, proposer=proposer), self.parts[0]

    def _learn_sources(self, data: TrainingSet, stages: Stages) -> Proposer:
        """Learn the sources again from all rows, where that is worth it."""
        sources = tuple(
            trainer.learn(data.take(np.arange(data.n_rows))) if trainer.learns_rest else source
            for trainer, source in zip(self.sources, stages.proposer.sources, strict=True)
        )
        return replace(stages.proposer, sources=sources)

    def _cross_fit(self, data: TrainingSet, folds: Folds) -> HeldOut:
        """Score rows by models that have not seen them."""
        given = data.folds(folds.n_folds, self.seed)
        with stage("cross-fit") as shown:
            for number, fold in enumerate(islice(given, folds.n_scored)):
                shown.part(number, folds.n_scored, n_stages=3)
                self.parts.append(self._score_fold(fold))
                shown.tick(
                    (number + 1) / folds.n_scored, f"{number + 1} of {folds.n_scored} models"
                )
        return HeldOut.stack(self.parts)

    def _score_fold(self, fold: TrainingSet) -> HeldOut:
        """Score the rows left out by a model of the others, which nobody keeps."""
        return self.score(self._train(fold)[0], fold.left_out)

    def _train(self, data: TrainingSet, *, keeps: bool = False) -> Trained:
        """Train on the rows that are kept; the set is compact."""
        self._require_memory(data)
        told: list[str] = []
        with self.stage("representation"):
            vectors = self._train_vectors(data.kept, told.append)
        if keeps:
            self.vectors = vectors
        if told:
            self.interrupted = told[0].partition(";")[0]
            raise KeyboardInterrupt
        return self._train_classifiers(data, vectors)

    def _train_vectors(self, data: TrainingSet, tell: Callable[[str], None]) -> Vectors:
        """Train vectors on normalised rows, by `train_members`; twins are learned once."""
        twins = Twins.of(data.labels) if self.merges else Twins.none(data.n_labels)
        given = (*twins.merge(self.space, data), tell, self._start)
        vectors = train_members(self.members, *given)
        params = vectors.params
        # Rounded before the shortlists are made: the classifiers learn from lists that a model read
        # from an archive will propose again.
        W, L = (round_vectors(each, self.precision) for each in (params.W, params.L))
        return twins.spread(replace(vectors, params=params._replace(W=W, L=L)))

    def _train_classifiers(self, data: TrainingSet, vectors: Vectors) -> Trained:
        with self.stage("shortlists"), stage("shortlists") as shown:
            searched = (vectors, vectors.hidden(slice_rows(data.X, 0, INDEX_ROWS)), self.size)
            index, recall = build_index(self.index, *searched, self.seed, self.n_threads)
            sources = tuple(source.learn(data.kept) for source in self.sources)
            proposer = Proposer(vectors, index, self.size, sources)
            # The kept model, trained first, decides: models of folds must list as it does.
            if self.stages is None and proposer.misses_labels(data, self.longest, self.n_threads):
                self.size = self.longest
                self._require_memory(data)
                proposer = replace(proposer, size=self.size)
            shown.tick(0.0, f"{data.n_rows:,} rows")
            # Labels that a row proposes and has not are hard negatives: n x size pairs, not n x m.
            listed, found = self._propose_all(proposer, data, shown.tick)
        with self.stage("weights"), stage("classifiers") as shown:
            shown.tick(0.0, f"{data.n_labels:,} labels")
            classifiers = self._lay_out_pairs(data, listed, vectors)
            del listed
            # Held-out rows are among the pairs at cost 0; the second solve only switches them on.
            used = ~np.isin(np.arange(data.n_rows), data.held_out)
            weights = classifiers.solve(used, shown.tick)
            stages = Stages(proposer, weights, recall, scaled_positives(data))
        return stages, classifiers, found

    # Where the work of a stage is done: here, or on a cluster (`spread`).

    def _start(self, *given: Any) -> Training:
        return Training.of(*given)

    def _propose_all(self, proposer: Proposer, data: TrainingSet, tick: Tick) -> Listed:
        return proposer.list_all(Rows.of(data), data.held_out, self.n_threads, tick, data.zeros)

    def _lay_out_pairs(
        self, data: TrainingSet, listed: NDArray[np.int32], vectors: Vectors
    ) -> ClassifierTrainer:
        given = (data, listed, vectors, self.options, self.n_threads)
        if listed.size > MANY_PAIRS and data.scratch is None and vectors.device == "cpu":
            from rmls.models.ranker.large.label_ranges import LabelRanges

            return LabelRanges.of(*given)
        return ClassifierTrainer.of(*given)

    def _require_memory(self, data: TrainingSet) -> None:
        require_room(data, sum(int(each.n_components) for each in self.members), self.size)

    def score(self, stages: Stages, data: TrainingSet, found: Shortlists | None = None) -> HeldOut:
        """Return the scores of some rows' shortlists, with the truth."""
        with self.stage("held-out rows"):
            rows, device = Rows.of(data), stages.proposer.vectors.device
            found = found or stages.proposer.propose_all(rows, self.n_threads)
            own = get_backend(device).score_lists(
                csr_arrays(rows.X), stages.weights, found.labels, self.n_threads
            )
            scored = (found.labels, own, found.scores, data.labels, data.weights, device)
            counts = stages.positives[found.labels].astype(np.float32)
            held = HeldOut(*scored, data.rows, (data.n_rows,), counts=counts)
            if not stages.proposer.sources:
                return held
            more = stages.proposer.more_all(rows, found.labels, self.n_threads)
            has_names = stages.proposer.sources[0].kind == "names"
            return replace(held, more=more, has_names=has_names)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to that of a stage; stages are not nested."""
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


def trainer_settings(ranker: Any, data: TrainingSet) -> dict[str, Any]:
    """Return what the options of a ranker say to the training of its stages."""
    size, longest = list_lengths(ranker.shortlist_size, data.n_rows, data.n_labels)
    return {
        "space": ranker._space,
        "members": make_members(ranker, data),
        "size": size,
        "longest": longest,
        "index": ranker.index,
        "precision": ranker.precision,
        "options": ClassifierOptions.of(ranker),
        "seed": read_seed(ranker.random_state),
        "n_threads": count_threads(ranker.n_jobs),
        # A representation of the user's own may have weights or bounds for every label; on a device
        # labels cost next to nothing.
        "merges": ranker.representation is None and ranker.device == "cpu",
        "sources": make_sources(ranker, data.label_text),
    }


@dataclass(frozen=True)
class ClassifierOptions:
    """How the classifiers are trained, by the options of `RMLSRanker`.

    A row costs ``C / n ** cost_power`` in the classifier of a label with n relevant rows.
    """

    loss: str
    C: float
    cost_power: float
    tolerance: float
    max_epochs: int
    prune: float
    offset: float

    @classmethod
    def of(cls, ranker: Any) -> ClassifierOptions:
        """Return the options of a ranker."""
        cost, power = DEFAULT_COST[ranker.loss], DEFAULT_COST_POWER
        if not is_auto(ranker.C):
            cost, power = float(ranker.C), 0.0
        solver = (ranker.tol, ranker.max_epochs, ranker.prune, ranker.offset)
        return cls(ranker.loss, cost, power, *solver)


@dataclass
class ClassifierTrainer:
    """The rows of every label and the dual variables of the solution so far.

    Attributes
    ----------
    data, pairs : TrainingSet, Pairs
        Compact rows, and those of every label: those that have it, and those that list it.
    offsets : ndarray of float32
        One number a pair, or empty.
    row_costs, label_costs : ndarray of float32
        What a row and a label cost in the last solution.
    """

    data: TrainingSet
    pairs: Pairs
    offsets: NDArray[np.float32]
    options: ClassifierOptions
    device: str
    n_threads: int
    row_costs: NDArray[np.float32] = field(init=False)
    label_costs: NDArray[np.float32] = field(init=False)
    curvatures: NDArray[np.float32] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        # Kept between two solves: w = sum_i a_i y_i x_i, so that they are the solution, and rows
        # that are added later start from it.
        self.duals = self.data.zeros(len(self.pairs.rows), np.float32)
        self._solved = np.zeros(0, dtype=bool)
        self._weights = LabelWeights(self.data.n_labels)

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
        pairs = backend.pair_rows(csr_arrays(data.Y), listed, data.n_labels, data.zeros)
        offsets = np.zeros(0, np.float32)
        if options.offset:
            hidden = vectors.hidden(data.X)
            # Scores at the pairs alone; the matrix of all scores is never formed.
            offsets = backend.products_at(pairs, vectors.params.L, hidden, n_threads)
            offsets += np.repeat(vectors.params.c, np.diff(pairs.indptr))
            offsets *= np.float32(options.offset)
        return cls(data, pairs, offsets, options, vectors.device, n_threads)

    def solve(self, rows: NDArray[np.bool_], tick: Tick | None = None) -> SparseWeights:
        """Train on the marked rows; a second call adds rows, to labels that have few of them."""
        labels, problem = self._labels_to_solve(rows), self._problem(rows)
        self._solved = rows.copy()
        if len(labels):
            found = self._solve(problem, self.pairs, self.duals, tick, labels)
            self._weights.put(labels, found)
        return self.weights()

    def weights(self) -> SparseWeights:
        """Return the last solution."""
        return self._weights.by_feature(self.data.n_features, self.device)

    def _solve(self, problem: Problem, pairs: Pairs, duals: Any, tick: Any, labels: Any) -> Any:
        return get_backend(self.device).solve_classifiers(
            problem, pairs, duals, self.data.n_features, self.n_threads, tick, labels
        )

    def _labels_to_solve(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        first = not len(self._solved)
        added = rows if first else rows & ~self._solved
        if first or added.mean() > FEW_ADDED:
            return np.arange(self.data.n_labels)
        labels = np.unique(self.data.Y[added].indices)
        return labels[self.pairs.n_relevant[labels] <= FEW_ROWS].astype(np.int64)

    def _problem(self, rows: NDArray[np.bool_]) -> Problem:
        X, options = self.data.X, self.options
        self.row_costs = np.where(rows, self.data.weights, 0.0).astype(np.float32)
        self.label_costs = self._label_costs(rows)
        # Empty in the first solve; later only new rows and variables above 0 have to move.
        added = rows & ~self._solved if len(self._solved) else self._solved
        # |x_i|^2 + 1 is the diagonal of Q in the dual, the curvature of a step, for all labels.
        return Problem(
            X.indptr.astype(np.int64),
            feature_numbers(X, self.data.zeros),
            X.data.astype(np.float32, copy=False),
            row_squares(X),
            self.row_costs,
            self.label_costs,
            added,
            self.offsets,
            DUAL_LOSSES.index(options.loss),
            np.float32(options.tolerance),
            options.max_epochs,
            np.float32(options.prune),
        )

    def _label_costs(self, rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return what a row costs for every label, by the number of marked rows that have it."""
        counts = np.maximum(label_counts(self.data.Y[rows]), 1.0)
        return np.asarray(self.options.C / counts**self.options.cost_power, dtype=np.float32)
