"""What every estimator shares: reading input, ranking, decisions, probabilities, the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace
from rmls.core.options import Option, anything, choice, integer, seed, share, whole
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads, require_memory
from rmls.decide import (
    METHODS,
    Calibration,
    Cardinality,
    Rule,
    Threshold,
    TopK,
    fit_calibration,
    fit_macro_f1,
    fit_micro_f1,
    make_rule,
)
from rmls.features import MODES, Normalizer, fit_normalizer
from rmls.kernels.backend import Backend, get_backend
from rmls.metrics import get_metric
from rmls.models.shared.evidence import Evidence
from rmls.models.shared.score_blocks import list_candidates, select_above
from rmls.models.shared.training_set import TrainingSet, read_features, read_training_set

BLOCK_BYTES = 8 << 20


class MultiLabelEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        "decision": anything("the name of a decision rule or a Rule"),
        "calibration": choice(*METHODS).or_none(),
        "calibration_folds": whole(0).or_auto(),
        "validation_fraction": share(),
        "random_state": seed(),
        "n_jobs": anything("a whole number other than 0").or_none(),
        "verbose": integer(),
        "device": anything("the name of a device"),
    }

    # Options that some methods have; these are their values in the others.
    decision: str | Rule = "cardinality"
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

    @property
    def _backend(self) -> Backend:
        return get_backend(self.device)

    # -- fitting ---------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, label_names: Any = None
    ) -> MultiLabelEstimator:
        """Learn from rows ``X`` and their labels ``y``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : 0/1 matrix, lists of label names, or 1-d classes
            `predict` answers in the same container.
        sample_weight : array-like of shape (n_samples,), optional
            An integer weight is the same as repeating the row.
        label_names : sequence of str, optional
            Names for the columns of a 0/1 matrix.

        Returns
        -------
        self
        """
        return self._fit_set(read_training_set(self, X, y, sample_weight, label_names))

    def _fit_set(self, data: TrainingSet) -> MultiLabelEstimator:
        """Fit the method, then its decisions and probabilities."""
        evidence = self._fit(data)
        self._fit_rules(make_rule(self.decision), evidence)
        if self.calibration is not None and not self._space.is_single:
            self._calibrate(evidence)
        return self

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
        self._rules = {}
        self._calibration = None
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
        self._calibration = fit_calibration(counts, str(self.calibration))
        # From the counts alone: both thresholds cost no further scoring.
        for rule in (
            fit_micro_f1(counts, self._calibration),
            fit_macro_f1(counts, self._calibration),
        ):
            self._rules[rule.name] = rule

    def _fold_params(self) -> dict[str, Any]:
        """Return the parameters that make a model of fewer rows train as long as this one."""
        return {}

    def _was_interrupted(self) -> bool:
        """Tell whether the user ended the training early."""
        return False

    # -- scores ----------------------------------------------------------------------------------

    def _score_blocks(self, X: sparse.csr_matrix) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Score ``X`` in blocks of rows that fit in the cache of the machine, not of n × m."""
        size = max(1, BLOCK_BYTES // (4 * self._space.n_labels))
        for start in range(0, X.shape[0], size):
            block = slice(start, min(start + size, X.shape[0]))
            yield block, self._score_block(self._scaled(X[block]))

    def _rank(self, X: sparse.csr_matrix, k: int) -> Ranking:
        n_labels, threads = self._space.n_labels, count_threads(self.n_jobs)
        k = min(k, n_labels)
        labels = np.empty((X.shape[0], k), np.int32)
        scores = np.empty((X.shape[0], k), np.float32)
        # A block is reduced to its best k before the next is scored: memory is n x k.
        for block, dense in self._score_blocks(X):
            labels[block], scores[block] = self._backend.best_of_rows(dense, k, threads)
        return Ranking.from_table(labels, scores, n_labels)

    def rank(self, X: Any, k: int = 5) -> Ranking:
        """Return the best ``k`` labels of every row with their scores, for any number of labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        k : int, default=5
            All labels are returned where there are fewer than ``k``.

        Returns
        -------
        Ranking
        """
        check_is_fitted(self)
        return self._rank(read_features(self, X), TopK(k).k)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return all scores, dense.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For a 1-d ``y`` of two classes, of shape (n_samples,): positive for the second class.
        """
        check_is_fitted(self)
        X = read_features(self, X)
        scores = self._dense(X, lambda block: block)
        if self._space.is_single and self._space.n_labels == 2:
            difference: NDArray[np.float32] = scores[:, 1] - scores[:, 0]
            return difference
        return scores

    def _dense(
        self,
        X: sparse.csr_matrix,
        transform: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """Return transformed scores of all rows, if they fit in memory."""
        shape = (X.shape[0], self._space.n_labels)
        require_memory(
            4 * shape[0] * shape[1],
            f"a dense array of {shape[0]} rows × {shape[1]} labels",
            "use rank(X, k) for the best labels of every row, or pass fewer rows",
        )
        result = np.empty(shape, dtype=np.float32)
        for block, scores in self._score_blocks(X):
            result[block] = transform(scores)
        return result

    # -- decisions -------------------------------------------------------------------------------

    def predict(self, X: Any, decision: str | Rule | None = None) -> Any:
        """Return label sets by the decision rule, in the container of ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        decision : str or Rule, optional
            Another rule than the one of the constructor; nothing is fitted again.
        """
        check_is_fitted(self)
        return self._space.restore(self.predict_sets(X, decision))

    def predict_sets(self, X: Any, decision: str | Rule | None = None) -> sparse.csr_matrix:
        """Return label sets as a 0/1 CSR matrix, whatever container ``fit`` was given."""
        return self.rank_sets(X, decision).to_sets()

    def rank_sets(self, X: Any, decision: str | Rule | None = None) -> Ranking:
        """Return the predicted labels with their scores, best first."""
        check_is_fitted(self)
        rule = self._fitted_rule(self.decision if decision is None else decision)
        return self._decide(read_features(self, X), rule)

    def _decide(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        if rule.needs_probabilities:
            return self._decide_by_probabilities(X, rule)
        if rule.above is None:
            return rule.keep(self._rank(X, rule.top or self._space.n_labels))
        threshold = np.float32(rule.above)
        blocks = self._score_blocks(X)
        return Ranking.stack([rule.keep(select_above(scores, threshold)) for _, scores in blocks])

    def _decide_by_probabilities(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        listed = Ranking.stack(
            [
                list_candidates(
                    self._to_probabilities(scores), rule, self._backend, count_threads(self.n_jobs)
                )
                for _, scores in self._score_blocks(X)
            ]
        )
        return rule.keep(listed)

    def _to_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return calibrated probabilities, or those of the method where it is not calibrated."""
        if not self.label_counts_.any():
            return np.zeros_like(scores)
        if self._calibration is not None:
            return self._calibration.probabilities(scores)
        return self._own_probabilities(scores)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the method itself takes for the probabilities of a block of scores."""
        name = type(self).__name__
        raise InputError(
            f"{name} gives scores and no probabilities; calibrate it: Calibrated({name}())."
        )

    def _fitted_rule(self, spec: str | Rule) -> Rule:
        if self._space.is_single:
            return TopK(1)
        rule = make_rule(spec).bind(self.label_counts_, self.n_samples_)
        if rule.is_fitted:
            return rule
        fitted = self._rules.get(rule.name)
        if fitted is None or not fitted.fulfils(rule):
            raise InputError(
                f"the decision rule {rule.name!r} was not fitted; "
                f"{self._way_to_fit(rule, spec)}, or give the rule its value."
            )
        return fitted

    def _way_to_fit(self, rule: Rule, spec: str | Rule) -> str:
        if not rule.needs_probabilities:
            return f"fit the model with decision={spec!r}"
        if "calibration" in self.get_params(deep=False):
            return "fit the model with calibration='auto'"
        return f"calibrate the estimator: Calibrated({type(self).__name__}())"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean example-F1 of the predicted sets; the accuracy for a 1-d ``y``."""
        check_is_fitted(self)
        truth = self._space.read_more(y)
        name = "subset_accuracy" if self._space.is_single else "example_f1"
        return get_metric(name)(truth, self.predict_sets(X), sample_weight=sample_weight)

    # -- archive ---------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted model to the folder ``path``, all of it or nothing.

        Read it back with `rmls.load`.
        """
        from rmls.models.shared.model_archive import save_model

        check_is_fitted(self)
        save_model(self, path)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the fitted state as plain values and arrays."""
        raise NotImplementedError

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        """Set the fitted state from what `_state` returned."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rules")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
