"""BMLPL: labels from Poisson counts of topics whose strengths follow the features (Rai et al.)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.numeric import softmax
from rmls.core.options import (
    Option,
    check_components,
    check_numbers,
    number,
    positive,
    read_seed,
    store_params,
    whole,
)
from rmls.core.resources import count_threads, require_memory
from rmls.core.sparse import check_csr
from rmls.decide import Rule
from rmls.kernels.cpu.methods.poisson import SparseTopics, score_rows
from rmls.models.embedding.bmlpl_updates import TopicEM, start_em
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.progress import Progress
from rmls.models.shared.training_set import TrainingSet

# Beyond these activations exp leaves float32; scores are then those at the bound.
MAX_ACTIVATION = 60.0
# Above the smallest normal float32, so that the logarithm stays finite.
MIN_TOTAL = np.float32(1e-37)


class BMLPL(GivesProbabilities, MultiLabelEstimator):
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
    decision : str, float or Rule, default="cardinality"
        How `predict` cuts: ``"cardinality"``, ``"top_k"``, ``"threshold"``.
    random_state : int, RandomState or None, default=0
        Seed of the first parameters.
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

    n_components: int
    l2: float
    topic_prior: float
    start_spread: float
    max_iter: int
    regression_steps: int
    tol: float

    _options: ClassVar[dict[str, Option]] = {
        "n_components": whole(1),
        "l2": positive(),
        "topic_prior": positive(),
        "start_spread": positive(),
        "max_iter": whole(1),
        "regression_steps": whole(1),
        "tol": number(),
    }

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
        decision: str | float | Rule = "cardinality",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    # -- fitting ---------------------------------------------------------------------------------

    def _fit(self, data: TrainingSet) -> ScoredRows:
        self._require_memory(data.n_rows, data.n_features, data.n_labels)
        check_components(self.n_components, data.n_labels)
        em = start_em(
            self._normalized(data).features,
            data.labels,
            data.weights,
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
        return ScoredRows(self, data)

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
        with Progress(range(self.max_iter)) as progress:
            for number in range(self.max_iter):
                curve.append(em.sweep(self.regression_steps))
                progress.end_pass(number, -curve[-1] / total, None)
                if number and curve[-1] - curve[-2] < self.tol * abs(curve[-1]):
                    break
        return curve

    # -- scores ----------------------------------------------------------------------------------

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        activation = X @ self.feature_vectors_ + self.feature_bias_
        odds = np.exp(np.clip(activation, -MAX_ACTIVATION, MAX_ACTIVATION))
        totals = np.empty((X.shape[0], self._space.n_labels), dtype=np.float32)
        score_rows(self._topics, self.shapes_, odds, totals, count_threads(self.n_jobs))
        np.maximum(totals, MIN_TOTAL, out=totals)
        return np.log(totals, out=totals)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        # The strengths of the topics are integrated out: 1 - prod_k (1 + v_jk e^(w_k.x + b_k))^-r_k
        return np.asarray(-np.expm1(-np.exp(scores)), dtype=np.float32)

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        # Labels are independent given the row; given that exactly one of them holds, its
        # probability is proportional to its odds, exp(total) - 1.
        totals = np.exp(scores)
        return softmax(totals + np.log(-np.expm1(-totals)))

    @property
    def topics_(self) -> NDArray[np.float32]:
        """The topics as columns, dense, of shape (n_labels, n_components)."""
        check_is_fitted(self)
        columns = np.repeat(np.arange(self.n_components), np.diff(self._topics.indptr))
        # What is not stored has the share that the prior gives any label.
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
        return {"objective_curve": self.objective_curve_}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        d, k = int(self.n_features_in_), self.n_components
        floats = {
            "feature_vectors": (d, k),
            "feature_bias": (k,),
            "shapes": (k,),
            "topic_floor": (k,),
            "topic_values": (None,),
        }
        check_arrays(archive, {name: (np.float32, shape) for name, shape in floats.items()})
        n_entries = len(archive.arrays["topic_values"])
        integers = {"topic_indptr": (np.int64, (k + 1,)), "topic_labels": (np.int32, (n_entries,))}
        check_arrays(archive, integers)
        arrays = archive.arrays
        self._topics = SparseTopics(*(arrays[f"topic_{name}"] for name in SparseTopics._fields))
        _check_topics(self._topics, self._space.n_labels)
        self.feature_vectors_, self.feature_bias_ = (
            arrays["feature_vectors"],
            arrays["feature_bias"],
        )
        self.shapes_ = arrays["shapes"]
        if self.shapes_.min() < 0:
            raise InputError("a topic has a negative strength")
        check_numbers("objective_curve", fitted["objective_curve"], signed=True)
        self.objective_curve_ = [float(value) for value in fitted["objective_curve"]]
        self.n_iter_ = len(self.objective_curve_)


def _check_topics(topics: SparseTopics, n_labels: int) -> None:
    """Raise unless the entries stay within the labels: compiled code does not look again."""
    shape = (len(topics.indptr) - 1, n_labels)
    check_csr(topics.values, topics.labels, topics.indptr, shape, "topic")
    if topics.values.min(initial=0) < 0 or topics.floor.min(initial=0) < 0:
        raise InputError("a label has a negative share of a topic")
