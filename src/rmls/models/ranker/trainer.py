"""Training in two stages: vectors that propose labels, sparse classifiers that decide.

A classifier is trained on the rows that have its label and the rows that propose it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmls.core.labels import LabelSpace
from rmls.core.options import is_auto, read_seed
from rmls.core.resources import count_threads
from rmls.core.sparse import slice_rows
from rmls.kernels.backend import Vectors, csr_arrays, get_backend
from rmls.models.ranker.archive import round_vectors
from rmls.models.ranker.classifiers import ClassifierOptions, ClassifierTrainer
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.label_index import build_index
from rmls.models.ranker.scoring import Proposer, Shortlists, Stages, require_room, scaled_positives
from rmls.models.ranker.sources import Rows, SourceTrainer, make_members, make_sources
from rmls.models.ranker.twins import Twins
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.sampling import count_rows
from rmls.models.rmls.sgd import Training, train_members
from rmls.models.shared.progress import stage, warn_interrupted
from rmls.models.shared.training_set import TrainingSet

# Lists of "auto": 500 where 150 miss many labels.
SHORT, LONG = 150, 500
# Rows come in the order of their fingerprints: the first ones are a fair sample.
INDEX_ROWS = 2_048
# Times 150 listed labels, plenty of pairs for the 30 coefficients of the combination.
HELD_OUT_ROWS = 2_000

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

    def fit(self, data: TrainingSet, n_folds: int) -> tuple[Stages, HeldOut]:
        """Train both stages; returns them with scores of rows that they have not seen.

        These are the rows that ``data`` holds out, or else all of them, each scored by one of
        ``n_folds`` models fitted to the others; without either, the rows that were trained on.
        Ctrl-C returns the best there is, and is raised where there is nothing yet.
        """
        try:
            # First of all the model that is kept.
            self.stages, self.classifiers, found = self._train(data, keeps=True)
            if len(data.held_out):
                return self._learn_rest(data, self.stages, self.classifiers, found)
            if n_folds:
                return self.stages, self._cross_fit(data, n_folds)
            return self.stages, self.score(self.stages, data)
        except KeyboardInterrupt:
            from rmls.models.ranker.interruption import keep_best

            return keep_best(self, data, n_folds)

    def _learn_rest(
        self, data: TrainingSet, stages: Stages, classifiers: ClassifierTrainer, found: Shortlists
    ) -> tuple[Stages, HeldOut]:
        """Score the held-out rows, then learn from them as well.

        The classifiers take up their solution; the vectors stay as they are.
        """
        self.parts = [self.score(stages, data.left_out, found)]
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

    def _cross_fit(self, data: TrainingSet, n_folds: int) -> HeldOut:
        """Score every row by a model that has not seen it."""
        with stage("cross-fit") as shown:
            for number, fold in enumerate(data.folds(n_folds, self.seed)):
                shown.part(number, n_folds, n_stages=3)
                stages, *_ = self._train(fold)
                self.parts.append(self.score(stages, fold.left_out))
                shown.tick((number + 1) / n_folds, f"{number + 1} of {n_folds} models")
        return HeldOut.stack(self.parts)

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
        if not self.merges:
            return train_representation(
                self.members, self.space, data, self.precision, tell, self._start
            )
        twins = Twins.of(data.labels)
        given = (*twins.merge(self.space, data), self.precision)
        return twins.spread(train_representation(self.members, *given, tell, self._start))

    def _train_classifiers(self, data: TrainingSet, vectors: Vectors) -> Trained:
        with self.stage("shortlists"), stage("shortlists") as shown:
            searched = (vectors, vectors.hidden(slice_rows(data.X, 0, INDEX_ROWS)), self.size)
            index, recall = build_index(self.index, *searched, self.seed, self.n_threads)
            sources = tuple(source.learn(data.kept) for source in self.sources)
            proposer = Proposer(vectors, index, self.size, sources)
            if proposer.misses_labels(data, self.longest, self.n_threads):
                self.size = self.longest
                self._require_memory(data)
                proposer = replace(proposer, size=self.size)
            shown.tick(0.0, f"{data.n_rows:,} rows")
            # Labels that a row proposes and has not are hard negatives: n x size pairs, not n x m.
            listed, found = self._propose_all(proposer, data, shown.tick)
        with self.stage("weights"), stage("classifiers") as shown:
            shown.tick(0.0, f"{data.n_labels:,} labels")
            classifiers = self._lay_out_pairs(data, listed, vectors)
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
        return ClassifierTrainer.of(data, listed, vectors, self.options, self.n_threads)

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
    auto = is_auto(ranker.shortlist_size)
    size, longest = (SHORT, LONG) if auto else (int(ranker.shortlist_size), 0)
    return {
        "space": ranker._space,
        "members": make_members(ranker, count_rows(data.weights)),
        "size": min(size, data.n_labels),
        "longest": min(longest, data.n_labels),
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


def train_representation(
    members: list[RMLS],
    space: LabelSpace,
    data: TrainingSet,
    precision: str,
    tell: Callable[[str], None] = warn_interrupted,
    start: Callable[..., Training] = Training.of,
) -> Vectors:
    """Train vectors on normalised rows, by `train_members`.

    They are rounded as they will be when they are read back from an archive.
    """
    vectors = train_members(members, space, data, tell, start)
    params = vectors.params
    # Rounded before the shortlists are made: the classifiers learn from lists that a loaded model
    # will propose again.
    rounded = params._replace(
        W=round_vectors(params.W, precision), L=round_vectors(params.L, precision)
    )
    return replace(vectors, params=rounded)
