"""What every estimator shares: the doors, ranking, decisions, the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rmls.archive import Archive, check_arrays
from rmls.core.canonical import distinct_rows
from rmls.core.errors import InputError
from rmls.core.labels import read_labels
from rmls.core.options import check_choice
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads, require_memory
from rmls.core.sparse import as_feature_csr, label_counts
from rmls.decide import (
    METHODS,
    Cardinality,
    CardinalityCount,
    Rule,
    Threshold,
    TopK,
    make_rule,
)
from rmls.features import Normalizer
from rmls.metrics import get_metric
from rmls.models.shared.probabilities import Calibrating
from rmls.models.shared.score_blocks import list_candidates, rank_block, select_above

BLOCK_BYTES = 8 << 20
CARDINALITY_ROWS = 10_000
THRESHOLD_DEPTH = 200


def restore_normalizer(mode: Any, archive: Archive, n_features: int) -> Normalizer:
    """Read the normalisation of a saved model."""
    sizes = Normalizer.sizes(mode, int(n_features))
    check_arrays(archive, {name: (np.float32, (size,)) for name, size in sizes.items()})
    return Normalizer(mode, *(archive.arrays[name] for name in sizes))


def fit_threshold(rule: Threshold, ranking: Ranking, Y: sparse.csr_matrix) -> Threshold:
    """Return the rule with the threshold that suits its metric best on ranked rows."""
    metric = get_metric(rule.metric)
    if metric.needs != "sets":
        raise InputError(f"a threshold is tuned for a metric of sets; {metric.name} ranks.")
    return rule.fit(ranking, lambda sets: metric(Y, sets), metric.greater_is_better)


class MultiLabelEstimator(Calibrating, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all methods: subclasses fit parameters and score blocks of rows.

    A subclass defines

    * ``_fit(X, Y, rows, weights)``: learn from the distinct ``rows`` with their ``weights``;
    * ``_score_block(X)``: dense float32 scores of a few rows;
    * ``_state()`` and ``_restore(manifest, arrays)`` for the archive.

    ``_fit`` returns the row indices it held out, or an empty array.
    """

    decision: str | Rule = "cardinality"
    n_jobs: int | None = None

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
        rule = make_rule(self.decision)
        if self.calibration is not None:
            check_choice("calibration", self.calibration, METHODS)
        X = self._read_features(X, reset=True)
        space, Y = read_labels(y, names=label_names)
        weights = self._read_weights(X, Y, sample_weight)
        rows, weights = distinct_rows(X, Y, weights)
        if not len(rows):
            raise InputError("sample_weight is zero for every row; at least one must be positive.")
        self._space = space
        self.classes_ = space.classes
        self.label_counts_ = label_counts(Y)
        self.n_samples_ = int(X.shape[0])
        held_out = self._fit(X, Y, rows, weights)
        self._fit_rules(rule, X, Y, rows, weights, held_out)
        if self.calibration is not None and not space.is_single:
            self._calibrate(X, Y, rows, weights, held_out)
        return self

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        raise NotImplementedError

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        raise NotImplementedError

    def _fit_rules(
        self,
        rule: Rule,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        held_out: NDArray[np.int64],
    ) -> None:
        """Fit the chosen rule, and the cardinality threshold so that it is there to switch to."""
        self._rules: dict[str, Rule] = {}
        self._calibration = None
        if self._space.is_single:
            return
        # Distinct rows come in the order of their fingerprints: the first ones are a fair sample.
        sample, shares = rows[:CARDINALITY_ROWS], weights[:CARDINALITY_ROWS]
        self._rules["cardinality"] = Cardinality(self._cardinality_threshold(X, Y, sample, shares))
        if rule.is_fitted and not rule.needs_probabilities:
            self._rules[rule.name] = rule
        elif isinstance(rule, Threshold):
            tuned_on = held_out if len(held_out) else sample
            self._rules[rule.name] = self._tune_threshold(rule, X[tuned_on], Y[tuned_on])

    def _cardinality_threshold(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> float:
        counter = CardinalityCount(float(weights @ np.diff(Y.indptr)[rows]))
        for block, scores in self._score_blocks(X[rows]):
            counter.add(scores, weights[block])
        return counter.threshold()

    def _tune_threshold(
        self, rule: Threshold, X: sparse.csr_matrix, Y: sparse.csr_matrix
    ) -> Threshold:
        return fit_threshold(rule, self._rank(X, min(THRESHOLD_DEPTH, self._space.n_labels)), Y)

    # -- the doors -------------------------------------------------------------------------------

    def _read_features(self, X: Any, *, reset: bool = False) -> sparse.csr_matrix:
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float32, ensure_min_features=1
        )
        return as_feature_csr(checked)

    def _read_weights(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, sample_weight: Any
    ) -> NDArray[np.float64]:
        if X.shape[0] != Y.shape[0]:
            raise InputError(
                f"Y has {Y.shape[0]} rows but X has {X.shape[0]}; both need one row per sample."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise InputError(f"sample_weight must not be negative; found {weights.min()}.")
        result: NDArray[np.float64] = weights
        return result

    # -- scores ----------------------------------------------------------------------------------

    def _score_blocks(self, X: sparse.csr_matrix) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Score ``X`` in blocks of rows that fit in the cache of the machine, not of n × m."""
        size = max(1, BLOCK_BYTES // (4 * self._space.n_labels))
        for start in range(0, X.shape[0], size):
            block = slice(start, min(start + size, X.shape[0]))
            yield block, self._score_block(X[block])

    def _rank(self, X: sparse.csr_matrix, k: int) -> Ranking:
        n_labels = self._space.n_labels
        k = min(k, n_labels)
        labels = np.empty((X.shape[0], k), dtype=np.int32)
        scores = np.empty((X.shape[0], k), dtype=np.float32)
        threads = count_threads(self.n_jobs)
        for block, dense in self._score_blocks(X):
            rank_block(dense, labels[block], scores[block], threads)
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
        return self._rank(self._read_features(X), TopK(k).k)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return all scores, dense.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For a 1-d ``y`` of two classes, of shape (n_samples,): positive for the second class.
        """
        check_is_fitted(self)
        X = self._read_features(X)
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
        return self._decide(self._read_features(X), rule)

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
                list_candidates(self._to_probabilities(scores), rule, count_threads(self.n_jobs))
                for _, scores in self._score_blocks(X)
            ]
        )
        return rule.keep(listed)

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
