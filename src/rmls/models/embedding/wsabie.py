"""WSABIE: row and label vectors trained by the WARP loss (Weston, Bengio and Usunier, 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.options import check_choice, check_number, check_whole, read_seed
from rmls.core.resources import count_threads
from rmls.decide import Rule
from rmls.features import fit_normalizer
from rmls.kernels import cpu
from rmls.models.embedding.bilinear import BilinearModel
from rmls.models.rmls.initial import start_params
from rmls.models.rmls.schedule import learning_rates
from rmls.models.rmls.sgd import Rows, Sgd, run_passes


@dataclass
class WarpSgd(Sgd):
    """Parameters in training by WARP."""

    warp: cpu.Warp | None = None
    merges: ClassVar[bool] = False

    def _run_kernel(
        self, rows: Rows, visits: cpu.Visits, memory: cpu.Scratch, bounds: tuple[int, int]
    ) -> tuple[float, float]:
        measured: tuple[float, float] = cpu.run_warp(
            rows.arrays, self.params, self.warp, visits, memory, *bounds
        )
        return measured

    def _longest(self, rows: Rows) -> int:
        """A relevant label pushes one other away, or all of them."""
        assert self.warp is not None, "the loss is set with the parameters"
        n_labels = self.shape[1]
        return n_labels if self.warp.all_negatives else min(2 * rows.max_labels, n_labels)


class WSABIE(BilinearModel):
    """Learn row and label vectors that rank relevant labels first, by the WARP loss.

    The score of label j is ``x W . l_j``. For every relevant label irrelevant ones are drawn until
    one of them comes within a margin of 1; the number of draws estimates the rank of the relevant
    label, and the lower it ranks, the larger the step that moves the two apart.

    Parameters
    ----------
    n_components : int, default=250
        Length of the vectors.
    max_norm : float, default=2.0
        Bound on the length of every label vector and every row of ``W`` (C in the paper).
    max_tries : int, default=1000
        Irrelevant labels drawn at most; a relevant label without a violator among them is left
        alone. The paper draws up to all of them.
    negatives : {"sampled", "all"}, default="sampled"
        ``"all"`` counts the violators instead of estimating their number, and moves all of them:
        the loss that sampling estimates.
    learning_rate : float, default=0.02
    schedule : {"linear", "constant"}, default="linear"
        Whether the learning rate falls to 0 over ``max_iter`` passes.
    batch_size : int, default=1
        Rows per step; 1 updates online. Gradients of a batch are summed and applied once.
    max_iter : int, default=10
        Passes over the rows.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str or Rule, default="cardinality"
        How `predict` cuts.
    random_state : int, RandomState or None, default=0
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

    def __init__(
        self,
        n_components: int = 250,
        *,
        max_norm: float = 2.0,
        max_tries: int = 1000,
        negatives: str = "sampled",
        learning_rate: float = 0.02,
        schedule: str = "linear",
        batch_size: int = 1,
        max_iter: int = 10,
        normalize: str = "auto",
        decision: str | Rule = "cardinality",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_norm = max_norm
        self.max_tries = max_tries
        self.negatives = negatives
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.normalize = normalize
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        self._check_options()
        shape = (int(X.shape[1]), int(Y.shape[1]), self.n_components)
        self._normalizer = fit_normalizer(X, self.normalize, rows, weights)
        sgd = self._make_sgd(shape, read_seed(self.random_state))
        self.loss_curve_ = run_passes(
            sgd,
            Rows.of(self._normalizer.apply(X), Y, rows, weights),
            range(self.max_iter),
            lambda number: learning_rates(self.learning_rate, self.schedule, number, self.max_iter),
            verbose=self.verbose,
        )
        self.feature_vectors_, self.label_vectors_ = sgd.params.W, sgd.params.L
        self.n_iter_ = len(self.loss_curve_)
        return rows[:0]

    def _check_options(self) -> None:
        for name in ("n_components", "max_tries", "batch_size", "max_iter"):
            check_whole(name, getattr(self, name), 1)
        for name in ("max_norm", "learning_rate"):
            check_number(name, getattr(self, name), positive=True)
        check_choice("negatives", self.negatives, ("sampled", "all"))
        check_choice("schedule", self.schedule, ("linear", "constant"))

    def _make_sgd(self, shape: tuple[int, int, int], seed: int) -> WarpSgd:
        """Start from a random projection within the bound and label vectors of zero."""
        params, accumulators = start_params(shape, "projection", seed, 1.0, False)
        lengths = np.sqrt(np.einsum("fk,fk->f", params.W, params.W))
        params.W[:] *= (self.max_norm / np.maximum(lengths, self.max_norm))[:, None]
        warp = cpu.Warp(
            rank_weight=cpu.rank_weights(shape[1]),
            max_square=np.float32(self.max_norm**2),
            max_tries=int(self.max_tries),
            all_negatives=self.negatives == "all",
        )
        threads = count_threads(self.n_jobs)
        return WarpSgd(
            params, accumulators, seed, batch_size=self.batch_size, n_threads=threads, warp=warp
        )
