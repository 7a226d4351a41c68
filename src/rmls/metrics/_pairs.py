"""The input of the reliability metrics: pairs of row and label, and whether the label is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.sparse import check_sparse, label_counts
from rmls.metrics._counts import Mask
from rmls.metrics._inputs import (
    Floats,
    Ints,
    as_dense,
    as_ranking,
    check_label_numbers,
    check_shape,
    check_truth,
)


@dataclass(frozen=True)
class ListedPairs:
    """The pairs of row and label that have a probability, and whether the label is there.

    The functions of `rmls.metrics.reliability` accept one in place of probabilities and then do
    not look at ``Y_true`` again.

    Attributes
    ----------
    labels : ndarray of int, shape (n_pairs,)
    probabilities : ndarray of float64, shape (n_pairs,)
    outcomes : ndarray of bool, shape (n_pairs,)
    true_counts : ndarray of int64, shape (n_labels,)
        Rows of every label, listed or not.
    n_samples : int
    group : ndarray of bool, shape (n_labels,), or None
        The labels that count; None stands for all.
    """

    labels: NDArray[np.integer[Any]]
    probabilities: Floats
    outcomes: Mask
    true_counts: Ints
    n_samples: int
    group: Mask | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels that count."""
        return len(self.true_counts) if self.group is None else int(self.group.sum())

    @property
    def n_unlisted(self) -> int:
        """Number of true labels without a probability."""
        counts = self.true_counts if self.group is None else self.true_counts[self.group]
        return int(counts.sum()) - int(self.outcomes.sum())

    def restrict(self, labels: ArrayLike | None) -> ListedPairs:
        """Keep the pairs of some labels, given by a mask or by number; None keeps all."""
        if labels is None:
            return self
        group = _as_mask(labels, len(self.true_counts))
        keep = group[self.labels]
        return replace(
            self,
            labels=self.labels[keep],
            probabilities=self.probabilities[keep],
            outcomes=self.outcomes[keep],
            group=group,
        )


def list_pairs(Y_true: Any, probabilities: Any) -> ListedPairs:
    """Check label sets and probabilities and bring them together; pairs are returned as they are.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    probabilities : Ranking, sparse matrix or array, shape (n_samples, n_labels)
        Of an array every pair is listed; of a sparse matrix the stored entries, zeros included;
        of a ranking its labels, with its probabilities or, where it has none, its scores.

    Examples
    --------
    >>> pairs = list_pairs([[1, 0], [0, 1]], sparse.csr_matrix([[0.7, 0.2], [0.4, 0.0]]))
    >>> pairs.outcomes.tolist(), pairs.n_unlisted
    ([True, False, False], 1)
    """
    if isinstance(probabilities, ListedPairs):
        return probabilities
    true = check_truth(Y_true)
    if isinstance(probabilities, Ranking) or sparse.issparse(probabilities):
        pairs = _list_stored(true, _stored(probabilities, true.shape))
    else:
        pairs = _list_all(true, probabilities)
    found = pairs.probabilities
    # Written so that NaN fails too.
    wrong = found[~((found >= 0) & (found <= 1))]
    if len(wrong):
        raise InputError(f"probabilities must lie between 0 and 1; found {wrong[0]:g}.")
    return pairs


def _stored(probabilities: Any, shape: tuple[int, ...]) -> sparse.csr_matrix:
    if isinstance(probabilities, Ranking):
        ranking = as_ranking(probabilities, shape)
        matrix = ranking.to_csr(probabilities=ranking.probabilities is not None)
        if not matrix.has_canonical_format:
            raise InputError("ranking names a label twice in one row; each may appear once.")
        return matrix
    check_sparse(probabilities, "probabilities")
    matrix = sparse.csr_matrix(probabilities)
    check_shape("probabilities", matrix.shape, shape)
    if not matrix.has_canonical_format:
        # `csr_matrix` shares the arrays of the caller, who must not see them change.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _list_stored(true: sparse.csr_matrix, matrix: sparse.csr_matrix) -> ListedPairs:
    # One number for each pair; both lists rise, as the matrices are canonical.
    wanted, there = (_pair_numbers(part) for part in (matrix, true))
    place = np.searchsorted(there, wanted)
    # A pair beyond the last true one is compared with -1, which no pair has.
    outcomes = np.append(there, -1)[place] == wanted
    values = matrix.data.astype(np.float64)
    return ListedPairs(matrix.indices, values, outcomes, label_counts(true), true.shape[0])


def _pair_numbers(matrix: sparse.csr_matrix) -> Ints:
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    numbers: Ints = rows * matrix.shape[1] + matrix.indices
    return numbers


def _list_all(true: sparse.csr_matrix, probabilities: Any) -> ListedPairs:
    dense = as_dense(probabilities, "probabilities", true.shape)
    outcomes = np.zeros(dense.size, dtype=bool)
    # The number of a pair is its place in the dense array, read row by row.
    outcomes[_pair_numbers(true)] = True
    labels = np.tile(np.arange(true.shape[1], dtype=np.int32), true.shape[0])
    return ListedPairs(labels, dense.ravel(), outcomes, label_counts(true), true.shape[0])


def _as_mask(labels: ArrayLike, n_labels: int) -> Mask:
    chosen = np.asarray(labels)
    if chosen.dtype == bool and chosen.shape == (n_labels,):
        return chosen
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise InputError(f"labels must be a mask of {n_labels} labels or a list of their numbers.")
    check_label_numbers("labels", chosen, n_labels)
    mask = np.zeros(n_labels, dtype=bool)
    mask[chosen.astype(np.int64)] = True
    return mask
