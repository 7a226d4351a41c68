"""RMLS: representation-based multi-label learning with sampling (Li and Wang, 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmls.core.labels import read_labels
from rmls.core.options import read_seed
from rmls.core.sparse import label_counts
from rmls.decide import Cardinality, Rule, Threshold, make_rule
from rmls.features import fit_normalizer
from rmls.models.rmls.early_stopping import watch_held_out
from rmls.models.rmls.fitted import LatentModel
from rmls.models.rmls.initial import start_params
from rmls.models.rmls.objective import (
    PAPER,
    check_options,
    settle_focus,
    softmax,
    to_probability,
)
from rmls.models.rmls.sampling import Totals
from rmls.models.rmls.schedule import count_rows, learning_rates
from rmls.models.rmls.sgd import (
    Rows,
    Sgd,
    hold_out,
    run_passes,
)


class RMLS(LatentModel):
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
    replacement : "auto" or bool, default="auto"
        Whether a row may draw a label twice; ``"auto"`` only where shares differ. Without, the
        samplers by frequency drop what comes again.
    log_q : bool, default=False
        Whether the loss is corrected for the rates of sampling, so that ``sigmoid(score)`` is the
        probability (logistic loss only).
    loss : {"logistic", "squared", "squared_hinge", "focal", "asymmetric"}, default="logistic"
    focus_relevant, focus_irrelevant, margin : float or "auto", default="auto"
        Of ``"focal"`` (2, 2, 0; one focus) and ``"asymmetric"`` (0, 4, 0.05): powers that play
        down labels already right, and the probability below which irrelevant ones cost nothing.
    activation : {"tanh", "linear", "relu"}, default="tanh"
    l2 : float or "auto", default="auto"
        Weight of the squared norms (lambda in the paper). ``"auto"`` is 0.001, more on data of
        fewer than 5,000 rows: ``5 / n_samples``, at most 0.01.
    max_feature_norm, max_label_norm : float or None, default=None
        Bounds on ``||W||_F^2`` and every ``||l_j||^2`` (C1 and C2, which may be an array): the
        paper's other regularisation.
    label_norm_power : float, default=0.0
        Bounds label j by ``C2 (count / largest count) ** label_norm_power``.
    accumulators : {"row", "element"}, default="row"
        AdaGrad with one accumulator per row of ``W`` and per label, or per number.
    learning_rate : float, default=0.1
    schedule : {"linear", "constant"}, default="linear"
        Whether the learning rate falls to 0 over ``max_iter`` passes.
    initial_accumulator : float, default=0.1
        Value AdaGrad's accumulators start from.
    init : {"projection", "glorot"}, default="projection"
        Start of the parameters; see Notes.
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
    decision : str or Rule, default="f1"
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
        Weight of the relevant entries of every label; both names favour rare labels.
    early_stopping : bool, default=False
        Stop when ``validation_metric`` on held-out rows has not risen for ``n_iter_no_change``
        passes, and keep the best parameters.
    validation_fraction : float, default=0.1
        Share of the distinct rows held out, for early stopping and for a tuned threshold.
    validation_metric : str, default="example_f1"
    n_iter_no_change : int, default=3
    tol : float, default=0.0
        Rise of the metric that counts as one.
    warm_start : bool, default=False
        Whether `fit` starts from the parameters of the last fit. Passes that are missing from
        ``max_iter`` are made; after a finished training with ``"auto"`` all of them again.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The draws stay the same; the parameters differ a little
        with the number of threads, and for models above 16 MB, which threads update without
        locks, from run to run.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray
        Label names or numbers; the classes of a 1-d ``y``.
    max_iter_ : int
        Passes that ``max_iter`` asks for.
    n_iter_ : int
        Passes made.
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
        log_q: bool = False,
        loss: str = "logistic",
        focus_relevant: float | str = "auto",
        focus_irrelevant: float | str = "auto",
        margin: float | str = "auto",
        activation: str = "tanh",
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
        decision: str | Rule = "f1",
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
    ) -> None:
        self.n_components = n_components
        self.negatives_per_positive = negatives_per_positive
        self.negatives = negatives
        self.min_negatives = min_negatives
        self.sampler = sampler
        self.sampler_power = sampler_power
        self.sampler_mix = sampler_mix
        self.replacement = replacement
        self.log_q = log_q
        self.loss = loss
        self.focus_relevant = focus_relevant
        self.focus_irrelevant = focus_irrelevant
        self.margin = margin
        self.activation = activation
        self.l2 = l2
        self.max_feature_norm = max_feature_norm
        self.max_label_norm = max_label_norm
        self.label_norm_power = label_norm_power
        self.accumulators = accumulators
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.initial_accumulator = initial_accumulator
        self.init = init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.gradient_floor = gradient_floor
        self.normalize = normalize
        self.decision = decision
        self.calibration = calibration
        self.calibration_folds = calibration_folds
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.validation_metric = validation_metric
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> RMLS:
        """Return the method with the settings of the published study.

        Online AdaGrad with an accumulator per number from 1, learning rate 0.1, two passes, five
        irrelevant labels per relevant one, lambda 0.001, tanh, features as they are, cardinality.
        The gradient is correct; the authors' script takes the activation's slope elsewhere.

        Examples
        --------
        >>> RMLS.paper(50).negatives_per_positive
        5
        """
        return cls(n_components, **{**PAPER, **overrides})

    # -- fitting ---------------------------------------------------------------------------------

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        check_options(self)
        seed = read_seed(self.random_state)
        rule = make_rule(self.decision)
        tunes = isinstance(rule, Threshold) and not rule.is_fitted
        share = self.validation_fraction
        if not (self.early_stopping or tunes):
            share = self._share_to_calibrate(len(rows))
        held_out, kept = hold_out(len(rows), share, seed)
        training = self._start(X, Y, rows[kept], weights[kept], seed)
        validation = watch_held_out(self, X[rows[held_out]], Y[rows[held_out]])
        passes = self._plan_passes(count_rows(weights))
        losses = run_passes(
            self._sgd,
            training,
            passes,
            lambda number: learning_rates(self.learning_rate, self.schedule, number, passes.stop),
            validation,
            self.verbose,
        )
        self.loss_curve_ += losses
        self.validation_curve_ += validation.values if validation else []
        self.n_iter_ = passes.start + len(losses)
        return rows[held_out]

    def _start(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        seed: int,
    ) -> Rows:
        """Set up normalisation, objective and parameters; returns the training rows."""
        shape = (int(X.shape[1]), int(Y.shape[1]), self.n_components)
        totals = Totals.of(Y[rows], weights)
        width = self.n_components if self.accumulators == "element" else 1
        if self.warm_start and hasattr(self, "_sgd") and self._sgd.fits(shape, width):
            self._set_objective(totals)
        else:
            self._normalizer = fit_normalizer(X, self.normalize, rows, weights)
            self.n_iter_ = 0
            self.loss_curve_, self.validation_curve_ = [], []
            self._sgd = self._make_sgd(shape, seed)
            self._set_objective(totals)
            if self.log_q:
                # The corrected loss then starts from the scores 0 that the plain one starts from.
                self.label_bias_[:] = np.log(np.maximum(self.negative_rate_, 1e-9))
        return Rows.of(self._normalizer.apply(X), Y, rows, weights)

    def _make_sgd(self, shape: tuple[int, int, int], seed: int) -> Sgd:
        elementwise = self.accumulators == "element"
        params, accumulators = start_params(
            shape, self.init, seed, self.initial_accumulator, elementwise
        )
        return Sgd(params, accumulators, seed)

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
        X = self._read_features(X, reset=first)
        if first:
            check_options(self)
            self._space, Y = read_labels(y, classes=classes)
            self.classes_ = self._space.classes
            self.label_counts_ = label_counts(Y)
        else:
            Y = self._space.read_more(y)
        weights = self._read_weights(X, Y, sample_weight)
        if not first:
            self.label_counts_ = self.label_counts_ + label_counts(Y)
        self.n_samples_ = int(X.shape[0]) + (0 if first else self.n_samples_)
        rows = np.flatnonzero(weights > 0)
        if first:
            training = self._start(X, Y, rows, weights[rows], read_seed(self.random_state))
        else:
            training = Rows.of(self._normalizer.apply(X), Y, rows, weights[rows])
        rates = (self.learning_rate, self.learning_rate)
        self.loss_curve_.append(self._sgd.run_pass(training, self.n_iter_, rates))
        self.n_iter_ += 1
        self._fit_rules(Cardinality(), X, Y, rows, weights[rows], rows[:0])
        return self

    # -- scores ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``.

        Notes
        -----
        Training keeps all relevant labels and irrelevant ones at a rate r, so that scores are
        shifted; with ``log_q`` training makes up for it. Without ``calibration`` the probabilities
        take the shift back with the mean rate of the training rows, label by label where rates
        differ, and trust the model in all else.
        """
        check_is_fitted(self)
        X = self._read_features(X)
        if self._space.is_single:
            shift = np.asarray(np.log(self._rate), np.float32)
            return self._dense(X, lambda scores: softmax(scores + shift))
        return self._dense(X, self._to_probabilities)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return to_probability(scores, self.loss, self._rate, settle_focus(self))

    @property
    def _rate(self) -> Any:
        return 1.0 if self.log_q else self.negative_rate_
