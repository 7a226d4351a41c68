"""GFM: the general F-measure maximiser over any probabilistic estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.options import Option, anything, choice, store_params, whole
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads
from rmls.decide import ExpectedF1, Rule, choose_f_sets
from rmls.models.rmls.rmls import RMLS
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.training_set import TrainingSet
from rmls.models.wrappers.gfm_joint import LabelSizes, Pairs
from rmls.models.wrappers.nested import (
    HoldsEstimator,
    inner_fold_params,
    inner_state,
    make_inner,
    restore_inner,
)

JOINTS: dict[str, type[LabelSizes] | type[Pairs]] = {
    "sizes": LabelSizes,
    "pairs": Pairs,
    "independent": Pairs,
}


class GFM(HoldsEstimator, GivesProbabilities, MultiLabelEstimator):
    """Predict the set with the best expected F, from probabilities of labels together with sizes.

    The expected F of a set S needs no more than ``P(y_j = 1, |y| = s)``, and with it the best of
    all sets is found by sorting; see `rmls.decide.maximize_f` (Dembczyński et al., NIPS 2011). The
    estimator inside gives these probabilities,

    * ``joint="pairs"``: by the reduction of the paper, in which label j has one class for every
      size s, here as one 0/1 problem of pairs (j, s) that has as many positive entries as Y;
    * ``joint="sizes"``: as ``P(y_j = 1) P(|y| = s | y_j = 1)``, from one problem of the labels and
      the sizes side by side; the sizes given a label are those given the row, moved as in the
      training rows that have the label. It leaves the rows of a rare label together;
    * ``joint="independent"``: from ``P(y_j = 1)`` alone, as if labels were independent given the
      row, where the maximiser is the rule ``f1`` of `rmls.decide.ExpectedF1`.

    Parameters
    ----------
    estimator : estimator, str or None, default=None
        One that gives probabilities; by default ``RMLS()``, which is calibrated. `Calibrated` makes
        any other one do, of scikit-learn and its kin as well.
    joint : {"sizes", "pairs", "independent"}, default="sizes"
        Which probabilities of labels and sizes the estimator learns.
    max_sizes : int, default=8
        Sizes that are told apart; where rows have more different numbers of labels, neighbouring
        ones share a bin of about equally many entries of Y, which counts with its mean.
    depth : int, default=50
        Most probable labels of a row that are considered.
    decision : str, float or Rule, default="f1"
        ``f1`` is the maximiser; other rules take the probabilities of the labels.
    n_jobs : int or None, default=None
        Threads of ranking; the estimator has its own.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the labels and the sizes, to the pairs, or to the labels alone.

    Notes
    -----
    The score of a label is its probability. A truth without labels counts 0, as in `rmls.metrics`,
    so that a set is empty only where nothing is possible. For m labels and B sizes the estimator
    has ``m + B`` labels to learn, or up to ``m B`` pairs, and at most one positive entry a row more
    than Y; a decision costs O(L² (B + log L)) a row with L = ``depth``.

    Examples
    --------
    >>> kinds = np.arange(60) % 3
    >>> X = np.eye(3)[kinds] + np.random.default_rng(0).normal(0, 0.1, (60, 3))
    >>> Y = np.array([[1, 0], [0, 1], [1, 1]])[kinds]
    >>> GFM(RMLS(8, max_iter=20)).fit(X, Y).predict(np.eye(3)).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    _joint: LabelSizes | Pairs

    estimator: Any
    joint: str
    max_sizes: int
    depth: int

    _options: ClassVar[dict[str, Option]] = {
        "estimator": anything("an estimator with probabilities or the name of one").or_none(),
        "joint": choice(*JOINTS),
        "max_sizes": whole(1),
        "depth": whole(1),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        joint: str = "sizes",
        max_sizes: int = 8,
        depth: int = 50,
        decision: str | float | Rule = "f1",
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    def _check_options(self) -> None:
        super()._check_options()
        inner = self._make_inner()
        if not inner._will_have_probabilities():
            raise inner._no_probabilities()

    def _make_inner(self) -> MultiLabelEstimator:
        return RMLS() if self.estimator is None else make_inner(self.estimator, self)

    def _fit(self, data: TrainingSet) -> ScoredRows:
        model = self._make_inner()
        limit = 1 if self.joint == "independent" else int(self.max_sizes)
        self._joint, problem = JOINTS[self.joint].of(data.labels, data.weights, limit)
        model.fit(data.features, problem, sample_weight=data.weights)
        self._inner = model
        return ScoredRows(self, data)

    def _fold_params(self) -> dict[str, Any]:
        return inner_fold_params(self._inner)

    # -- scores ----------------------------------------------------------------------------------

    def _column_blocks(self, X: sparse.csr_matrix) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield the probabilities of the columns of the problem, a few rows at a time."""
        for block, scores in self._inner._score_blocks(X):
            yield block, self._inner._to_probabilities(scores)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        result = np.empty((int(X.shape[0]), self._space.n_labels), np.float32)
        for block, columns in self._column_blocks(X):
            result[block] = self._joint.chances(columns)
        return result

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return scores

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.maximum(scores, np.finfo(np.float32).tiny)
        shares: NDArray[np.float32] = scores / scores.sum(axis=1, keepdims=True)
        return shares

    # -- decisions -------------------------------------------------------------------------------

    def _decide(self, X: sparse.csr_matrix, rule: Rule) -> Ranking:
        if not isinstance(rule, ExpectedF1) or self.joint == "independent":
            return super()._decide(X, rule)
        return Ranking.stack([self._maximize(columns) for _, columns in self._column_blocks(X)])

    def _maximize(self, columns: NDArray[np.float32]) -> Ranking:
        """Return the best set of every row, given the probabilities of the columns."""
        chances = self._joint.chances(columns)
        n_rows, n_labels = chances.shape
        # The search is quadratic in the labels that it looks at: only the likeliest enter.
        k = min(self.depth, n_labels)
        labels, scores = self._backend.best_of_rows(chances, k, count_threads(self.n_jobs))
        listed = Ranking.from_table(labels, scores, n_labels)
        joint = self._joint.table(columns, labels).reshape(n_rows * k, -1)
        sizes = self._joint.sizes
        return listed.where(choose_f_sets(listed.indptr, joint.astype(np.float64), sizes))

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        manifest, arrays = inner_state(self._inner)
        own = {f"joint_{name}": array for name, array in self._joint._asdict().items()}
        return {"estimator": manifest}, {**arrays, **own}

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        self._inner = restore_inner(fitted["estimator"], archive, int(self.n_features_in_))
        kind = JOINTS[self.joint]
        whole = dict.fromkeys(("labels", "bins", "n_labels", "place"), (np.int32, (None,)))
        types = {**whole, "lifts": (np.float32, (None, None)), "sizes": (np.float32, (None,))}
        check_arrays(archive, {f"joint_{name}": types[name] for name in kind._fields})
        self._joint = kind(*(archive.arrays[f"joint_{name}"] for name in kind._fields))
        self._joint.check(self._space.n_labels, self._inner._space.n_labels)
