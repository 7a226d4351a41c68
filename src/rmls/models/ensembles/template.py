"""The estimators whose labels each have some linear machines that add up their confidences."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import Option, check_whole, number, positive, read_seed, whole
from rmls.core.resources import count_threads, map_on_threads, require_memory
from rmls.core.sparse import are_within
from rmls.kernels.backend import csr_arrays
from rmls.kernels.cpu.methods.binary_linear import add_confidences
from rmls.models.ensembles.linear_machines import (
    Classes,
    Indices,
    LabelMachines,
    MachineTrainer,
    Settings,
    TrainingRows,
)
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.progress import stage
from rmls.models.shared.sparse_archive import read_csr, sparse_state
from rmls.models.shared.training_set import TrainingSet

UNDECIDED = 0.5


class Ensemble(NamedTuple):
    """The machines of all labels that have rows on both sides; see `add_confidences`.

    ``sizes`` has the number of outputs of every machine and ``owners`` the place of its label in
    the list of learned labels; the machines of a label stand together.
    """

    weights: sparse.csr_matrix
    intercepts: NDArray[np.float32]
    sizes: Indices
    owners: Indices


class LabelDraw(NamedTuple):
    """What the machines of one label are drawn from.

    ``others`` are the other labels that some rows have and others have not.
    """

    rows: TrainingRows
    label: int
    others: Indices
    rng: np.random.Generator


class MachineEnsemble(MultiLabelEstimator):
    """Template of the ensembles of linear machines: a subclass draws the rows of each.

    A subclass writes ``_problems(draw)``, which returns the classes of every
    machine of a label, that of the label last, and ``_max_outputs()``.

    Attributes
    ----------
    thresholds_ : ndarray of float32, shape (n_labels,)
        Mean confidence from which a label is predicted; scores are counted from there.
    learned_ : ndarray of int64
        Labels that some training rows have and others have not.
    n_iter_ : int
        Passes of the machine that took most.
    """

    _options: ClassVar[dict[str, Option]] = {
        "C": positive(),
        "max_iter": whole(1),
        "tol": number(),
        "prune": number(),
    }

    thresholds_: NDArray[np.float32]
    learned_: Indices
    n_iter_: int
    C: float
    max_iter: int
    tol: float
    prune: float
    normalize: str
    verbose: int
    _ensemble: Ensemble

    def _problems(self, draw: LabelDraw) -> list[Classes]:
        raise NotImplementedError

    def _max_outputs(self) -> int:
        raise NotImplementedError

    def _fit(self, data: TrainingSet) -> ScoredRows:
        seed = read_seed(self.random_state)
        seen = TrainingRows(self._normalized(data).compact())
        counts = seen.counts()
        self.learned_ = np.flatnonzero((counts > 0) & (counts < seen.n_rows))
        threads, d = count_threads(self.n_jobs), data.n_features
        require_memory(
            threads * d * (8 + 16 * self._max_outputs()),
            f"the machines of a label with {d} features on {threads} threads",
            "use fewer features, machines or threads",
        )
        settings = Settings(self.C, self.max_iter, self.tol, self.prune)

        def learn(labels: Indices) -> list[LabelMachines]:
            trainer = MachineTrainer(seen, settings, self._max_outputs())
            found = []
            for label in labels:
                found.append(self._learn(trainer, int(label), seed))
                count_one()
            return found

        with stage("machines") as shown:
            count_one = shown.counter(len(self.learned_), "labels")
            found = map_on_threads(learn, self.learned_, threads)
        # A label that all rows have, or none, is predicted for all or for none.
        self._constant = np.where(counts > 0, UNDECIDED, -UNDECIDED).astype(np.float32)
        self.thresholds_ = np.full(data.n_labels, UNDECIDED, np.float32)
        self.thresholds_[self.learned_] = [machines.threshold for machines in found]
        self.n_iter_ = max((machines.n_iter for machines in found), default=1)
        self._ensemble = _join(found, data.n_features)
        return ScoredRows(self, data)

    def _learn(self, trainer: MachineTrainer, label: int, seed: int) -> LabelMachines:
        # Keyed by label: the draws depend neither on the threads nor on the order of the work.
        rng = np.random.Generator(np.random.Philox(key=[seed, label]))
        key = int(rng.integers(2**63))
        others = self.learned_[self.learned_ != label]
        problems = self._problems(LabelDraw(trainer.rows, label, others, rng))
        # Classes of a 1-d y exclude each other: the largest confidence decides.
        return trainer.train(label, problems, key, not self._space.is_single)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        n_rows = int(X.shape[0])
        scores = np.tile(self._constant, (n_rows, 1))
        if not len(self.learned_):
            return scores
        queries = csr_arrays(X)
        weights, intercepts, sizes, owners = self._ensemble
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        sums = np.zeros((n_rows, len(self.learned_)), np.float32)
        arrays = (queries, csr_arrays(weights), intercepts, ends, owners)

        def work(part: Indices) -> list[None]:
            add_confidences(*arrays, (int(part[0]), int(part[-1]) + 1), sums)
            return []

        map_on_threads(work, np.arange(n_rows), count_threads(self.n_jobs))
        sums /= np.bincount(owners, minlength=len(self.learned_)).astype(np.float32)
        # Counted from its own threshold, every label is cut at 0: one rule serves all.
        sums -= self.thresholds_[self.learned_]
        scores[:, self.learned_] = sums
        return scores

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        ensemble = self._ensemble
        arrays = sparse_state("weights", ensemble.weights)
        arrays |= {"intercepts": ensemble.intercepts, "machine_sizes": ensemble.sizes}
        arrays |= {"machine_owners": ensemble.owners, "learned": self.learned_}
        arrays |= {"thresholds": self.thresholds_, "constant": self._constant}
        return {"n_iter": self.n_iter_}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        d, m = int(self.n_features_in_), self._space.n_labels
        check_arrays(
            archive,
            {
                "intercepts": (np.float32, (None,)),
                "machine_sizes": (np.int64, (None,)),
                "learned": (np.int64, (None,)),
                "thresholds": (np.float32, (m,)),
                "constant": (np.float32, (m,)),
            },
        )
        arrays = archive.arrays
        sizes, learned = arrays["machine_sizes"], arrays["learned"]
        check_arrays(archive, {"machine_owners": (np.int64, (len(sizes),))})
        owners, intercepts = arrays["machine_owners"], arrays["intercepts"]
        # Bounded one by one before they are added up: a sum of 64-bit numbers can wrap around.
        good = (sizes > 0).all() and are_within(sizes, len(intercepts) + 1)
        good = bool(good) and int(sizes.sum()) == len(intercepts)
        good = good and bool((owners[1:] >= owners[:-1]).all())
        good = good and len(np.unique(owners)) == len(learned) and are_within(owners, len(learned))
        if not good or not are_within(learned, m):
            raise InputError("the machines do not fit the labels")
        check_whole("n_iter", fitted["n_iter"], 1)
        weights = read_csr(archive, "weights", (d, len(intercepts)))
        self._ensemble = Ensemble(weights, intercepts, sizes, owners)
        self.learned_, self.thresholds_ = learned, arrays["thresholds"]
        self._constant, self.n_iter_ = arrays["constant"], int(fitted["n_iter"])


def _join(found: list[LabelMachines], n_features: int) -> Ensemble:
    """Put the outputs of all labels side by side, one row of weights per feature."""
    if not found:
        none = np.zeros(0, np.int64)
        weights = sparse.csr_matrix(np.zeros((n_features, 0), np.float32))
        return Ensemble(weights, none.astype(np.float32), none, none)
    owners = np.repeat(np.arange(len(found)), [len(machines.sizes) for machines in found])
    beside = sparse.hstack([machines.weights for machines in found], format="csc")
    return Ensemble(
        sparse.csr_matrix(beside),
        np.concatenate([machines.intercepts for machines in found]),
        np.concatenate([machines.sizes for machines in found]),
        owners,
    )
