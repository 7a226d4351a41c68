"""What every resampler shares: input checks, the order of rows and labels, the containers."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import read_labels
from rmls.core.lean.learn import BaseEstimator, validate_data
from rmls.core.options import Option, read_seed
from rmls.core.resources import on_one_thread
from rmls.core.sparse import canonical_order, check_sparse
from rmls.imbalance.containers import like_features, like_labels

Indices = NDArray[np.int64]
Csr = sparse.csr_matrix
# One row or one label has nothing to be compared with.
MIN_SIZE = 2


class Changes(NamedTuple):
    """What a method does to the rows; rows and labels are numbered in the canonical order.

    Attributes
    ----------
    kept : ndarray of bool, shape (n_samples,)
        Rows that stay.
    added : ndarray of int64
        The row that each added row is a copy of, or its seed.
    labels : CSR matrix, optional
        Labels of the kept rows, then of the added ones; those of the rows themselves by default.
    synthetic : CSR matrix, optional
        Features of the added rows; those of the rows they come from by default.
    """

    kept: NDArray[np.bool_]
    added: Indices
    labels: Csr | None = None
    synthetic: Csr | None = None


class Resampler(BaseEstimator):  # type: ignore[misc]
    """Base of the methods that add or remove rows to even out the labels.

    A subclass declares its options in ``_options`` and defines
    ``_fit_resample(X, Y, rows, generator) -> Changes``. The labels ``Y`` come with rows and columns
    in the canonical order, labels by ascending count; row i of ``Y`` belongs to row ``rows[i]`` of
    ``X``. So no result depends on the order in which rows or labels were given.

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        For every row of the output the row of ``X`` that it is, or was made from.
    n_features_in_ : int
    """

    _options: ClassVar[dict[str, Option]] = {}

    sample_indices_: Indices

    @on_one_thread
    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the resampled rows and their labels, in the containers they came in.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : 0/1 matrix (array, frame or sparse), or lists of label names

        Returns
        -------
        X_resampled, y_resampled
            Rows that stay come first, in their order; then the added ones. In pandas every row has
            the index of the row that it is, or was made from.
        """
        self._check_options()
        features = self._read_features(X)
        space, labels = read_labels(y)
        if space.is_single:
            raise InputError(
                f"y is 1-d; {type(self).__name__} balances label sets and wants a 0/1 matrix "
                "or lists of label names."
            )
        _check_problem(features, labels)
        rows, columns = canonical_order(features, labels)
        generator = np.random.default_rng(read_seed(getattr(self, "random_state", 0)))
        sorted_labels = labels[rows][:, columns]
        sorted_labels.sort_indices()
        changes = self._fit_resample(features, sorted_labels, rows, generator)
        # Kept rows go back to the order in which they were given.
        kept = np.flatnonzero(changes.kept)
        kept = kept[np.argsort(rows[kept])]
        self.sample_indices_ = np.concatenate([rows[kept], rows[changes.added]])
        if changes.labels is None:
            resampled = labels[self.sample_indices_]
        else:
            resampled = _restore_order(changes, kept, columns)
        made = changes.synthetic
        return (
            like_features(X, self.sample_indices_, made),
            like_labels(y, space.restore(resampled), self.sample_indices_),
        )

    def _check_options(self) -> None:
        """Raise one sentence for the first option that is not what ``_options`` says."""
        for name, option in self._options.items():
            option.check(name, getattr(self, name))

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        raise NotImplementedError

    def _read_features(self, X: Any) -> Csr:
        """Return the features as canonical CSR, in their type if that is a float."""
        check_sparse(X, "X")
        try:
            checked = validate_data(self, X, accept_sparse=True, dtype=[np.float64, np.float32])
        except ValueError as error:
            # scikit-learn adds a paragraph of advice behind its sentence.
            raise InputError(str(error).partition("\n")[0]) from error
        # It may be the caller's own matrix: copied before it is changed.
        matrix = sparse.csr_matrix(checked)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.nnz and not matrix.data.all():
            matrix = matrix.copy()
            matrix.eliminate_zeros()
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_problem(X: Csr, Y: Csr) -> None:
    if X.shape[0] != Y.shape[0]:
        raise InputError(
            f"Y has {Y.shape[0]} rows but X has {X.shape[0]}; both need one row per sample."
        )
    for size, what in zip(Y.shape, ("row", "label"), strict=True):
        if size < MIN_SIZE:
            raise InputError(f"Y has {size} {what}; balancing needs at least {MIN_SIZE} {what}s.")
    if not Y.nnz:
        raise InputError("no row of Y has a label; there is nothing to balance.")


def _restore_order(changes: Changes, kept: Indices, columns: Indices) -> Csr:
    """Return the labels of a method's output with rows and columns as they were given."""
    assert changes.labels is not None
    # place[i] is where row i stands in the output; argsort inverts the order of the columns.
    place = np.cumsum(changes.kept) - 1
    n_kept = len(kept)
    order = np.concatenate([place[kept], n_kept + np.arange(len(changes.added))])
    result = changes.labels[order][:, np.argsort(columns)]
    result.sort_indices()
    return result
