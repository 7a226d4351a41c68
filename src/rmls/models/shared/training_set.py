"""The rows that a model is trained on: read from what users pass in, handed to every hook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace, read_labels
from rmls.core.lean.learn import check_array, check_n_features, check_sample_weight
from rmls.core.options import is_auto
from rmls.core.sparse import (
    as_feature_csr,
    as_label_csr,
    check_sparse,
    distinct_rows,
    is_mapped,
    is_plain,
    label_counts,
    take_rows,
)

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator

Indices = NDArray[np.int64]
Weights = NDArray[np.float64]

# Streams of random numbers of one seed: the second word of the key.
FOLDS, HELD_OUT = 2**34, 2**33
# Three more models are affordable up to here; above, 2,000 rows are not missed (docs/decisions.md).
CROSS_FIT_ROWS = 30_000
MIN_WEIGHT, MAX_WEIGHT = 1e-12, 1e12
DEFAULT_FOLDS = 3


def _no_rows() -> Indices:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class TrainingSet:
    """Rows to train on, each distinct one once with its summed weight.

    Distinct rows come in the order of their fingerprints (`rmls.core.sparse`): any prefix of
    them is a fair sample, and nothing that is learned from them depends on the order they were
    given in.

    Attributes
    ----------
    X : CSR matrix of float32, shape (n_samples, n_features)
    Y : CSR matrix of int32 ones, shape (n_samples, n_labels)
    rows : ndarray of int64
        Which rows of ``X`` and ``Y`` belong to the set.
    weights : ndarray of float64
        Weight of each of ``rows``.
    held_out : ndarray of int64
        Places in ``rows`` that are not trained on; decisions are fitted to them.
    observed : CSR matrix of ones, optional
        Entries of ``Y`` that are known; all of them without it.
    dense : ndarray of float32, shape (n_samples, n_dense), optional
        Columns beside those of ``X`` that are no sparse features.
    label_text : optional
        What labels are called, as it was given.
    scratch : Scratch, optional
        Room on disk for what is as large as the rows.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.float32([[1, 0], [1, 0], [0, 1]]))
    >>> Y = sparse.csr_matrix(np.int32([[1], [1], [0]]))
    >>> data = TrainingSet.of(X, Y, np.ones(3))
    >>> data.n_rows, sorted(data.weights.tolist())
    (2, [1.0, 2.0])
    """

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    rows: Indices
    weights: Weights
    held_out: Indices = field(default_factory=_no_rows)
    observed: sparse.csr_matrix | None = None
    dense: NDArray[np.float32] | None = None
    label_text: Any = None
    scratch: Any = None

    @classmethod
    def of(
        cls,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        weights: Weights,
        observed: sparse.csr_matrix | None = None,
    ) -> TrainingSet:
        """Return the distinct rows of positive weight; rows differ in what is observed, too."""
        if observed is None:
            # Fingerprints are hashes of the content: sorted by them, rows are as if shuffled, and
            # the same whatever order they were given in. Hence any prefix is a fair sample.
            rows, totals = distinct_rows(X, Y, weights)
        else:
            # What is said of unknown entries must not tell two rows apart.
            Y = as_label_csr(Y.multiply(observed))
            both = sparse.csr_matrix(sparse.hstack([observed, Y]))
            rows, totals = distinct_rows(X, both, weights)
        if not len(rows):
            raise InputError("sample_weight is zero for every row; at least one must be positive.")
        return cls(X, Y, rows, totals, observed=observed)

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    @property
    def features(self) -> sparse.csr_matrix:
        """The features of the rows of the set, in their order: a copy."""
        return take_rows(self.X, self.rows) if is_mapped(self.X) else self.X[self.rows]

    @property
    def labels(self) -> sparse.csr_matrix:
        """The labels of the rows of the set, in their order: a copy."""
        return self.Y[self.rows]

    @property
    def kept(self) -> TrainingSet:
        """The rows that are trained on."""
        places = np.delete(np.arange(self.n_rows), self.held_out)
        return self if len(places) == self.n_rows else self.take(places)

    @property
    def left_out(self) -> TrainingSet:
        """The rows that were held out."""
        return self.take(self.held_out)

    def take(self, places: Indices) -> TrainingSet:
        """Return the set of the rows at some places."""
        return replace(
            self, rows=self.rows[places], weights=self.weights[places], held_out=_no_rows()
        )

    def first(self, count: int) -> TrainingSet:
        """Return the set of the first rows, a fair sample."""
        return self.take(np.arange(min(count, self.n_rows)))

    def zeros(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """Return an array of zeros, on disk where the rows are."""
        return np.zeros(shape, dtype) if self.scratch is None else self.scratch.zeros(shape, dtype)

    def with_features(self, X: sparse.csr_matrix) -> TrainingSet:
        """Return the set with other features of the same rows."""
        return replace(self, X=X)

    def compact(self) -> TrainingSet:
        """Return the set whose matrices hold its own rows and no others, in their order."""
        return replace(
            self,
            X=self.features,
            Y=self.labels,
            rows=np.arange(self.n_rows),
            observed=None if self.observed is None else self.observed[self.rows],
            dense=None if self.dense is None else self.dense[self.rows],
        )

    def hold_out(self, share: float, seed: int) -> TrainingSet:
        """Return the set with a random share of its rows held out: at least one if not 0."""
        count = max(1, round(share * self.n_rows)) if share else 0
        if count and count >= self.n_rows:
            raise InputError(
                f"holding out {share} of {self.n_rows} distinct rows leaves nothing to train on; "
                "give more rows, or hold out less (validation_fraction)."
            )
        order = np.random.Generator(np.random.Philox(key=[seed, HELD_OUT])).permutation(self.n_rows)
        # Sorted back into fingerprint order, so that a prefix of the part is a fair sample again.
        return replace(self, held_out=np.sort(order[:count]))

    def folds(self, n_folds: int, seed: int) -> Iterator[TrainingSet]:
        """Yield the set once for every random fold of its rows, with that fold held out."""
        order = np.random.Generator(np.random.Philox(key=[seed, FOLDS])).permutation(self.n_rows)
        for fold in range(n_folds):
            # Strides of a permutation: sizes differ by one row at most.
            yield replace(self, held_out=np.sort(order[fold::n_folds]))

    def positives(self) -> Weights:
        """Return the weight of the rows that have each label."""
        return np.asarray(self.weights @ self.labels, dtype=np.float64)


def count_folds(wanted: int | str, n_rows: int, max_rows: int = CROSS_FIT_ROWS) -> int:
    """Return the number of cross-fitting folds; 0 stands for holding rows out.

    Examples
    --------
    >>> count_folds("auto", 1000), count_folds("auto", 100_000), count_folds(5, 1000)
    (3, 0, 5)
    """
    if is_auto(wanted):
        return DEFAULT_FOLDS if n_rows <= max_rows else 0
    if wanted == 1:
        raise InputError("calibration_folds must be 0, to hold rows out, or at least 2; got 1.")
    return min(int(wanted), n_rows)


def read_features(model: MultiLabelEstimator, X: Any, *, reset: bool = False) -> sparse.csr_matrix:
    """Return features as canonical CSR; ``reset`` makes theirs the features of the model.

    Columns with names are brought into the order of the model.
    """
    _refuse_texts(X)
    X, names = _split_names(X)
    order = None
    if not reset or _continues(model, names):
        order = _find_order(model, names)
    checked = X
    # A single row that is as it should be would wait longer for this than for its labels.
    if not is_plain(X):
        # Before scikit-learn and scipy look at it, whose native code trusts it.
        check_sparse(X, "X")
        checked = check_array(
            X,
            accept_sparse="csr",
            dtype=np.float32,
            ensure_min_features=1,
            estimator=model,
            input_name="X",
        )
    check_n_features(model, checked, reset=reset)
    if reset and order is None:
        _keep_names(model, names)
    matrix = as_feature_csr(checked)
    if order is None:
        return matrix
    from rmls.core.feature_names import move_columns

    return move_columns(matrix, order)


def _split_names(X: Any) -> tuple[Any, list[str] | None]:
    """Return features, and the names of their columns where they have some."""
    if is_dataset(X):
        return X.X, X.feature_names
    if not hasattr(X, "columns"):
        return X, None
    from rmls.core.feature_names import names_of

    return X, names_of(X)


def is_dataset(X: Any) -> bool:
    """Tell a `Dataset` by what it carries: models know nothing of data files."""
    return hasattr(X, "label_names") and hasattr(X, "feature_names")


def _continues(model: MultiLabelEstimator, names: list[str] | None) -> bool:
    """Tell whether a warm start goes on with features that both sides have names for."""
    known = getattr(model, "feature_names_in_", ())
    warm = getattr(model, "warm_start", False) and names is not None
    return bool(warm) and names is not None and len(known) == len(names)


def _find_order(model: MultiLabelEstimator, names: list[str] | None) -> NDArray[np.int32] | None:
    known = getattr(model, "feature_names_in_", None)
    if known is None and names is None:
        return None
    # Every block of a data set asks again, with the same list of perhaps a million names.
    given: Any = names
    if known is not None and getattr(given, "same_as", None) is known:
        return None
    from rmls.core.feature_names import match_features

    fitted = None if known is None else known.tolist()
    order = match_features(fitted, names, type(model).__name__)
    if order is None and hasattr(given, "same_as"):
        given.same_as = known
    return order


def _keep_names(model: MultiLabelEstimator, names: list[str] | None) -> None:
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def share_names(model: Any) -> None:
    """Give the names of the features to the estimators inside."""
    inner, names = getattr(model, "estimator_", None), getattr(model, "feature_names_in_", None)
    # Foreign estimators are asked with arrays, and would warn that these have no names.
    if inner is not None and names is not None and hasattr(inner, "_fit_set"):
        inner.feature_names_in_ = names
        share_names(inner)


def _refuse_texts(X: Any) -> None:
    first = X[0] if isinstance(X, (list, tuple)) and X else None
    if isinstance(X, np.ndarray) and X.ndim == 1 and len(X):
        first = X[0]
    if isinstance(first, str):
        raise InputError("X holds texts, but features are numbers; rmls.TextRanker takes texts.")


def read_training_set(
    model: MultiLabelEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    label_names: Any = None,
    observed: Any = None,
) -> TrainingSet:
    """Check the options of the model and read what `fit` was given."""
    model._check_options()
    if y is None and is_dataset(X):
        y, label_names = X.Y, X.label_names if label_names is None else label_names
    X = read_features(model, X, reset=True)
    space, Y = read_targets(y, label_names)
    weights = read_weights(X, Y, sample_weight)
    known = None if observed is None else _read_observed(observed, Y)
    data = TrainingSet.of(X, Y, weights, known)
    _check_sizes(data.weights)
    # What the command line has recorded is about the rows of another training.
    for name in ("training_record_", "quality_record_"):
        model.__dict__.pop(name, None)
    model._space, model.classes_ = space, space.classes
    model.label_counts_ = label_counts(data.Y)
    model.n_samples_ = int(X.shape[0])
    return data


def read_targets(y: Any, label_names: Any = None) -> tuple[LabelSpace, sparse.csr_matrix]:
    """Return the labels and those of every row, as `fit` reads them."""
    return read_labels(y, names=label_names)


def read_more_rows(
    model: MultiLabelEstimator, X: Any, y: Any, classes: Any, sample_weight: Any, *, first: bool
) -> TrainingSet:
    """Read what `partial_fit` was given: rows as they come, equal ones are not merged."""
    X = read_features(model, X, reset=first)
    if first:
        model._check_options()
        space, Y = read_labels(y, classes=classes)
    else:
        space, Y = model._space, model._space.read_more(y)
    weights = read_weights(X, Y, sample_weight)
    rows = np.flatnonzero(weights > 0)
    if len(rows):
        _check_sizes(weights)
    # Nothing of the model changes before all that was given has been read.
    model._space, model.classes_ = space, space.classes
    model.label_counts_ = label_counts(Y) + (0 if first else model.label_counts_)
    model.n_samples_ = int(X.shape[0]) + (0 if first else model.n_samples_)
    return TrainingSet(X, Y, rows, weights[rows])


def read_weights(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, sample_weight: Any
) -> NDArray[np.float64]:
    """Return the weight of every row."""
    if X.shape[0] != Y.shape[0]:
        raise InputError(
            f"Y has {Y.shape[0]} rows but X has {X.shape[0]}; both need one row per sample."
        )
    weights: NDArray[np.float64] = check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0).any():
        raise InputError(f"sample_weight must not be negative; found {weights.min()}.")
    return weights


def _check_sizes(weights: Weights) -> None:
    """Raise a sentence where sums of weights, or their squares, would leave float32."""
    largest = float(weights.max(initial=0.0))
    if not MIN_WEIGHT <= largest <= MAX_WEIGHT:
        raise InputError(
            f"the largest sample_weight must lie between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}, equal "
            f"rows taken together; got {largest:g}: multiply all weights by the same number."
        )


def _read_observed(observed: Any, Y: sparse.csr_matrix) -> sparse.csr_matrix:
    known = as_label_csr(observed, "observed")
    if known.shape != Y.shape:
        raise InputError(
            f"observed has shape {known.shape} but Y has shape {Y.shape}; "
            "both need one row per sample and one column per label."
        )
    return known
