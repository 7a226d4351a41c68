"""LEML: low-rank empirical risk minimisation for many labels (Yu, Jain, Kar and Dhillon, 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from rmls.core.numeric import sigmoid
from rmls.core.options import Option, choice, number, positive, read_seed, store_params, whole
from rmls.core.resources import count_threads, keeps_to_n_jobs, require_memory
from rmls.decide import Rule
from rmls.models.embedding.bilinear import BilinearModel
from rmls.models.embedding.leml_losses import LOSSES, AllEntries, Floats, ObservedEntries
from rmls.models.embedding.leml_solver import (
    NewtonProblem,
    Problem,
    Product,
    SquaredProblem,
    alternate,
)
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.progress import Progress
from rmls.models.shared.training_set import TrainingSet, read_training_set


def _gives_probabilities(model: LEML) -> bool:
    return bool(model.loss == "logistic")


class LEML(GivesProbabilities, BilinearModel):
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
    decision : str, float or Rule, default="cardinality"
        How `predict` cuts.
    random_state : int, RandomState or None, default=0
        Seed of the first parameters.
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

    n_components: int
    loss: str
    l2: float
    max_iter: int
    cg_steps: int
    tol: float

    _options: ClassVar[dict[str, Option]] = {
        "n_components": whole(1),
        "loss": choice(*LOSSES),
        "l2": positive(),
        "max_iter": whole(1),
        "cg_steps": whole(1),
        "tol": number(),
    }

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
        decision: str | float | Rule = "cardinality",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> LEML:
        """Return the method with the settings of the study of RMLS: lambda 0.001, raw features.

        Squared loss, least squares in turns, cardinality, as we have it by default.

        Examples
        --------
        >>> LEML.paper(50).l2
        0.001
        """
        return cls(n_components, **{"l2": 0.001, "normalize": "none", **overrides})

    # -- fitting ---------------------------------------------------------------------------------

    @keeps_to_n_jobs
    def fit(
        self,
        X: Any,
        y: Any = None,
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
        if observed is None:
            super().fit(X, y, sample_weight, label_names)
        else:
            self._fit_set(read_training_set(self, X, y, sample_weight, label_names, observed))
        return self

    def _fit(self, data: TrainingSet) -> ScoredRows:
        scaled = self._normalized(data).compact()
        W, L = self._start(data.n_features, data.n_labels)
        with Progress(range(self.max_iter)) as progress:
            W, L, curve = alternate(
                self._make_problem(scaled),
                W,
                L,
                self.max_iter,
                self.tol,
                lambda number, objective: progress.end_pass(number, objective, None),
            )
        self.feature_vectors_, self.label_vectors_ = W, L
        self.objective_curve_, self.n_iter_ = curve, len(curve) // 2
        return ScoredRows(self, data)

    def _make_problem(self, data: TrainingSet) -> Problem:
        threads, l2 = count_threads(self.n_jobs), float(self.l2)
        X, Y, weights = data.X, data.Y, data.weights.astype(np.float32)
        if data.observed is not None:
            seen = ObservedEntries(self.loss, Y, data.observed, weights, threads)
            return NewtonProblem(Product(X, threads), seen, l2, self.cg_steps)
        if self.loss != "squared":
            everything = AllEntries(self.loss, Y, weights)
            return NewtonProblem(Product(X, threads), everything, l2, self.cg_steps)
        # The squared loss alone lets weights move into the data, so that no n x m weighting is
        # needed.
        scale = sparse.diags(np.sqrt(data.weights))
        X, Y = sparse.csr_matrix(scale @ X), sparse.csr_matrix(scale @ Y)
        square = float(Y.data.astype(np.float64) @ Y.data)
        return SquaredProblem(Product(X, threads), Product(Y, threads), square, l2, self.cg_steps)

    def _start(self, n_features: int, n_labels: int) -> tuple[Floats, Floats]:
        """Return a random projection and label vectors of zero."""
        k = self.n_components
        require_memory(
            # The squared loss decomposes k x k matrices of float64, with copies.
            4 * k * (7 * n_features + 3 * n_labels) + 40 * k * k,
            f"a model of {n_features} features, {n_labels} labels and {k} components",
            "use fewer components",
        )
        rng = np.random.Generator(np.random.Philox(key=[read_seed(self.random_state), 0]))
        # W = L = 0 would be a saddle point; from a random W the first half-step moves L off zero.
        W = rng.standard_normal((n_features, k), dtype=np.float32)
        return W / np.float32(np.sqrt(k)), np.zeros((n_labels, k), np.float32)

    # -- scores ----------------------------------------------------------------------------------

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator, unused-ignore]
    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``.

        Only for ``loss="logistic"``.
        """
        return super().predict_proba(X)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return sigmoid(scores) if _gives_probabilities(self) else super()._own_probabilities(scores)
