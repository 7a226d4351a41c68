"""LEML: low-rank empirical risk minimisation for many labels (Yu, Jain, Kar and Dhillon, 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rmls.core.canonical import distinct_rows
from rmls.core.errors import InputError
from rmls.core.options import check_choice, check_number, check_whole, read_seed
from rmls.core.resources import count_threads, require_memory
from rmls.core.sparse import as_label_csr, label_counts
from rmls.decide import CardinalityCount, Rule
from rmls.features import fit_normalizer
from rmls.models.embedding.bilinear import BilinearModel
from rmls.models.embedding.leml_losses import LOSSES, AllEntries, Floats, ObservedEntries, sigmoid
from rmls.models.embedding.leml_solver import (
    NewtonProblem,
    Problem,
    Product,
    SquaredProblem,
    alternate,
)
from rmls.models.rmls.objective import softmax
from rmls.models.shared.progress import Progress


@dataclass
class _Mask:
    """Observed entries, and the training rows told apart by what is observed of them."""

    observed: sparse.csr_matrix
    sample_weight: Any
    Y: sparse.csr_matrix | None = None
    rows: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None


def _gives_probabilities(model: LEML) -> bool:
    return bool(model.loss == "logistic")


class LEML(BilinearModel):
    """Fit a linear model of all labels whose coefficient matrix has rank at most k.

    Minimises ``sum loss(Y_ij, x_i W . l_j) + l2/2 (||W||^2 + ||L||^2)`` over all entries, or over
    the observed ones, by turns in the label vectors and in ``W``.

    Parameters
    ----------
    n_components : int, default=250
        Length of the vectors: the rank.
    loss : {"squared", "logistic", "squared_hinge"}, default="squared"
        ``(s - y)^2 / 2``, ``log(1 + exp(-t s))`` or ``max(0, 1 - t s)^2`` with y in {0, 1}, t = ±1.
    l2 : float, default=3.0
        Weight of the squared norms (lambda in the paper).
    max_iter : int, default=10
        Pairs of half-steps.
    cg_steps : int, default=20
        Conjugate-gradient steps at most in every half-step.
    tol : float, default=1e-3
        Share of the objective that a pair must take off for another pair to follow.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str or Rule, default="cardinality"
        How `predict` cuts.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Threads of the sparse products: None is 1, -1 all cores. The model does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray
    n_iter_ : int
        Pairs of half-steps made.
    objective_curve_ : list of float
        The objective at the start and after every half-step; it never rises.

    Notes
    -----
    The squared loss over all entries needs sparse products only and fits any number of labels. The
    other losses visit all n × m entries, in blocks, dozens of times a half-step: thousands of rows
    with hundreds of labels take seconds, tens of thousands of labels are out of reach. With
    ``observed`` the work is that of the observed entries, for every loss.

    The penalty is that of the nuclear norm of ``W L'``, not of ridge regression; at full rank the
    squared loss gives least squares in the limit of a small ``l2``. Directions beyond the rank of
    the data get vectors of zero. There are no biases.

    References
    ----------
    H.-F. Yu, P. Jain, P. Kar, I. S. Dhillon: Large-scale Multi-label Learning with Missing Labels.
    ICML 2014.

    Examples
    --------
    >>> from rmls import LEML
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> model = LEML(n_components=2, l2=0.01).fit(X, [["tax"], ["law"], ["law", "tax"], []])
    >>> model.predict([[1, 0, 0], [0, 1, 0]])
    [['tax'], ['law']]
    """

    _record = ("n_iter", "objective_curve")

    n_iter_: int
    objective_curve_: list[float]
    _mask: _Mask | None = None

    def __init__(
        self,
        n_components: int = 250,
        *,
        loss: str = "squared",
        l2: float = 3.0,
        max_iter: int = 10,
        cg_steps: int = 20,
        tol: float = 1e-3,
        normalize: str = "auto",
        decision: str | Rule = "cardinality",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.l2 = l2
        self.max_iter = max_iter
        self.cg_steps = cg_steps
        self.tol = tol
        self.normalize = normalize
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        label_names: Any = None,
        observed: Any = None,
    ) -> LEML:
        """Learn from rows ``X`` and their labels ``y``.

        Parameters
        ----------
        X, y, sample_weight, label_names
            As for every estimator.
        observed : 0/1 matrix of shape (n_samples, n_labels), optional
            1 where the label is known. What ``y`` says elsewhere has no influence: neither on the
            vectors nor on the cardinality threshold, which compares observed entries only.

        Returns
        -------
        self
        """
        mask = (
            None if observed is None else _Mask(as_label_csr(observed, "observed"), sample_weight)
        )
        self._mask = mask
        try:
            super().fit(X, y, sample_weight, label_names)
        finally:
            self.__dict__.pop("_mask", None)
        return self

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        self._check_options()
        if self._mask is not None:
            Y, rows, weights = self._apply_mask(self._mask, X, Y)
        self._normalizer = fit_normalizer(X, self.normalize, rows, weights)
        problem = self._make_problem(self._normalizer.apply(X[rows]), Y[rows], rows, weights)
        W, L = self._start(int(X.shape[1]), int(Y.shape[1]))
        with Progress(range(self.max_iter), self.verbose) as progress:
            W, L, curve = alternate(
                problem,
                W,
                L,
                self.max_iter,
                self.tol,
                lambda number, objective: progress.end_pass(number, objective, None),
            )
        self.feature_vectors_, self.label_vectors_ = W, L
        self.objective_curve_, self.n_iter_ = curve, len(curve) // 2
        return rows[:0]

    def _check_options(self) -> None:
        for name in ("n_components", "max_iter", "cg_steps"):
            check_whole(name, getattr(self, name), 1)
        check_number("l2", self.l2, positive=True)
        check_number("tol", self.tol, positive=False)
        check_choice("loss", self.loss, LOSSES)

    def _make_problem(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> Problem:
        threads, l2 = count_threads(self.n_jobs), float(self.l2)
        share = weights.astype(np.float32)
        if self._mask is not None:
            seen = ObservedEntries(self.loss, Y, self._mask.observed[rows], share, threads)
            return NewtonProblem(Product(X, threads), seen, l2, self.cg_steps)
        if self.loss != "squared":
            everything = AllEntries(self.loss, Y, share)
            return NewtonProblem(Product(X, threads), everything, l2, self.cg_steps)
        scale = sparse.diags(np.sqrt(weights))
        X, Y = sparse.csr_matrix(scale @ X), sparse.csr_matrix(scale @ Y)
        square = float(Y.data.astype(np.float64) @ Y.data)
        return SquaredProblem(Product(X, threads), Product(Y, threads), square, l2, self.cg_steps)

    def _start(self, n_features: int, n_labels: int) -> tuple[Floats, Floats]:
        """Return a random projection and label vectors of zero."""
        k = self.n_components
        require_memory(
            4 * k * (7 * n_features + 3 * n_labels),
            f"a model of {n_features} features, {n_labels} labels and {k} components",
            "use fewer components",
        )
        rng = np.random.Generator(np.random.Philox(key=[read_seed(self.random_state), 0]))
        W = rng.standard_normal((n_features, k), dtype=np.float32)
        return W / np.float32(np.sqrt(k)), np.zeros((n_labels, k), np.float32)

    # -- missing labels --------------------------------------------------------------------------

    def _apply_mask(
        self, mask: _Mask, X: sparse.csr_matrix, Y: sparse.csr_matrix
    ) -> tuple[sparse.csr_matrix, NDArray[np.int64], NDArray[np.float64]]:
        """Return the observed positives and the rows that differ in what is observed of them."""
        if mask.observed.shape != Y.shape:
            raise InputError(
                f"observed has shape {mask.observed.shape} but Y has shape {Y.shape}; "
                "both need one row per sample and one column per label."
            )
        mask.Y = as_label_csr(Y.multiply(mask.observed))
        weights = self._read_weights(X, Y, mask.sample_weight)
        both = sparse.csr_matrix(sparse.hstack([mask.observed, mask.Y]))
        mask.rows, mask.weights = distinct_rows(X, both, weights)
        self.label_counts_ = label_counts(mask.Y)
        return mask.Y, mask.rows, mask.weights

    def _fit_rules(
        self,
        rule: Rule,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        held_out: NDArray[np.int64],
    ) -> None:
        mask = self._mask
        if mask is not None and mask.Y is not None and mask.rows is not None:
            Y, rows = mask.Y, mask.rows
            weights = weights if mask.weights is None else mask.weights
        super()._fit_rules(rule, X, Y, rows, weights, held_out)

    def _cardinality_threshold(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> float:
        if self._mask is None:
            return super()._cardinality_threshold(X, Y, rows, weights)
        observed = self._mask.observed[rows]
        counter = CardinalityCount(float(weights @ np.diff(Y.indptr)[rows]))
        for block, scores in self._score_blocks(X[rows]):
            hidden = observed[block].toarray() == 0
            scores[hidden] = scores.min() - 1
            counter.add(scores, weights[block])
        return counter.threshold()

    # -- scores ----------------------------------------------------------------------------------

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator, unused-ignore]
    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``.

        Only for ``loss="logistic"``.
        """
        check_is_fitted(self)
        X = self._read_features(X)
        return self._dense(X, softmax if self._space.is_single else self._own_probabilities)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return sigmoid(scores) if _gives_probabilities(self) else super()._own_probabilities(scores)
