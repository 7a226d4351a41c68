"""RMLS: representation-based multi-label learning with sampling (Li and Wang, 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive
from rmls.core.options import is_auto, store_params
from rmls.core.resources import keeps_to_n_jobs
from rmls.decide import Cardinality, Rule
from rmls.kernels.backend import Vectors
from rmls.models.rmls.archive import read_state, training_state
from rmls.models.rmls.early_stopping import set_aside, watch_held_out
from rmls.models.rmls.objective import (
    OPTIONS,
    PAPER,
    RMLSOptions,
    check_together,
    settle_focus,
    to_probability,
)
from rmls.models.rmls.sampling import Totals, count_passes, count_rows
from rmls.models.rmls.sgd import Settled, Sgd, Training, run_passes
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.training_set import TrainingSet, read_more_rows, read_training_set


class RMLS(GivesProbabilities, RMLSOptions, MultiLabelEstimator):
    """Learn a short vector for every row and label from relevant and sampled irrelevant labels.

    The score of label j is ``h . l_j + c_j`` with ``h = activation(x W + b)``. Every visit of a row
    adds the loss of its relevant labels and of a fresh sample of irrelevant ones, so that a pass
    costs time in the number of relevant labels and not in the number of labels.

    Parameters
    ----------
    n_components : int, default=250
        Length of the vectors (k in the paper).
    negatives_per_positive : float or "auto", default="auto"
        Irrelevant labels drawn per relevant one (alpha in the paper, which suggests 5). ``"auto"``
        draws about 400 for a row of average size.
    negatives : {"sampled", "all"}, default="sampled"
        ``"all"`` uses every irrelevant label, weighted to the same total: the full cost-sensitive
        loss that sampling estimates.
    min_negatives : int, default=10
        Irrelevant labels drawn at least, for rows with few labels or none.
    sampler : {"uniform", "frequency", "mixture", "in_batch"}, default="uniform"
        Shares of the labels in the draws: equal; as ``count ** sampler_power``; a mixture of both;
        or the labels of the other rows of the mini-batch, all of them (``batch_size`` at least 2).
    sampler_power : float, default=0.5
        0 draws labels equally, 1 in proportion to their counts.
    sampler_mix : float, default=0.5
        Share of the draws by frequency in ``"mixture"``.
    replacement : "auto", "union" or bool, default="auto"
        Whether a row may draw a label twice; ``"auto"`` only where shares differ. Without, the
        samplers by frequency drop what comes again. ``"union"`` is Algorithm 1 of the paper: as
        many draws with replacement as labels are wanted, and each label once.
    redraw : bool, default=True
        Whether every visit of a row draws anew. False keeps one sample of every row, and thins no
        gradients; see `AveragedRMLS`.
    log_q : bool, default=False
        Whether the loss is corrected for the rates of sampling, so that ``sigmoid(score)`` is the
        probability where labels are independent given the features (logistic loss only).
    loss : {"logistic", "squared", "squared_hinge", "focal", "asymmetric"}, default="logistic"
        Loss of a relevant or sampled label; ``"squared"`` is ``(s - y)^2 / 2`` with y in {0, 1}.
    focus_relevant, focus_irrelevant, margin : float or "auto", default="auto"
        Of ``"focal"`` (2, 2, 0; one focus) and ``"asymmetric"`` (0, 4, 0.05): powers that play
        down labels already right, and the probability below which irrelevant ones cost nothing.
    activation : {"tanh", "linear", "relu"}, default="tanh"
        Function of every component of a row's vector.
    fit_intercept : bool, default=True
        Whether rows' vectors and scores have biases; the paper's equations have none.
    l2 : float or "auto", default="auto"
        Weight of the squared norms (lambda in the paper). ``"auto"`` is 0.0001, more on data of
        fewer than 9,300 rows: ``90 / n_samples ** 1.5``, at most 0.004.
    max_feature_norm, max_label_norm : float or None, default=None
        Bounds on ``||W||_F^2`` and every ``||l_j||^2`` (C1 and C2, which may be an array): the
        paper's other regularisation.
    label_norm_power : float, default=0.0
        Bounds label j by ``C2 (count / largest count) ** label_norm_power``.
    accumulators : {"row", "element"}, default="row"
        AdaGrad with one accumulator per row of ``W`` and per label, or per number.
    learning_rate : float, default=0.1
        Step size of AdaGrad.
    schedule : {"linear", "constant"}, default="linear"
        Whether the learning rate falls to 0 over ``max_iter`` passes.
    initial_accumulator : float, default=0.1
        Value AdaGrad's accumulators start from.
    init : {"projection", "glorot"}, default="projection"
        Start: a random projection and zero label vectors, or Glorot's random numbers.
    batch_size : int, default=1
        Rows per step; 1 updates online. Gradients of a batch are summed and applied once.
    max_iter : int or "auto", default="auto"
        Passes over the rows. ``"auto"`` is 10, more over fewer than 1,000 rows:
        ``10,000 / n_samples``, at most 20.
    gradient_floor : float, default=0.02
        Slopes below it are rounded at random to 0 or to it, which keeps their mean and skips most
        of the work; 0 switches that off.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="f1"
        How `predict` cuts: ``"f1"``, the set with the best expected F; ``"cardinality"``, the
        paper's; any other of `rmls.decide.make_rule`.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        How scores become probabilities, fitted to rows that were not trained on; see
        `rmls.decide.fit_calibration`. None trusts the model and takes a third of the time.
    calibration_folds : int or "auto", default="auto"
        Models fitted to parts of the rows to score the others; 0 holds out 2,000 rows instead, at
        most ``validation_fraction``. ``"auto"`` is 3, and 0 above 30,000 distinct rows. Rows held
        out for early stopping serve as well.
    class_weight : "balanced", "propensity", dict, array of shape (n_labels,) or None, default=None
        Weight of the relevant entries of every label; both names boost rare labels.
    early_stopping : bool, default=False
        Stop when ``validation_metric`` on held-out rows has not risen for ``n_iter_no_change``
        passes, and keep the best parameters.
    validation_fraction : float, default=0.1
        Share of the distinct rows held out, for early stopping and for a tuned threshold.
    validation_metric : str, default="example_f1"
        Metric of the held-out rows, measured after every pass.
    n_iter_no_change : int, default=3
        Passes without a rise of the metric after which training stops early.
    tol : float, default=0.0
        Rise of the metric that counts as one.
    warm_start : bool, default=False
        Whether `fit` starts from the parameters of the last fit. Passes that are missing from
        ``max_iter`` are made; after a finished training with ``"auto"`` all of them again.
    random_state : int, RandomState or None, default=0
        Seed of every random choice.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The draws stay the same; the parameters differ a little
        with their number, and above 16 MB, where they share them without locks, from run to run.
        A pass of up to 2^19 visits times components is made on one thread.
    verbose : int, default=0
        1 shows progress.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where training and scoring run; ``"auto"`` takes a GPU, if there is one, for large work.

    Attributes
    ----------
    classes_ : ndarray
        Label names or numbers; the classes of a 1-d ``y``.
    max_iter_, n_iter_ : int
        Passes that ``max_iter`` asks for, and passes made.
    loss_curve_, validation_curve_ : list of float
        Mean loss of a row, and held-out metric, per pass.

    Notes
    -----
    The defaults are the best we measured; `RMLS.paper` gives the published settings. The model does
    not depend on the order of the rows, and two fits are equal to the last bit (above 16 MB of
    parameters, with one thread). ``init="projection"`` starts from a random projection and zero
    label vectors, which learned faster than Glorot's start on every data set tried.

    References
    ----------
    Li Li, Houfeng Wang: Towards Label Imbalance in Multi-label Classification with Many Labels.

    Examples
    --------
    >>> from rmls import RMLS
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> model = RMLS(n_components=8, max_iter=100).fit(X, [["tax"], ["law"], ["law", "tax"], []])
    >>> model.predict([[1, 0, 0], [0, 1, 0]])
    [['tax'], ['law']]
    """

    max_iter_: int
    n_iter_: int
    loss_curve_: list[float]
    validation_curve_: list[float]
    _sgd: Sgd
    _settled: Settled

    _options = OPTIONS

    def __init__(
        self,
        n_components: int = 250,
        *,
        negatives_per_positive: float | str = "auto",
        negatives: str = "sampled",
        min_negatives: int = 10,
        sampler: str = "uniform",
        sampler_power: float = 0.5,
        sampler_mix: float = 0.5,
        replacement: bool | str = "auto",
        redraw: bool = True,
        log_q: bool = False,
        loss: str = "logistic",
        focus_relevant: float | str = "auto",
        focus_irrelevant: float | str = "auto",
        margin: float | str = "auto",
        activation: str = "tanh",
        fit_intercept: bool = True,
        l2: float | str = "auto",
        max_feature_norm: float | None = None,
        max_label_norm: Any = None,
        label_norm_power: float = 0.0,
        accumulators: str = "row",
        learning_rate: float = 0.1,
        schedule: str = "linear",
        initial_accumulator: float = 0.1,
        init: str = "projection",
        batch_size: int = 1,
        max_iter: int | str = "auto",
        gradient_floor: float = 0.02,
        normalize: str = "auto",
        decision: str | float | Rule = "f1",
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        class_weight: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        validation_metric: str = "example_f1",
        n_iter_no_change: int = 3,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        device: str = "cpu",
    ) -> None:
        store_params(self, locals())

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> RMLS:
        """Return the method with the settings of the published study.

        Online AdaGrad with an accumulator per number from 1, learning rate 0.1, two passes, five
        draws with replacement per relevant label, lambda 0.001, tanh, no biases, features as they
        are, cardinality. The gradient is correct; the authors' script takes the activation's slope
        elsewhere, and has biases, which the paper's equations (4) and (5) have not.

        Examples
        --------
        >>> RMLS.paper(50).negatives_per_positive
        5
        """
        return cls(n_components, **{**PAPER, **overrides})

    # -- fitting ---------------------------------------------------------------------------------

    def _check_options(self) -> None:
        super()._check_options()
        check_together(self)

    def _fit(self, data: TrainingSet) -> ScoredRows:
        data = set_aside(self, data)
        training = self._start(data.kept)
        validation = watch_held_out(self, data.left_out)
        passes = self._plan_passes(count_rows(data.weights))
        losses = run_passes(training, passes, self, validation)
        self.loss_curve_ += losses
        self.validation_curve_ += validation.values if validation else []
        self.n_iter_ = passes.start + len(losses)
        return ScoredRows(self, data)

    def _calibrate_later(self, X: Any, y: Any, label_names: Any = None) -> None:
        """Fit decisions and probabilities alone, to the rows that the passes were made over."""
        data = read_training_set(self, X, y, label_names=label_names)
        self._finish(ScoredRows(self, set_aside(self, data)))

    def _start(self, data: TrainingSet) -> Training:
        """Set up scaling, objective and parameters, or take up those of the last fit."""
        shape = (data.n_features, data.n_labels, int(self.n_components))
        self._settled = Settled.of(self, self._space, Totals.of(data))
        if self.warm_start and hasattr(self, "_sgd") and self._sgd.fits(self, shape):
            data = data.with_features(self._scaled(data.X))
        else:
            data = self._normalized(data)
            self.n_iter_ = 0
            self.loss_curve_, self.validation_curve_ = [], []
            self._sgd = Sgd.of(self, shape)
            if self.log_q and self.fit_intercept:
                self._settled.start_bias(self.label_bias_)
        return Training.of(self, self._sgd, self._settled, data)

    def _plan_passes(self, n_rows: int) -> range:
        """Settle the number of passes; returns those that a warm start has still to make.

        An unfinished training goes on. A finished one is continued where ``max_iter`` now names a
        larger number; ``"auto"`` names none, and begins anew.
        """
        finished = is_auto(self.max_iter) and self.n_iter_ >= getattr(self, "max_iter_", np.inf)
        self.max_iter_ = count_passes(self.max_iter, n_rows)
        goes_on = self.n_iter_ < self.max_iter_ and not finished
        return range(self.n_iter_ if goes_on else 0, self.max_iter_)

    def _fold_params(self) -> dict[str, Any]:
        return {"max_iter": self.max_iter_}

    def _was_interrupted(self) -> bool:
        return not self.early_stopping and self.n_iter_ < self.max_iter_

    @keeps_to_n_jobs
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> RMLS:
        """Make one pass over further rows.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; rows are taken as they come, equal ones are not merged.
        classes : sequence, optional
            All label names or classes, needed in the first call when ``y`` holds names or classes
            and not all of them occur.

        Notes
        -----
        The first call fixes the normalisation, the labels and the sampling rate. The learning rate
        stays constant. The cardinality threshold is set anew from the rows of each call.
        """
        first = not hasattr(self, "_sgd")
        data = read_more_rows(self, X, y, classes, sample_weight, first=first)
        if first:
            training = self._start(data)
        else:
            scaled = data.with_features(self._scaled(data.X))
            training = Training.of(self, self._sgd, self._settled, scaled)
        rates = (self.learning_rate, self.learning_rate)
        self.loss_curve_.append(training.run_pass(self.n_iter_, rates))
        training.pull()
        self.n_iter_ += 1
        self._fit_rules(Cardinality(), ScoredRows(self, data))
        return self

    # -- scores ----------------------------------------------------------------------------------

    _vectors = property(lambda self: Vectors(self._sgd.params, self.activation, self.device))

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = self._vectors.scores(self._vectors.hidden(X))
        return scores

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        # Classes whose negatives were drawn at different rates are shifted differently.
        return super()._class_probabilities(scores + np.asarray(np.log(self._rate), np.float32))

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._own_entry_probabilities(scores, slice(None))

    def _own_entry_probabilities(
        self, scores: NDArray[np.float32], labels: Any
    ) -> NDArray[np.float32]:
        # Relevant labels are always kept and irrelevant ones at a rate r, which shifts the scores.
        rate = self._rate if np.ndim(self._rate) == 0 else self._rate[labels]
        return to_probability(scores, self.loss, rate, settle_focus(self), self.device)

    # -- fitted values ---------------------------------------------------------------------------

    negative_rate_ = property(
        lambda self: self._settled.rate,
        doc="Mean rate at which irrelevant labels enter the loss: one, or one for every label.",
    )
    cardinality_ = property(
        lambda self: self._settled.totals.cardinality,
        doc="Mean number of labels of the training rows.",
    )
    # With log Q the loss has undone the sampling.
    _rate = property(lambda self: 1.0 if self.log_q else self._settled.rate)
    total_weight_ = property(lambda self: self._settled.totals.weight, doc="Weight of all rows.")
    feature_vectors_ = property(
        lambda self: self._sgd.params.W, doc="``W``, shape (n_features, n_components)."
    )
    feature_bias_ = property(lambda self: self._sgd.params.b, doc="``b``, shape (n_components,).")
    label_vectors_ = property(
        lambda self: self._sgd.params.L, doc="``L``, shape (n_labels, n_components)."
    )
    label_bias_ = property(lambda self: self._sgd.params.c, doc="``c``, shape (n_labels,).")

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return training_state(self)

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        read_state(self, fitted, archive)
