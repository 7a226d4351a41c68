"""What every estimator shares: options, fitting, decisions and probabilities, the archive."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive
from rmls.core.labels import LabelSpace
from rmls.core.lean.learn import BaseEstimator, ClassifierMixin, check_is_fitted
from rmls.core.options import Option, anything, choice, integer, seed, share, whole
from rmls.core.resources import count_threads, keeps_to_n_jobs
from rmls.decide import (
    METHODS,
    Calibration,
    Cardinality,
    Rule,
    Threshold,
    fit_calibration,
    fit_macro_f1,
    fit_micro_f1,
    make_rule,
)
from rmls.features import MODES, Normalizer, fit_normalizer
from rmls.kernels.backend import get_backend
from rmls.models.shared.answers import Answers
from rmls.models.shared.evidence import Evidence
from rmls.models.shared.progress import hearing_ctrl_c, showing, stage, warn_interrupted
from rmls.models.shared.training_set import (
    TrainingSet,
    read_training_set,
    share_names,
)


class Archived:
    """A fitted model that can be kept in a folder, and given to others."""

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the fitted model to the folder ``path``, all of it or nothing.

        Read it back with `rmls.load`; nothing in it is ever executed. Without ``overwrite`` a model
        that stands there is refused, also one that appears while this one is written.
        """
        from rmls.models.shared.model_archive import save_model

        check_is_fitted(self)
        save_model(self, path, overwrite=overwrite)

    def push_to_hub(self, repo: str, **options: Any) -> str:
        """Send the model and a card that describes it to the Hugging Face Hub.

        ``repo`` is ``"user/name"``; a new one is private unless ``private=False``. The options are
        those of `rmls.exchange.push`: ``license``, ``data``, ``card``, ``token``. Returns the
        address of the commit. Read it back with ``rmls.load("hf://user/name")``.
        """
        # By name: what models are sent with stands above them.
        address: str = import_module("rmls.exchange").push(self, repo, **options)
        return address


class MultiLabelEstimator(Archived, Answers, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all methods: subclasses fit parameters and score blocks of rows.

    A subclass declares its constructor's parameters in ``_options`` and defines

    * ``_fit(data)``: learn from a `TrainingSet` and return the `Evidence` that decisions are
      fitted to; ``self._normalized(data)`` chooses the scaling of the features on the way;
    * ``_score_block(X)``: dense float32 scores of a few rows, scaled as in training;
    * ``_state()`` and ``_restore(fitted, archive)``: what the archive keeps besides the scaling.

    It may define

    * ``_check_options()``: what options mean together;
    * ``_own_probabilities(scores)``, with the mixin `GivesProbabilities`, where scores have a
      probabilistic meaning without calibration;
    * ``_fold_params()`` and ``_was_interrupted()``: parameters for models fitted to parts of the
      rows, and whether the user ended the training early;
    * ``_rank(X, k)`` and ``_decide(X, rule)``, where there is a cheaper way than all scores.
    """

    _options: ClassVar[dict[str, Option]] = {
        "normalize": choice("auto", *MODES),
        "decision": anything("the name of a decision rule, a threshold or a Rule"),
        "calibration": choice(*METHODS).or_none(),
        "calibration_folds": whole(0).or_auto(),
        "validation_fraction": share(),
        "random_state": seed(),
        "n_jobs": anything("a whole number other than 0").or_none(),
        "verbose": integer(),
        "device": anything("the name of a device").or_auto(),
    }

    # Options that some methods have; these are their values in the others.
    decision: str | float | Rule = "cardinality"
    calibration: str | None = None
    calibration_folds: int | str = "auto"
    validation_fraction: float = 0.1
    random_state: Any = 0
    n_jobs: int | None = None
    device: str = "cpu"
    normalize: str
    verbose: int

    classes_: NDArray[Any]
    label_counts_: NDArray[np.int64]
    n_samples_: int
    _space: LabelSpace
    _normalizer: Normalizer | None = None
    _rules: dict[str, Rule]
    _calibration: Calibration | None

    # -- options ---------------------------------------------------------------------------------

    @classmethod
    def declared_options(cls) -> dict[str, Option]:
        """Return what every parameter of the constructor may be."""
        known: dict[str, Option] = {}
        for base in reversed(cls.__mro__):
            known |= base.__dict__.get("_options", {})
        return {name: known[name] for name in cls._get_param_names() if name in known}

    def _check_options(self) -> None:
        """Raise one sentence for the first option that has no meaning."""
        for name, option in self.declared_options().items():
            option.check(name, getattr(self, name))
        make_rule(self.decision)
        count_threads(self.n_jobs)
        get_backend(self.device)

    _backend = property(lambda self: get_backend(self.device))

    def _count_threads(self) -> int:
        """Return the threads that a call may use; an estimator inside brings its own."""
        inside = getattr(self, "estimator", None)
        return max(count_threads(self.n_jobs), count_threads(getattr(inside, "n_jobs", None)))

    # -- fitting ---------------------------------------------------------------------------------

    @keeps_to_n_jobs
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, label_names: Any = None
    ) -> MultiLabelEstimator:
        """Learn from rows ``X`` and their labels ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features), or a Dataset
            The names of its columns are kept (``feature_names_in_``): later rows are brought into
            their order.
        y : 0/1 matrix, lists of label names, or 1-d classes
            `predict` answers in the same container. Not needed with a `Dataset`.
        sample_weight : array-like of shape (n_samples,), optional
            An integer weight is the same as repeating the row.
        label_names : sequence of str, optional
            Names for the columns of a 0/1 matrix.

        Returns
        -------
        self
        """
        return self._fit_set(self._read_set(X, y, sample_weight, label_names))

    def _read_set(self, X: Any, y: Any, sample_weight: Any, label_names: Any) -> TrainingSet:
        """Check what `fit` was given and return it as rows to train on."""
        return read_training_set(self, X, y, sample_weight, label_names)

    def _fit_set(self, data: TrainingSet) -> MultiLabelEstimator:
        """Fit the method, then its decisions and probabilities."""
        with hearing_ctrl_c(), showing(getattr(self, "verbose", 0)):
            evidence = self._fit(data)
            share_names(self)
            self._finish(evidence)
        return self

    def _finish(self, evidence: Evidence) -> None:
        """Fit decisions and probabilities; Ctrl-C leaves the model without probabilities."""
        rule = make_rule(self.decision)
        try:
            self._fit_rules(rule, evidence)
            if self.calibration is not None and not self._space.is_single:
                with stage("calibration"):
                    self._calibrate(evidence)
        except KeyboardInterrupt:
            # What was learned is worth the second that the rules take; the next Ctrl-C ends it.
            self._fit_rules(rule, evidence)
            warn_interrupted(
                "before probabilities were calibrated; the model is kept, uncalibrated"
            )

    def _fit(self, data: TrainingSet) -> Evidence:
        raise NotImplementedError

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        raise NotImplementedError

    def _normalized(self, data: TrainingSet) -> TrainingSet:
        """Choose the scaling of the features and return the set with scaled ones."""
        normalize = getattr(self, "normalize", "none")
        self._normalizer = fit_normalizer(data.X, normalize, data.rows, data.weights)
        return data.with_features(self._normalizer.apply(data.X))

    def _scaled(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        return X if self._normalizer is None else self._normalizer.apply(X)

    def _fit_rules(self, rule: Rule, evidence: Evidence) -> None:
        """Fit the chosen rule, and the cardinality threshold so that it is there to switch to."""
        # Those of the last fit must not have a say.
        self._rules, self._calibration = {}, None
        if self._space.is_single:
            return
        self._rules["cardinality"] = Cardinality(evidence.cardinality_threshold())
        if rule.is_fitted and not rule.needs_probabilities:
            self._rules[rule.name] = rule
        elif isinstance(rule, Threshold):
            self._rules[rule.name] = evidence.tune(rule)

    def _calibrate(self, evidence: Evidence) -> None:
        """Fit the map to probabilities, and the thresholds on them, to rows not trained on."""
        # Rows that a model was trained on would make it look surer than it is.
        counts = evidence.count_scores()
        if counts is None or not counts.positive.any():
            return
        self._calibration = fit_calibration(counts, str(self.calibration), evidence.label_rows())
        # From the counts alone: both thresholds cost no further scoring.
        for rule in (
            fit_micro_f1(counts, self._calibration),
            fit_macro_f1(counts, self._calibration, label_counts=self.label_counts_),
        ):
            self._rules[rule.name] = rule

    def _fold_params(self) -> dict[str, Any]:
        """Return the parameters that make a model of fewer rows train as long as this one."""
        return {}

    def _was_interrupted(self) -> bool:
        """Tell whether the user ended the training early."""
        return False

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        raise NotImplementedError

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rules")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
