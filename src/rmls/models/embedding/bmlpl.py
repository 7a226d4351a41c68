"""BMLPL: labels from Poisson counts of topics whose strengths follow the features (Rai et al.)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import check_number, check_whole, read_seed
from rmls.core.resources import count_threads, require_memory
from rmls.decide import Rule
from rmls.features import Normalizer, fit_normalizer
from rmls.kernels.cpu.methods.poisson import SparseTopics, score_rows
from rmls.models.embedding.bmlpl_updates import TopicEM, start_em
from rmls.models.rmls.objective import softmax
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.progress import Progress

# Beyond these activations exp leaves float32; scores are then those at the bound.
MAX_ACTIVATION = 60.0
LEAST_TOTAL = np.float32(1e-37)


class BMLPL(MultiLabelEstimator):
    """Learn topics of labels whose strengths in a row follow from its features.

    Label j is relevant in row n when a count ``m_jn ~ Poisson(v_j . u_n)`` is at least 1. Every
    topic ``v_.k`` is a distribution over labels, and its strength in a row is
    ``u_kn ~ Gamma(r_k, scale exp(w_k . x_n + b_k))``. A sweep costs time in the number of relevant
    labels, of rows and of stored features, times the topics, and not in rows times labels.

    Parameters
    ----------
    n_components : int, default=250
        Number of topics; may exceed the number of labels.
    l2 : float, default=1.0
        Precision of the Gaussian prior of every ``w_k``.
    topic_prior : float, default=1.0
        Prior count of a topic, spread evenly over all labels: the Dirichlet prior has the
        parameter ``1 + topic_prior / n_labels``.
    start_spread : float, default=3.0
        How far apart the topics start. A small spread (0.1) finds the topics of data that follow
        the model more surely, and needs many more sweeps.
    max_iter : int, default=30
        Sweeps of variational EM.
    regression_steps : int, default=5
        Conjugate-gradient steps per sweep for the ``w_k``, from those of the sweep before.
    tol : float, default=1e-5
        Stop when the bound rises by less than this share of its size.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str or Rule, default="cardinality"
        How `predict` cuts: ``"cardinality"``, ``"top_k"``, ``"threshold"``.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The model does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray
        Label names or numbers; the classes of a 1-d ``y``.
    n_iter_ : int
        Sweeps made.
    objective_curve_ : list of float
        Lower bound on the log posterior after every sweep, up to a constant; it never falls.
    feature_vectors_ : ndarray of float32, shape (n_features, n_components)
    feature_bias_ : ndarray of float32, shape (n_components,)
    shapes_ : ndarray of float32, shape (n_components,)
        The ``r_k``.

    Notes
    -----
    Scores are ``log sum_k r_k log(1 + v_jk exp(w_k . x + b_k))``, the complementary log-log of the
    probability with ``u`` integrated out: they order labels as the probabilities do and keep their
    digits where those are near 0 or 1. A label without a positive row has the prior's share in
    every topic; rows without labels count as evidence against all topics.

    References
    ----------
    Piyush Rai, Changwei Hu, Ricardo Henao, Lawrence Carin: Large-Scale Bayesian Multi-Label
    Learning via Topic-Based Label Embeddings. NIPS 2015.

    Examples
    --------
    >>> from rmls.models import BMLPL
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 20
    >>> y = [["tax"], ["law"], ["law", "tax"], []] * 20
    >>> BMLPL(n_components=8).fit(X, y).predict([[1, 0, 0], [0, 1, 0]])
    [['tax'], ['law']]
    """

    def __init__(
        self,
        n_components: int = 250,
        *,
        l2: float = 1.0,
        topic_prior: float = 1.0,
        start_spread: float = 3.0,
        max_iter: int = 30,
        regression_steps: int = 5,
        tol: float = 1e-5,
        normalize: str = "auto",
        decision: str | Rule = "cardinality",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.l2 = l2
        self.topic_prior = topic_prior
        self.start_spread = start_spread
        self.max_iter = max_iter
        self.regression_steps = regression_steps
        self.tol = tol
        self.normalize = normalize
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting ---------------------------------------------------------------------------------

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        self._check_options()
        self._require_memory(len(rows), X.shape[1], Y.shape[1])
        self._normalizer = fit_normalizer(X, self.normalize, rows, weights)
        em = start_em(
            self._normalizer.apply(X[rows]),
            Y[rows],
            weights,
            self.n_components,
            l2=self.l2,
            topic_prior=self.topic_prior,
            spread=self.start_spread,
            seed=read_seed(self.random_state),
            n_threads=count_threads(self.n_jobs),
        )
        self.objective_curve_ = self._run_sweeps(em)
        self.n_iter_ = len(self.objective_curve_)
        self.feature_vectors_ = em.coefficients[:-1]
        self.feature_bias_ = em.coefficients[-1]
        self.shapes_ = em.shapes.astype(np.float32)
        self._topics = em.sparse_topics()
        return rows[:0]

    def _check_options(self) -> None:
        for name in ("n_components", "max_iter", "regression_steps"):
            check_whole(name, getattr(self, name), 1)
        for name in ("l2", "topic_prior", "start_spread"):
            check_number(name, getattr(self, name), positive=True)
        check_number("tol", self.tol, positive=False)

    def _require_memory(self, n: int, d: int, m: int) -> None:
        k = self.n_components
        require_memory(
            4 * k * (6 * n + 7 * d + 5 * m),
            f"training on {n} rows with {d} features, {m} labels and {k} components",
            "use fewer components",
        )

    def _run_sweeps(self, em: TopicEM) -> list[float]:
        total = float(em.positives.weights.sum())
        curve: list[float] = []
        with Progress(range(self.max_iter), self.verbose) as progress:
            for number in range(self.max_iter):
                curve.append(em.sweep(self.regression_steps))
                progress.end_pass(number, -curve[-1] / total, None)
                if number and curve[-1] - curve[-2] < self.tol * abs(curve[-1]):
                    break
        return curve

    # -- scores ----------------------------------------------------------------------------------

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        activation = self._normalizer.apply(X) @ self.feature_vectors_ + self.feature_bias_
        odds = np.exp(np.clip(activation, -MAX_ACTIVATION, MAX_ACTIVATION))
        totals = np.empty((X.shape[0], self._space.n_labels), dtype=np.float32)
        score_rows(self._topics, self.shapes_, odds, totals, count_threads(self.n_jobs))
        np.maximum(totals, LEAST_TOTAL, out=totals)
        return np.log(totals, out=totals)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``.

        Notes
        -----
        The strengths of the topics are integrated out:
        ``1 - prod_k (1 + v_jk exp(w_k . x + b_k))^(-r_k)``. For a 1-d ``y`` labels are taken as
        independent given the row, and the probabilities are those given that exactly one holds.
        """
        check_is_fitted(self)
        X = self._read_features(X)
        single = self._space.is_single
        return self._dense(X, _single_probability if single else self._own_probabilities)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(-np.expm1(-np.exp(scores)), dtype=np.float32)

    @property
    def topics_(self) -> NDArray[np.float32]:
        """The topics as columns, dense, of shape (n_labels, n_components)."""
        check_is_fitted(self)
        columns = np.repeat(np.arange(self.n_components), np.diff(self._topics.indptr))
        topics = np.tile(self._topics.floor, (self._space.n_labels, 1))
        topics[self._topics.labels, columns] = self._topics.values
        return topics

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {f"topic_{name}": array for name, array in self._topics._asdict().items()}
        arrays["feature_vectors"], arrays["feature_bias"] = (
            self.feature_vectors_,
            self.feature_bias_,
        )
        arrays["shapes"] = self.shapes_
        arrays["normalizer_mean"] = self._normalizer.mean
        arrays["normalizer_scale"] = self._normalizer.scale
        record = {"objective_curve": self.objective_curve_, "normalizer": self._normalizer.mode}
        return record, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        d, k, mode = int(self.n_features_in_), self.n_components, fitted["normalizer"]
        floats = {
            "feature_vectors": (d, k),
            "feature_bias": (k,),
            "shapes": (k,),
            "topic_floor": (k,),
            "topic_values": (None,),
            "normalizer_mean": (d if mode == "standardize" else 0,),
            "normalizer_scale": (d if mode in ("standardize", "rescale") else 0,),
        }
        check_arrays(archive, {name: (np.float32, shape) for name, shape in floats.items()})
        n_entries = len(archive.arrays["topic_values"])
        integers = {"topic_indptr": (np.int64, (k + 1,)), "topic_labels": (np.int32, (n_entries,))}
        check_arrays(archive, integers)
        arrays = archive.arrays
        self._topics = SparseTopics(*(arrays[f"topic_{name}"] for name in SparseTopics._fields))
        _check_topics(self._topics, self._space.n_labels)
        self._normalizer = Normalizer(mode, arrays["normalizer_mean"], arrays["normalizer_scale"])
        self.feature_vectors_, self.feature_bias_ = (
            arrays["feature_vectors"],
            arrays["feature_bias"],
        )
        self.shapes_ = arrays["shapes"]
        self.objective_curve_ = [float(value) for value in fitted["objective_curve"]]
        self.n_iter_ = len(self.objective_curve_)


def _check_topics(topics: SparseTopics, n_labels: int) -> None:
    """Raise unless the entries stay within the labels: compiled code does not look again."""
    ends = topics.indptr
    good = ends[0] == 0 and ends[-1] == len(topics.values) and (np.diff(ends) >= 0).all()
    if not good or (topics.labels < 0).any() or (topics.labels >= n_labels).any():
        raise InputError("the topics name labels that are not there")


def _single_probability(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return label odds ``exp(total) - 1``, scaled to sum to 1."""
    totals = np.exp(scores)
    return softmax(totals + np.log(-np.expm1(-totals)))
