"""What a fitted estimator answers: rankings, scores, label sets, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.label_matching import Matched, with_unknown
from rmls.core.labels import LabelSpace
from rmls.core.lean.learn import check_is_fitted
from rmls.core.lean.plain_rows import as_csr
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads, keeps_to_n_jobs, require_memory
from rmls.core.sparse import is_mapped, row_blocks, slice_rows
from rmls.decide import Calibration, Rule, TopK, make_rule
from rmls.models.shared.score_blocks import list_rows, require_finite, select_above
from rmls.models.shared.training_set import read_features

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator

BLOCK_BYTES = 8 << 20
# Of rows on disk, what is looked at together.
PART_ENTRIES, PART_ROWS = 1 << 22, 1 << 15


class Answers:
    """Half of the template: an estimator says how rows are scored, this what is made of it."""

    decision: str | float | Rule
    n_jobs: int | None
    label_counts_: NDArray[np.int64]
    n_samples_: int
    _space: LabelSpace
    _rules: dict[str, Rule]
    _calibration: Calibration | None
    _backend: Any

    @property
    def _whole(self) -> MultiLabelEstimator:
        return cast("MultiLabelEstimator", self)

    def _read(self, X: Any) -> sparse.csr_matrix:
        return read_features(self._whole, X)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        raise NotImplementedError

    def _scaled(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        raise NotImplementedError

    # -- scores ----------------------------------------------------------------------------------

    def _score_blocks(self, X: sparse.csr_matrix) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Score ``X`` in blocks of rows that fit in the cache of the machine, not of n × m."""
        size = max(1, BLOCK_BYTES // (4 * self._space.n_labels))
        for start in range(0, X.shape[0], size):
            block = slice(start, min(start + size, X.shape[0]))
            yield block, require_finite(self._score_block(self._scaled(X[block])))

    def _rank(self, X: sparse.csr_matrix, k: int) -> Ranking:
        n_labels, threads = self._space.n_labels, count_threads(self.n_jobs)
        k = min(k, n_labels)
        labels = np.empty((X.shape[0], k), np.int32)
        scores = np.empty((X.shape[0], k), np.float32)
        # A block is reduced to its best k before the next is scored: memory is n x k.
        for block, dense in self._score_blocks(X):
            labels[block], scores[block] = self._backend.best_of_rows(dense, k, threads)
        return Ranking.from_table(labels, scores, n_labels)

    @keeps_to_n_jobs
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
            By score, with the names of the labels and, where the model gives probabilities, those
            of `predict_proba`, which need not fall with the scores.
        """
        check_is_fitted(self)
        return self._rank_read(self._read(X), k)

    def _rank_read(self, X: sparse.csr_matrix, k: int) -> Ranking:
        depth = TopK(k).k
        return _by_parts(X, lambda part: self._described(part, self._rank(part, depth)))

    @keeps_to_n_jobs
    def _rank_made(self, X: Any, k: int) -> Ranking:
        """Return what `rank` returns, of rows that our own features made, plain ones too.

        They are canonical CSR of finite float32 by construction; a look at one row to make sure of
        that takes as long as scoring it.
        """
        return self._rank_read(X if self._takes_plain_rows() else as_csr(X), k)

    def _takes_plain_rows(self) -> bool:
        """Tell whether rows are scored by their arrays alone."""
        return False

    def _described(self, X: sparse.csr_matrix, ranking: Ranking) -> Ranking:
        return ranking.described(names=self._space.names)

    def _has_probabilities(self) -> bool:
        """Tell whether the scores can be turned into probabilities."""
        return False

    @keeps_to_n_jobs
    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return all scores, dense.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For a 1-d ``y`` of two classes, of shape (n_samples,): positive for the second class.
        """
        check_is_fitted(self)
        X = self._read(X)
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

    @keeps_to_n_jobs
    def predict(self, X: Any, decision: str | float | Rule | None = None) -> Any:
        """Return label sets by the decision rule, in the container of ``fit``.

        Lists of names are in the order of `rank`, best first. A frame of pandas has the index of
        the frame ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        decision : str, float or Rule, optional
            Another rule than the one of the constructor; nothing is fitted again.
        """
        check_is_fitted(self)
        chosen = self._choose(self._read(X), decision)
        if self._space.container == "names":
            return chosen.described(names=self._space.names).to_lists()
        return self._space.restore(chosen.to_sets(), X)

    @keeps_to_n_jobs
    def predict_sets(self, X: Any, decision: str | float | Rule | None = None) -> sparse.csr_matrix:
        """Return label sets as a 0/1 CSR matrix, whatever container ``fit`` was given."""
        check_is_fitted(self)
        return self._choose(self._read(X), decision).to_sets()

    @keeps_to_n_jobs
    def rank_sets(self, X: Any, decision: str | float | Rule | None = None) -> Ranking:
        """Return the predicted labels as `rank` does: by score, with names and probabilities."""
        check_is_fitted(self)
        return _by_parts(
            self._read(X), lambda part: self._described(part, self._choose(part, decision))
        )

    def _choose(self, X: sparse.csr_matrix, decision: str | float | Rule | None) -> Ranking:
        rule = self._fitted_rule(self.decision if decision is None else decision)
        return _by_parts(X, lambda part: self._decide(part, rule))

    def _decide(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        if rule.needs_probabilities:
            return rule.keep(list_rows(self._whole, X, rule))
        if rule.above is None:
            return rule.keep(self._rank(X, rule.top or self._space.n_labels))
        threshold = np.float32(rule.above)
        blocks = self._score_blocks(X)
        return Ranking.stack([rule.keep(select_above(scores, threshold)) for _, scores in blocks])

    def _to_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return calibrated probabilities, or those of the method where it is not calibrated."""
        if not self.label_counts_.any():
            return np.zeros_like(scores)
        if self._calibration is not None:
            return self._calibration.probabilities(scores)
        return self._own_probabilities(scores)

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the method itself takes for the probabilities of a block of scores."""
        raise self._no_probabilities()

    def _no_probabilities(self) -> InputError:
        """Return what is said where probabilities are asked for and there are none."""
        name = type(self).__name__
        return InputError(
            f"{name} gives scores and no probabilities; calibrate it: Calibrated({name}())."
        )

    def _fitted_rule(self, spec: str | float | Rule) -> Rule:
        return find_rule(self._whole, spec)

    def _will_have_probabilities(self) -> bool:
        """Tell of a model that is not fitted yet whether it will have probabilities."""
        return self._whole.calibration is not None

    def _check_rule(self, spec: str | float | Rule | None) -> None:
        """Raise a sentence for a rule that the model could not serve once it is fitted.

        None stands for the decision of the model itself.
        """
        check_rule(self._whole, self.decision if spec is None else spec)

    @keeps_to_n_jobs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean example-F1 of the predicted sets; the accuracy for a 1-d ``y``.

        Labels that `fit` has not seen are missed, with a warning.
        """
        from rmls.metrics import get_metric

        matched = self.match_labels(y)
        name = "subset_accuracy" if self._space.is_single else "example_f1"
        sets = matched.widen_sets(self.predict_sets(X))
        return get_metric(name)(matched.Y, sets, sample_weight=sample_weight)

    def match_labels(self, y: Any) -> Matched:
        """Return true labels in the columns of the model, those that it has not seen behind them.

        Labels are matched by name where both sides have names, by column otherwise.
        """
        check_is_fitted(self)
        Y, unknown = self._space.read_truth(y)
        return with_unknown(Y, unknown, self.label_counts_)


def _by_parts(X: sparse.csr_matrix, work: Callable[[sparse.csr_matrix], Ranking]) -> Ranking:
    """Return the rankings of all rows; rows that lie on disk come into memory some at a time."""
    if not is_mapped(X) or X.nnz <= PART_ENTRIES:
        return work(X)
    blocks = row_blocks(X, PART_ENTRIES, PART_ROWS)
    parts = [work(slice_rows(X, block.start, block.stop)) for block in blocks]
    return parts[0] if len(parts) == 1 else Ranking.stack(parts)


def find_rule(model: MultiLabelEstimator, spec: str | float | Rule) -> Rule:
    """Return a rule with what was fitted to it, or say how to fit it."""
    if model._space.is_single:
        return TopK(1)
    rule = make_rule(spec).bind(model.label_counts_, model.n_samples_)
    if rule.is_fitted:
        return rule
    # A rule that was fitted for another metric, say, is not the one that is wanted.
    fitted = model._rules.get(rule.name)
    if fitted is None or not fitted.fulfils(rule):
        raise _not_fitted(model, rule, spec)
    return fitted


def check_rule(model: MultiLabelEstimator, spec: str | float | Rule) -> None:
    """Raise the sentence that `find_rule`, or the rule, would raise once the model is fitted."""
    rule = make_rule(spec)
    if rule.needs_probabilities:
        fitted = model.calibration is not None
    else:
        fitted = rule.name == "cardinality" or make_rule(model.decision).fulfils(rule)
    # Which counts a rule is bound to makes no difference to whether it is fitted.
    if not fitted and not rule.bind(np.ones(1), 1).is_fitted:
        raise _not_fitted(model, rule, spec)
    if rule.needs_probabilities and not model._will_have_probabilities():
        raise model._no_probabilities()


def _not_fitted(model: MultiLabelEstimator, rule: Rule, spec: str | float | Rule) -> InputError:
    return InputError(
        f"the decision rule {rule.name!r} was not fitted; "
        f"{_way_to_fit(model, rule, spec)}, or give the rule its value."
    )


def _way_to_fit(model: MultiLabelEstimator, rule: Rule, spec: str | float | Rule) -> str:
    if not rule.needs_probabilities:
        return f"fit the model with decision={spec!r}"
    if "calibration" in model.get_params(deep=False):
        return "fit the model with calibration='auto'"
    return f"calibrate the estimator: Calibrated({type(model).__name__}())"
