"""IRUS: inverse random under-sampling, more relevant than irrelevant rows in every sample."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rmls.core.options import Option, share, store_params, whole
from rmls.decide import Rule
from rmls.models.ensembles.linear_machines import Classes
from rmls.models.ensembles.template import LabelDraw, MachineEnsemble


class IRUS(MachineEnsemble):
    """Average, for every label, machines that each saw all its rows and fewer of the others.

    For label j with relevant rows P and irrelevant rows N, machine t learns from P and from a
    random part of N that is *smaller* than P: the imbalance is reversed, so that every machine
    finds nearly all relevant rows, and different samples make them err on different irrelevant
    ones. The score is the mean of their confidences (Tahir, Kittler and Yan, "Inverse random under
    sampling for class imbalance problem and its application to multi-label classification",
    Pattern Recognition 45, 2012).

    Parameters
    ----------
    n_estimators : int, default=10
        Machines a label.
    negatives_per_positive : float, default=0.5
        Irrelevant rows per relevant one in a sample, below 1; at least one row is drawn.
    C : float, default=1.0
        Weight of the loss of a row against the squared norm of the weights.
    max_iter : int, default=20
        Passes of the solver over the rows of a sample, at most.
    tol : float, default=0.1
        Violation of the optimality conditions at which the solver stops.
    prune : float, default=0.01
        Weights below are dropped.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="round"
        Scores are counted from each label's own threshold, which ``round`` applies.
    random_state : int, RandomState or None, default=0
        Seed of the drawn rows.
    n_jobs : int or None, default=None
        Threads, over labels in training and over rows in scoring; the model does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    thresholds_ : ndarray of float32, shape (n_labels,)
        Mean confidence with the best F on the training rows.
    learned_ : ndarray of int64
        Labels that some training rows have and others have not; the rest is constant.
    n_iter_ : int
        Passes of the machine that took most.

    Notes
    -----
    Where the paper leaves it open: the machines are linear (squared hinge), the confidence is
    ``1 / (1 + exp(-2 s))`` of their output s, and labels are cut at the threshold of their best F
    on the training rows. With sample weights it is their sums that are compared. Time is O(T p z)
    for T machines a label, p positive entries of Y and z non-zeros a row, and O(T m nnz(X)) for
    the thresholds; the weights take at most O(T p z) numbers.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1], [0, 2]], [[1, 0], [0, 1], [1, 1], [0, 1]]
    >>> IRUS().fit(X, Y).predict([[1, 0], [0, 1]]).tolist()
    [[1, 0], [0, 1]]
    """

    n_estimators: int
    negatives_per_positive: float
    C: float
    max_iter: int
    tol: float
    prune: float

    _options: ClassVar[dict[str, Option]] = {
        "n_estimators": whole(1),
        "negatives_per_positive": share(),
    }

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        negatives_per_positive: float = 0.5,
        C: float = 1.0,
        max_iter: int = 20,
        tol: float = 0.1,
        prune: float = 0.01,
        normalize: str = "auto",
        decision: str | float | Rule = "round",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    def _problems(self, draw: LabelDraw) -> list[Classes]:
        rows, label, _, rng = draw
        relevant = rows.relevant(label)
        irrelevant = np.flatnonzero(rows.irrelevant_mask(label))
        # Weight, not rows: below that of the positives, which reverses the imbalance.
        budget = self.negatives_per_positive * rows.weigh(relevant)
        return [[rows.draw(irrelevant, budget, rng), relevant] for _ in range(self.n_estimators)]

    def _max_outputs(self) -> int:
        return self.n_estimators
