"""RMLSRanker: short vectors propose labels, sparse weights decide among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import check_choice, check_number, check_share, check_whole, read_seed
from rmls.core.resources import count_threads
from rmls.decide import Rule
from rmls.features import fit_normalizer
from rmls.kernels import cpu
from rmls.models.ranker.archive import ranker_arrays, read_ranker
from rmls.models.ranker.classifiers import ResidualOptions, quantize
from rmls.models.ranker.combination import (
    Combination,
    Frequencies,
    HeldOut,
    fit_combination,
    usual_tail,
)
from rmls.models.ranker.precision import PRECISIONS
from rmls.models.ranker.scoring import ShortlistedModel
from rmls.models.ranker.trainer import TwoStageTrainer
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.schedule import count_passes, count_rows
from rmls.models.rmls.sgd import hold_out
from rmls.models.shared.cross_fit import split_folds

CROSS_FIT_ROWS = 5_000
HELD_OUT_ROWS = 2_000
LEAST_ROWS = 30
INDEX_LABELS = 50_000
USUAL_COST = {"squared_hinge": 2.0, "logistic": 20.0}
USUAL_COST_POWER = 0.25
REPRESENTATION: dict[str, Any] = {"sampler": "mixture", "negatives_per_positive": 20}


class RMLSRanker(ShortlistedModel):
    """Rank labels as well as one-vs-rest at a fraction of its cost, in two stages.

    An `RMLS` representation proposes a shortlist of labels for every row. A sparse linear
    classifier for every label, trained on the rows that have the label and the rows that propose
    it, decides. What becomes of the two scores is learned on rows that neither has seen.

    Parameters
    ----------
    n_components : int, default=128
        Length of the vectors that propose.
    max_iter : int, default=8
        Passes of their training.
    shortlist_size : int, default=150
        Labels proposed for a row; only they are ranked by both scores.
    representation : RMLS, optional
        Its settings are used for the vectors instead of the two above and of our choice for the
        rest. Normalisation, threads and the random state are those of the ranker.
    n_models : int, default=1
        Representations of different random states whose mean score proposes.
    index : {"auto", "exact", "clusters"}, default="auto"
        Whether a shortlist is the best of all labels, or of those in the clusters of label vectors
        that suit the row best. ``"auto"`` searches clusters above 50,000 labels.
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
    C : float or "auto", default="auto"
        Cost of a row in the classifiers, against the squared norm of the weights. ``"auto"`` is
        ``2 / n ** 0.25`` for a label with n rows, and ten times that for the logistic loss.
    offset : float, default=0.0
        Share of the representation's score that is given to the classifiers, so that they learn
        the rest.
    tol : float, default=0.3
        Violation of the optimality conditions at which a classifier is finished.
    max_epochs : int, default=10
        Passes over the rows of a label, at most.
    prune : float, default=0.1
        Weights smaller than this are dropped.
    tail : float or "auto", default="auto"
        How much rare labels are favoured: the odds of a label are multiplied by this power of its
        inverse propensity. 0 ranks by probability. ``"auto"`` is as much as costs a tenth of a
        point of the precision expected at 1, 3 and 5, and at most 1; 0 for a 1-d ``y``.
    precision : {"float32", "int16", "int8"}, default="float32"
        Numbers of weights and vectors: 4, 2 or 1 byte.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str or Rule, default="f1"
        How `predict` cuts; see `rmls.decide.make_rule`.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        How scores become probabilities, fitted to the rows that the combination is learned from.
        None takes the combination for a logit.
    calibration_folds : int or "auto", default="auto"
        Models fitted to parts of the rows to score the others; 0 holds out 2,000 rows instead, at
        most ``validation_fraction``, and lets the classifiers learn from them afterwards.
        ``"auto"`` is 3, and 0 above 5,000 distinct rows.
    validation_fraction : float, default=0.1
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray
        Label names or numbers; the classes of a 1-d ``y``.
    shortlist_recall_ : float
        Share of the relevant labels of held-out rows that are on their shortlists.
    index_recall_ : float
        Share of the best labels that the search in clusters finds; 1 where it is exact.
    tail_ : float
        The power by which rare labels are favoured.
    n_iter_ : int
        Passes made by the training of the vectors.
    n_weights_ : int
        Weights of all classifiers.
    seconds_ : dict of str to float
        Time of every stage of the training.

    Notes
    -----
    Rows are scored on their shortlists only. In `decision_function` all other labels follow below,
    in the order of the representation's scores.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan: A Dual Coordinate Descent Method for Large-scale
    Linear SVM (2008). Li, Wang: Towards Label Imbalance in Multi-label Classification with Many
    Labels.

    Examples
    --------
    >>> from rmls import RMLSRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> model = RMLSRanker(8).fit(X, [["tax"], ["law"], ["law", "tax"], []])
    >>> model.predict([[1, 0, 0], [0, 1, 0]])
    [['tax'], ['law']]
    """

    combination_: Combination
    tail_: float
    shortlist_recall_: float
    index_recall_: float
    seconds_: dict[str, float]
    n_iter_: int

    def __init__(
        self,
        n_components: int = 128,
        *,
        max_iter: int = 8,
        shortlist_size: int = 150,
        representation: RMLS | None = None,
        n_models: int = 1,
        index: str = "auto",
        loss: str = "squared_hinge",
        C: float | str = "auto",
        offset: float = 0.0,
        tol: float = 0.3,
        max_epochs: int = 10,
        prune: float = 0.1,
        tail: float | str = "auto",
        precision: str = "float32",
        normalize: str = "auto",
        decision: str | Rule = "f1",
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.shortlist_size = shortlist_size
        self.representation = representation
        self.n_models = n_models
        self.index = index
        self.loss = loss
        self.C = C
        self.offset = offset
        self.tol = tol
        self.max_epochs = max_epochs
        self.prune = prune
        self.tail = tail
        self.precision = precision
        self.normalize = normalize
        self.decision = decision
        self.calibration = calibration
        self.calibration_folds = calibration_folds
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, label_names: Any = None) -> RMLSRanker:
        """Learn from rows ``X`` and their labels ``y``; see `MultiLabelEstimator.fit`."""
        super().fit(X, y, sample_weight, label_names)
        del self._held
        return self

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        self._check_options()
        self._normalizer = fit_normalizer(X, self.normalize, rows, weights)
        trainer = self._make_trainer(self._normalizer.apply(X[rows]), Y[rows], weights)
        n_rows, seed = len(rows), read_seed(self.random_state)
        everything, nothing = np.arange(n_rows), np.zeros(0, np.int64)
        n_folds = self._count_folds(n_rows)
        if n_rows < LEAST_ROWS:
            stages, _ = trainer.fit(everything, nothing)
            held: HeldOut | None = trainer.score(stages, everything)
        elif n_folds:
            parts = [
                trainer.score(trainer.fit(kept, nothing)[0], left_out)
                for kept, left_out in split_folds(n_rows, n_folds, seed)
            ]
            held = HeldOut.stack(parts)
            stages, _ = trainer.fit(everything, nothing)
        else:
            share = min(self.validation_fraction, HELD_OUT_ROWS / n_rows)
            left_out, kept = hold_out(n_rows, share, seed)
            stages, held = trainer.fit(kept, left_out)
        assert held is not None
        self.representation_ = stages.representation
        self.index_, self.index_recall_ = stages.index, stages.index_recall
        self.weights_ = quantize(stages.weights, self.precision)
        self.seconds_ = trainer.seconds
        self.n_iter_ = int(trainer.members[0].max_iter)
        self._frequencies = Frequencies.of(Y[rows], weights)
        self._learn_to_combine(held)
        return rows[:0]

    def _learn_to_combine(self, held: HeldOut) -> None:
        self._held = held
        self.combination_ = fit_combination(held, self._frequencies)
        if self.tail != "auto":
            self.tail_ = float(self.tail)
        elif self._space.is_single:
            self.tail_ = 0.0
        else:
            self.tail_ = usual_tail(held, self.combination_, self._frequencies)
        self._mix()
        self.shortlist_recall_, self.unlisted_ = held.recall, held.unlisted

    def _mix(self) -> None:
        self._mixture = self.combination_.mixture(self._frequencies, self.tail_)
        self._logits = self.combination_.mixture(self._frequencies)

    def _count_folds(self, n_rows: int) -> int:
        if self.calibration_folds == "auto":
            return 3 if n_rows <= CROSS_FIT_ROWS else 0
        check_whole("calibration_folds", self.calibration_folds, 0)
        if self.calibration_folds == 1:
            raise InputError("calibration_folds must be 0, to hold rows out, or at least 2; got 1.")
        return min(int(self.calibration_folds), n_rows)

    def _check_options(self) -> None:
        for name in ("n_components", "max_iter", "shortlist_size", "n_models", "max_epochs"):
            check_whole(name, getattr(self, name), 1)
        for name, positive in (("C", True), ("tail", False)):
            value = getattr(self, name)
            if not isinstance(value, str):
                check_number(name, value, positive=positive)
            elif value != "auto":
                raise InputError(f"{name} must be a number or 'auto'; got {value!r}.")
        check_number("tol", self.tol, positive=True)
        for name in ("offset", "prune"):
            check_number(name, getattr(self, name), positive=False)
        check_choice("index", self.index, ("auto", "exact", "clusters"))
        check_choice("loss", self.loss, cpu.DUAL_LOSSES)
        check_choice("precision", self.precision, tuple(PRECISIONS))
        check_share("validation_fraction", self.validation_fraction)
        if self.representation is not None and type(self.representation) is not RMLS:
            kind = type(self.representation).__name__
            raise InputError(f"representation must be an RMLS or None; got {kind}.")

    def _make_trainer(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float64]
    ) -> TwoStageTrainer:
        if self.C == "auto":
            cost, power = USUAL_COST[self.loss], USUAL_COST_POWER
        else:
            cost, power = float(self.C), 0.0
        options = ResidualOptions(
            self.loss, cost, power, self.tol, self.max_epochs, self.prune, self.offset
        )
        n_labels, threads = self._space.n_labels, count_threads(self.n_jobs)
        indexed = self.index == "clusters" or (self.index == "auto" and n_labels > INDEX_LABELS)
        return TwoStageTrainer(
            X,
            Y,
            weights,
            self._space,
            self._make_members(count_rows(weights)),
            self._list_size(),
            indexed,
            read_seed(self.random_state),
            self.precision,
            options,
            threads,
        )

    def _make_members(self, n_rows: int) -> list[RMLS]:
        """Return the settings of the representations, with as many passes on parts of the rows."""
        first = read_seed(self.random_state)
        model = RMLS(self.n_components, max_iter=self.max_iter, **REPRESENTATION)
        if self.representation is not None:
            model = clone(self.representation)
        fixed = {
            "max_iter": count_passes(model.max_iter, n_rows),
            "normalize": "none",
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }
        return [
            clone(model).set_params(random_state=first + number, **fixed)
            for number in range(self.n_models)
        ]

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return ranker_arrays(self)

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        read_ranker(self, fitted, archive)
        self._mix()
