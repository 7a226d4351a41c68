"""Estimators of other libraries behind the template, by scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from rmls.core.errors import InputError
from rmls.core.numeric import sigmoid
from rmls.core.options import Option, anything, store_params
from rmls.core.resources import cut_blocks, require_memory
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.training_set import TrainingSet

Scores = NDArray[np.float32]

# Many libraries visit every label in Python for each block: blocks are larger than for our kernels.
BLOCK_BYTES = 64 << 20
# Above this share of entries that are not 0, dense rows take less memory and time.
DENSE_SHARE = 1 / 3
# Rows that tell the range of scores, for labels that have none of their own.
RANGE_ROWS = 1_000
# A number and its column, in a matrix of rows or labels.
ENTRY_BYTES = 8
# Log-odds stay within 16.
LEAST_CHANCE = 1e-7


class Foreign(MultiLabelEstimator):
    """An estimator of another library, as one that the wrappers can fit and score with.

    Its scores are the log-odds of its ``predict_proba`` or, where it has none, its
    ``decision_function``.

    Parameters
    ----------
    estimator : estimator
        Anything with ``fit``, ``get_params`` and one of the two above. What learns one label only
        is put into a ``OneVsRestClassifier``.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the labels that some rows have and some have not; the others get a constant.

    Notes
    -----
    Rows go in sparse where the estimator says that it takes them so, unless a third of their
    entries is not 0. A whole weight repeats its row, because not every library knows weights.
    """

    estimator: Any
    estimator_: Any
    _varying: NDArray[np.int64]
    _constant: Scores
    _dense_rows: bool

    _options: ClassVar[dict[str, Option]] = {"estimator": anything("an estimator")}

    def __init__(self, estimator: Any) -> None:
        store_params(self, locals())

    # -- fitting ---------------------------------------------------------------------------------

    def _fit_set(self, data: TrainingSet) -> Foreign:
        """Fit the estimator alone: decisions are those of the wrapper."""
        X, Y, weights = _weigh_rows(data)
        counts = np.diff(Y.tocsc().indptr)
        # One class only is what many libraries refuse to learn, and there is nothing to learn.
        self._varying = np.flatnonzero((counts > 0) & (counts < Y.shape[0]))
        self._rules, self._calibration = {}, None
        self.estimator_ = clone(self.estimator)
        if not _learns_sets(self.estimator_):
            self.estimator_ = OneVsRestClassifier(self.estimator_)
        self._has_chances = hasattr(self.estimator_, "predict_proba")
        self._constant = np.where(counts > 0, 1, -1).astype(np.float32)
        if len(self._varying):
            self._train(X, Y[:, self._columns], weights)
        self._constant *= self._largest(X)
        return self

    @property
    def _columns(self) -> NDArray[np.int64]:
        """The labels to learn; a single one comes twice, which makes it a set for any library."""
        return np.repeat(self._varying, 2) if len(self._varying) == 1 else self._varying

    def _train(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: Any) -> None:
        known = {} if weights is None else {self._weight_name(): weights}
        labels: Any = Y
        if not _takes_sparse_sets(self.estimator_):
            require_memory(Y.shape[0] * Y.shape[1], "a dense array of the labels", "use fewer rows")
            labels = Y.astype(np.int8).toarray()
        dense = X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]
        self._dense_rows = dense or not _takes_sparse_rows(self.estimator_)
        try:
            self.estimator_.fit(self._rows(X), labels, **known)
        except (TypeError, ValueError) as error:
            if self._dense_rows:
                raise self._failure(error) from error
            # Some say that they take sparse rows, and a step inside them does not.
            self._dense_rows = True
            self._try_dense(X, labels, known)

    def _try_dense(self, X: sparse.csr_matrix, labels: Any, known: dict[str, Any]) -> None:
        try:
            self.estimator_.fit(self._rows(X), labels, **known)
        except (TypeError, ValueError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> InputError:
        if isinstance(error, InputError):
            return error
        words = " ".join(str(error).split())
        return InputError(f"{_name(self.estimator)} cannot be fitted: {words}")

    def _weight_name(self) -> str:
        """Return the argument of ``fit`` that takes weights."""
        last, prefix = self.estimator_, ""
        while isinstance(last, Pipeline):
            step, last = last.steps[-1]
            prefix += f"{step}__"
        if isinstance(last, OneVsRestClassifier) or not has_fit_parameter(last, "sample_weight"):
            raise InputError(
                f"{type(last).__name__} takes no sample weights; "
                "give whole numbers, which repeat the rows."
            )
        return f"{prefix}sample_weight"

    def _largest(self, X: sparse.csr_matrix) -> np.float32:
        """Return a score that is as large as those of the labels that were learned."""
        if self._has_chances:
            return np.float32(_log_odds(np.ones(1))[0])
        if not len(self._varying):
            return np.float32(1)
        return np.float32(np.abs(self._ask(X[:RANGE_ROWS])).max(initial=1))

    # -- scores ----------------------------------------------------------------------------------

    def _rows(self, X: sparse.csr_matrix) -> Any:
        """Return rows as the estimator takes them, in the precision that most libraries work in."""
        if not self._dense_rows:
            return X.astype(np.float64)
        purpose = f"a dense array of {X.shape[0]} rows × {X.shape[1]} features"
        way_out = "use an estimator that takes sparse rows, or fewer rows"
        require_memory(8 * X.shape[0] * X.shape[1], purpose, way_out)
        return X.toarray().astype(np.float64)

    def _score_blocks(self, X: sparse.csr_matrix) -> Iterator[tuple[slice, Scores]]:
        width = self._space.n_labels + int(X.shape[1]) * bool(getattr(self, "_dense_rows", False))
        for start, stop in cut_blocks(int(X.shape[0]), max(1, BLOCK_BYTES // (8 * width))):
            yield slice(start, stop), self._score_block(X[start:stop])

    def _score_block(self, X: sparse.csr_matrix) -> Scores:
        result = np.tile(self._constant, (int(X.shape[0]), 1))
        if len(self._varying) and X.shape[0]:
            result[:, self._varying] = self._ask(X)
        return result

    def _ask(self, X: sparse.csr_matrix) -> Scores:
        """Return the scores of the labels that were learned."""
        name = "predict_proba" if self._has_chances else "decision_function"
        found = getattr(self.estimator_, name)(self._rows(X))
        if isinstance(found, list):
            # One array of class probabilities for every label: those of the last class, 1.
            found = np.stack([np.asarray(each)[:, -1] for each in found], axis=1)
        found = np.asarray(found, np.float64)
        wanted = (int(X.shape[0]), len(self._columns))
        if found.shape != wanted or np.isnan(found).any():
            problem = "holds nan" if found.shape == wanted else f"has shape {found.shape}"
            raise InputError(
                f"{name} of {_name(self.estimator)} {problem}; "
                f"it must give {wanted[1]} numbers for every row."
            )
        found = found[:, : len(self._varying)]
        limit = float(np.finfo(np.float32).max)
        return (_log_odds(found) if self._has_chances else np.clip(found, -limit, limit)).astype(
            np.float32
        )

    def _will_have_probabilities(self) -> bool:
        # Some estimators have predict_proba only once they are fitted.
        return True

    def _own_probabilities(self, scores: Scores) -> Scores:
        if self._has_chances:
            return sigmoid(scores)
        raise self._no_probabilities()

    def _no_probabilities(self) -> InputError:
        name = _name(self.estimator)
        return InputError(
            f"{name} gives scores and no probabilities; calibrate it: Calibrated({name})."
        )

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        name = _name(self.estimator)
        raise InputError(
            f"{name} is not an estimator of rmls and cannot be written to a model folder, which "
            "holds no code; keep the model with joblib.dump, and load that file only if you trust "
            "where it comes from."
        )


def check_foreign(estimator: Any, taker: str) -> None:
    """Refuse what cannot be fitted and scored with."""
    name = type(estimator).__name__
    if isinstance(estimator, type):
        shown = estimator.__name__
        raise InputError(f"{taker} takes an estimator, not a class; write {shown}().")
    if not all(hasattr(estimator, each) for each in ("fit", "get_params", "set_params")):
        raise InputError(
            f"{taker} takes an estimator of rmls or of scikit-learn's kind; got {name}."
        )
    if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
        raise InputError(
            f"{taker} takes an estimator with decision_function or predict_proba; "
            f"{_name(estimator)} has neither{_way_out(estimator)}."
        )


def _way_out(estimator: Any) -> str:
    inner = getattr(estimator, "estimator", None)
    if not hasattr(inner, "decision_function"):
        return ""
    return f", but OneVsRestClassifier({_name(inner)}) has"


def _name(estimator: Any) -> str:
    """Return an estimator as users write it, without its options."""
    if isinstance(estimator, Pipeline):
        return "Pipeline(...)"
    inner = estimator.get_params(deep=False).get("estimator")
    return f"{type(estimator).__name__}({_name(inner) if hasattr(inner, 'fit') else ''})"


def _weigh_rows(data: TrainingSet) -> tuple[sparse.csr_matrix, sparse.csr_matrix, Any]:
    """Return rows, labels and weights, None where whole weights became repeated rows."""
    X, Y, weights = data.features, data.labels, data.weights
    if (weights == 1).all():
        return X, Y, None
    if (weights != np.floor(weights)).any():
        return X, Y, weights
    return *repeat_rows(X, Y, weights), None


def repeat_rows(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float64]
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return every row as often as its whole weight says."""
    # In floats: weights may be larger than any integer.
    needed = ENTRY_BYTES * float(weights @ (np.diff(X.indptr) + np.diff(Y.indptr) + 1))
    way_out = "divide the weights by their smallest one"
    require_memory(int(needed), "repeating the rows", way_out)
    repeated = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
    return X[repeated], Y[repeated]


def _tags(estimator: Any) -> Any:
    """Return scikit-learn's tags, None for an estimator that has no such thing."""
    try:
        return get_tags(estimator)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _learns_sets(estimator: Any) -> bool:
    tags = _tags(estimator)
    if tags is None:
        return False
    several = bool(tags.classifier_tags and tags.classifier_tags.multi_label)
    # A search passes on less than its estimator says.
    if not several and hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        return _learns_sets(estimator.estimator)
    return several or bool(tags.target_tags.multi_output)


def _takes_sparse_rows(estimator: Any) -> bool:
    tags = _tags(estimator)
    return tags is not None and bool(tags.input_tags.sparse)


def _takes_sparse_sets(estimator: Any) -> bool:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return isinstance(last, OneVsRestClassifier)


def _log_odds(chances: NDArray[Any]) -> NDArray[np.float64]:
    kept = np.clip(np.asarray(chances, np.float64), LEAST_CHANCE, 1 - LEAST_CHANCE)
    return np.asarray(np.log(kept / (1 - kept)))
