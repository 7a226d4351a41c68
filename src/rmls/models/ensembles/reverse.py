"""Reverse multi-label learning: every label looks for its rows, with the F of the set in mind."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import Option, check_whole, positive, store_params, whole
from rmls.core.resources import count_threads, map_on_threads, require_memory
from rmls.core.sparse import are_within, fingerprints
from rmls.decide import Rule
from rmls.kernels.backend import csr_arrays
from rmls.kernels.cpu.linalg.products import csr_times_dense
from rmls.kernels.cpu.methods.f_cuts import MAX_KEPT, solve_label
from rmls.models.ensembles.linear_machines import Indices, TrainingRows
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.progress import stage
from rmls.models.shared.training_set import TrainingSet

Solution = tuple[NDArray[np.float32], int]


class ReverseMultiLabel(MultiLabelEstimator):
    """Learn for every label the weights whose set of rows has a large F, by a convex bound of it.

    The prediction is reversed: label j is given all rows and returns the set of those that have
    it, ``argmax_S Σ_(i in S) w·x_i``, which are the rows with a positive score. With the true set
    T, the weights minimise ``|w|²/2 + C ξ`` where

    ``ξ = max_S [ 1 - F(T, S) + (Σ_S w·x_i - Σ_T w·x_i) / |T| ]``

    is at least ``1 - F`` of the predicted set, so that the mean of ξ over the labels bounds one
    minus macro-F (Petterson and Caetano, "Reverse multi-label learning", NIPS 2010). The most
    violated set S is found by sorting, and added as a cut until none is violated by more than
    ``tol`` (Joachims, "A support vector method for multivariate performance measures", ICML 2005).

    Parameters
    ----------
    C : float, default=100.0
        Weight of the bound against the squared norm of the weights.
    max_iter : int, default=100
        Cuts a label at most.
    tol : float, default=0.01
        Violation of a cut that is tolerated, in units of F.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="round"
        The rows with a positive score, as in the definition.
    n_jobs : int or None, default=None
        Threads, over labels; the model does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    coef_ : ndarray of float32, shape (n_features, n_learned)
    intercept_ : ndarray of float32, shape (n_learned,)
        Of a constant feature, regularised like the others.
    learned_ : ndarray of int64
        Labels that a training row has; the others score -1.
    n_iter_ : int
        Cuts of the label that took most.

    Notes
    -----
    Scores in the bound are divided by the number of relevant rows, which the paper leaves to C: so
    a relevant row is asked for a score near 1 and an irrelevant one for less than -1/2, however
    rare the label is. Sample weights count in F and in the sums. Time is O(R m (nnz(X) + n log n))
    for R cuts, in practice only irrelevant rows above -1/2 are sorted; the model takes d m numbers,
    a thread 80 n more.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1], [0, 2]], [[1, 0], [0, 1], [1, 1], [0, 1]]
    >>> ReverseMultiLabel().fit(X, Y).predict([[1, 0], [0, 1]]).tolist()
    [[1, 0], [0, 1]]
    """

    coef_: NDArray[np.float32]
    intercept_: NDArray[np.float32]
    learned_: Indices
    n_iter_: int

    C: float
    max_iter: int
    tol: float

    _options: ClassVar[dict[str, Option]] = {
        "C": positive(),
        "max_iter": whole(1),
        "tol": positive(),
    }

    def __init__(
        self,
        C: float = 100.0,
        *,
        max_iter: int = 100,
        tol: float = 0.01,
        normalize: str = "auto",
        decision: str | float | Rule = "round",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    def _fit(self, data: TrainingSet) -> ScoredRows:
        scaled = self._normalized(data)
        # In an order that does not depend on the labels, no cut depends on their numbers either.
        order = np.argsort(fingerprints(scaled.features), kind="stable")
        seen = TrainingRows(scaled.take(order).compact())
        self.learned_ = np.flatnonzero(seen.counts())
        shape = (seen.n_features, len(self.learned_))
        threads = count_threads(self.n_jobs)
        require_memory(
            4 * shape[0] * shape[1] + 16 * threads * MAX_KEPT * seen.n_rows,
            f"one model for each of {shape[1]} labels",
            "use fewer features or labels, or a method that compresses them",
        )
        self.coef_, self.intercept_ = np.empty(shape, np.float32), np.empty(shape[1], np.float32)

        def learn(places: Indices) -> list[int]:
            cuts = []
            for place in places:
                cuts.append(self._learn(seen, int(place)))
                count_one()
            return cuts

        with stage("classifiers") as shown:
            count_one = shown.counter(shape[1], "labels")
            n_cuts = map_on_threads(learn, np.arange(shape[1]), threads)
        self.n_iter_ = max(1, *n_cuts) if n_cuts else 1
        return ScoredRows(self, data)

    def _learn(self, seen: TrainingRows, place: int) -> int:
        """Write the weights of a label to their places; return the number of cuts."""
        w = np.empty(seen.n_features + 1)
        relevant = ~seen.irrelevant_mask(int(self.learned_[place]))
        limits = (int(self.max_iter), float(self.tol))
        n_cuts: int = solve_label(seen.features, relevant, seen.weights, float(self.C), limits, w)
        self.coef_[:, place], self.intercept_[place] = w[:-1], w[-1]
        return n_cuts

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        scores = np.full((int(X.shape[0]), self._space.n_labels), -1, np.float32)
        if len(self.learned_):
            found = np.empty((len(scores), len(self.learned_)), np.float32)
            queries = csr_arrays(X)
            csr_times_dense(*queries, self.coef_, found, count_threads(self.n_jobs))
            scores[:, self.learned_] = found + self.intercept_
        return scores

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {}
        arrays |= {"coef": self.coef_, "intercept": self.intercept_, "learned": self.learned_}
        return {"n_iter": self.n_iter_}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        check_arrays(archive, {"learned": (np.int64, (None,))})
        learned, d = archive.arrays["learned"], int(self.n_features_in_)
        check_arrays(
            archive,
            {"coef": (np.float32, (d, len(learned))), "intercept": (np.float32, (len(learned),))},
        )
        if not are_within(learned, self._space.n_labels):
            raise InputError("the learned labels are not there")
        check_whole("n_iter", fitted["n_iter"], 1)
        self.learned_, self.coef_ = learned, archive.arrays["coef"]
        self.intercept_, self.n_iter_ = archive.arrays["intercept"], int(fitted["n_iter"])
