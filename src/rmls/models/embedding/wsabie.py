"""WSABIE: row and label vectors trained by the WARP loss (Weston, Bengio and Usunier, 2011)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rmls.core.options import Option, choice, number, positive, read_seed, store_params, whole
from rmls.decide import Rule
from rmls.kernels.cpu.sgd.passes import WarpPasses
from rmls.kernels.cpu.sgd.warp import Warp, rank_weights
from rmls.models.embedding.bilinear import BilinearModel
from rmls.models.rmls.sampling import bound_batch
from rmls.models.rmls.sgd import (
    Sgd,
    Training,
    initial_params,
    label_rows,
    run_passes,
    training_threads,
)
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.training_set import TrainingSet

# Squares of longer and shorter vectors would leave float32.
LONGEST = 1e18
# Settings of the study of RMLS where they differ from our defaults (docs/research/paper-study.md).
PAPER: dict[str, Any] = {
    "max_norm": None,
    "l2": 0.001,
    "learning_rate": 0.001,
    "schedule": "constant",
    "max_iter": 2,
    "normalize": "none",
}


class WSABIE(BilinearModel):
    """Learn row and label vectors that rank relevant labels first, by the WARP loss.

    The score of label j is ``x W . l_j``. For every relevant label irrelevant ones are drawn until
    one of them comes within a margin of 1; the number of draws estimates the rank of the relevant
    label, and the lower it ranks, the larger the step that moves the two apart.

    Parameters
    ----------
    n_components : int, default=250
        Length of the vectors.
    max_norm : float or None, default=2.0
        Bound on the length of every label vector and every row of ``W`` (C in the paper).
    l2 : float, default=0.0
        Weight of the squared norms of label vectors and rows of ``W``; WSABIE's authors bound
        norms instead, the study of RMLS has 0.001.
    max_tries : int, default=1000
        Irrelevant labels drawn at most; a relevant label without a violator among them is left
        alone. The paper draws up to all of them.
    negatives : {"sampled", "all"}, default="sampled"
        ``"all"`` counts the violators instead of estimating their number, and moves all of them:
        the loss that sampling estimates.
    learning_rate : float, default=0.02
        Step size of stochastic gradient descent.
    schedule : {"linear", "constant"}, default="linear"
        Whether the learning rate falls to 0 over ``max_iter`` passes.
    batch_size : int, default=1
        Rows per step; 1 updates online. Gradients of a batch are summed and applied once.
    max_iter : int, default=10
        Passes over the rows.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="cardinality"
        How `predict` cuts.
    random_state : int, RandomState or None, default=0
        Seed of every random choice.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. More than one thread updates without locks.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray
    n_iter_ : int
        Passes made.
    loss_curve_ : list of float
        Mean WARP loss of a row per pass.

    Notes
    -----
    A visit of a row takes the steps of its relevant labels one after the other and moves ``W``
    once, by their sum; published WSABIE takes one pair at a time. There are no biases. Rows
    without labels, or with all of them, teach nothing; a label without positives is only pushed
    away. More components than the data can fill do no harm.

    References
    ----------
    J. Weston, S. Bengio, N. Usunier: WSABIE: Scaling Up To Large Vocabulary Image Annotation.
    IJCAI 2011.

    Examples
    --------
    >>> from rmls import WSABIE
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> model = WSABIE(n_components=8, max_iter=50).fit(X, [["tax"], ["law"], ["law", "tax"], []])
    >>> model.rank([[1, 0, 0], [0, 1, 0]], k=1).labels.tolist()
    [1, 0]
    """

    _record = ("n_iter", "loss_curve")
    n_iter_: int
    loss_curve_: list[float]

    n_components: int
    max_norm: float | None
    l2: float
    max_tries: int
    negatives: str
    learning_rate: float
    schedule: str
    batch_size: int
    max_iter: int

    _options: ClassVar[dict[str, Option]] = {
        "n_components": whole(1),
        "max_norm": positive().or_none(),
        "l2": number(),
        "max_tries": whole(1),
        "negatives": choice("sampled", "all"),
        "learning_rate": positive(),
        "schedule": choice("linear", "constant"),
        "batch_size": whole(1),
        "max_iter": whole(1),
    }

    def __init__(
        self,
        n_components: int = 250,
        *,
        max_norm: float | None = 2.0,
        l2: float = 0.0,
        max_tries: int = 1000,
        negatives: str = "sampled",
        learning_rate: float = 0.02,
        schedule: str = "linear",
        batch_size: int = 1,
        max_iter: int = 10,
        normalize: str = "auto",
        decision: str | float | Rule = "cardinality",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> WSABIE:
        """Return the method with what the study of RMLS says of it: a penalty of 0.001.

        Features are as they are, norms are not bounded. Step size, passes and start of the authors'
        program are not known: two passes as of `RMLS.paper`, and the largest step of 0.1, 0.01 and
        0.001 that learns from raw counts.

        Examples
        --------
        >>> WSABIE.paper(50).l2
        0.001
        """
        return cls(n_components, **{**PAPER, **overrides})

    def _fit(self, data: TrainingSet) -> ScoredRows:
        training = self._start(self._normalized(data))
        self.loss_curve_ = run_passes(training, range(self.max_iter), self)
        params = training.state.params
        self.feature_vectors_, self.label_vectors_ = params.W, params.L
        self.n_iter_ = len(self.loss_curve_)
        return ScoredRows(self, data)

    def _start(self, data: TrainingSet) -> Training:
        """Start from a random projection within the bound and label vectors of zero."""
        shape = (data.n_features, data.n_labels, int(self.n_components))
        seed = read_seed(self.random_state)
        state = Sgd(*initial_params(shape, "projection", seed, 1.0, False), seed)
        W = state.params.W
        lengths = np.sqrt(np.einsum("fk,fk->f", W, W))
        # Projected onto |W_f| <= C, as every step will be.
        bound = LONGEST if self.max_norm is None else float(self.max_norm)
        max_norm = min(max(bound, 1 / LONGEST), LONGEST)
        W *= (max_norm / np.maximum(lengths, max_norm))[:, None]
        batch_size = bound_batch(self.batch_size, data)
        warp = Warp(
            # L(r) = sum_(i <= r) 1/i: the top of a list weighs more than its end.
            rank_weight=rank_weights(data.n_labels),
            decay=np.float32(2 * self.l2),
            max_square=np.float32(max_norm**2),
            max_tries=int(self.max_tries),
            all_negatives=self.negatives == "all",
        )
        passes = WarpPasses(
            label_rows(data),
            state.params,
            state.accumulators,
            warp,
            batch_size,
            training_threads(self.n_jobs, data, int(self.n_components)),
        )
        return Training(passes, data, state, batch_size)
