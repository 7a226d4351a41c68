"""What the metrics are made of, counted once: `SetCounts` from sets, `HitTable` from rankings.

Every metric accepts one of these in place of its prediction and then does not look at
``Y_true`` again. `rmls.metrics.evaluate` shares one among all its metrics that way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_label_csr, label_counts
from rmls.metrics._inputs import Ints, as_ranking, check_k, check_shape, check_truth
from rmls.metrics._named import name_columns, pair_sets

Mask = NDArray[np.bool_]
# The k of metrics that look at all labels of a list.
WHOLE = 2**31 - 1


class Sizes(NamedTuple):
    """How much is true, predicted and both: one number per row, or one per label."""

    true: Ints
    predicted: Ints
    shared: Ints


class Hits(NamedTuple):
    """The correct labels among the best k of every row: three arrays of one length."""

    rows: Ints
    labels: Ints
    positions: Ints

    def where(self, keep: Mask) -> Hits:
        """Keep the hits marked in ``keep``."""
        return Hits(self.rows[keep], self.labels[keep], self.positions[keep])


@dataclass(frozen=True)
class SetCounts:
    """True sets, predicted sets and what they share, as CSR matrices of one shape.

    With a ``group`` only its labels count, on both sides.

    Examples
    --------
    >>> counts = count_sets([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [1, 1, 0]])
    >>> counts.by_row.shared.tolist(), counts.by_label.predicted.tolist()
    ([1, 1], [2, 1, 0])
    >>> counts.restrict(np.array([False, True, True])).by_row.true.tolist()
    [1, 1]
    """

    true: sparse.csr_matrix
    predicted: sparse.csr_matrix
    shared: sparse.csr_matrix
    group: Mask | None = None

    def restrict(self, group: Mask | None) -> SetCounts:
        """Count only the labels marked in ``group``; None stands for all."""
        return replace(self, group=group)

    @property
    def n_labels(self) -> int:
        """Number of labels that count."""
        return int(self.true.shape[1] if self.group is None else np.count_nonzero(self.group))

    @cached_property
    def by_row(self) -> Sizes:
        """Labels of every row."""
        return Sizes(*(_row_sizes(m, self.group) for m in (self.true, self.predicted, self.shared)))

    @cached_property
    def by_label(self) -> Sizes:
        """Rows of every label of the group."""
        sizes = (label_counts(matrix) for matrix in (self.true, self.predicted, self.shared))
        return Sizes(*(_only(size, self.group) for size in sizes))

    @property
    def touched_rows(self) -> Mask:
        """Rows with a true or predicted label."""
        return (self.by_row.true > 0) | (self.by_row.predicted > 0)


@dataclass(frozen=True)
class HitTable:
    """True sets, the best k of a ranking, and the hits among them.

    With a ``group`` only its labels count as true; the ranking keeps its positions. ``others`` are
    the hits on labels outside the group, ``n_out`` is how many labels of every row are neither true
    nor false, because they were taken out.

    Examples
    --------
    >>> table = count_hits([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]], k=2)
    >>> table.hits.rows.tolist(), table.hits.labels.tolist(), table.hits.positions.tolist()
    ([0, 0, 1], [0, 2, 1], [0, 1, 1])
    >>> table.top(1).hits_by_row.tolist()
    [1, 0]
    """

    true: sparse.csr_matrix
    ranking: Ranking
    hits: Hits
    k: int
    group: Mask | None = None
    others: Hits | None = None
    n_out: Ints | None = None

    def top(self, k: int) -> HitTable:
        """Look at the best ``k`` labels only."""
        if k == self.k:
            return self
        if k > self.k:
            raise InputError(f"the best {self.k} labels were counted; {k} need a new count.")
        # Hits of a smaller k are a part of those of a larger one: nothing is searched again.
        hits = self.hits.where(self.hits.positions < k)
        others = None if self.others is None else self.others.where(self.others.positions < k)
        return replace(self, ranking=self.ranking.top(k), hits=hits, others=others, k=k)

    def restrict(self, group: Mask | None) -> HitTable:
        """Count only the labels marked in ``group``; None stands for all."""
        if group is None:
            return replace(self)
        inside = group[self.hits.labels]
        hits, others = self.hits.where(inside), self.hits.where(~inside)
        return replace(self, hits=hits, others=others, group=group)

    @cached_property
    def without_others(self) -> HitTable:
        """The lists without the true labels outside the group, which are no longer false either.

        Examples
        --------
        >>> table = count_hits([[1, 1, 0]], [[0.9, 0.8, 0.1]], k=3)
        >>> alone = table.restrict(np.array([False, True, False])).without_others
        >>> alone.ranking.labels.tolist(), alone.hits.positions.tolist(), alone.n_labels.tolist()
        ([1, 2], [0], [2])
        """
        if self.others is None:
            return self
        indptr, hits = self.ranking.indptr, self.hits
        out = np.zeros(len(self.ranking.labels), bool)
        out[indptr[self.others.rows] + self.others.positions] = True
        before = np.concatenate([[0], np.cumsum(out)])
        starts = indptr[hits.rows]
        # A hit moves up by the labels that were taken out between the start of its row and itself.
        moved = before[starts + hits.positions] - before[starts]
        n_out = np.diff(self.true.indptr) - self.true_by_row
        return replace(
            self,
            ranking=self.ranking.where(~out),
            hits=hits._replace(positions=hits.positions - moved),
            others=None,
            n_out=n_out.astype(np.int64),
        )

    @property
    def n_labels(self) -> Ints:
        """Number of labels of every row that are true or false."""
        n_rows, n_labels = self.true.shape
        whole: Ints = np.full(n_rows, n_labels, np.int64)
        return whole if self.n_out is None else whole - self.n_out

    @property
    def grouped_truth(self) -> sparse.csr_matrix:
        """True labels of the group, in columns that keep their numbers."""
        true = self.true
        if self.group is None:
            return true
        keep = self.group[true.indices]
        indptr = np.concatenate([[0], np.cumsum(self.true_by_row)])
        return sparse.csr_matrix((true.data[keep], true.indices[keep], indptr), shape=true.shape)

    @cached_property
    def true_by_row(self) -> Ints:
        """Number of true labels of every row."""
        return _row_sizes(self.true, self.group)

    @cached_property
    def hits_by_row(self) -> Ints:
        """Number of hits of every row."""
        return np.bincount(self.hits.rows, minlength=self.true.shape[0])

    @cached_property
    def by_label(self) -> Sizes:
        """Rows of every label of the group, where the best k are the predicted set."""
        n_labels = self.true.shape[1]
        predicted = np.bincount(self.ranking.labels, minlength=n_labels)
        shared = np.bincount(self.hits.labels, minlength=n_labels)
        sizes = (label_counts(self.true), predicted, shared)
        return Sizes(*(_only(size, self.group) for size in sizes))

    @property
    def touched_rows(self) -> Mask:
        """Rows with a true label."""
        return self.true_by_row > 0


def count_sets(Y_true: Any, Y_pred: Any) -> SetCounts:
    """Check both sets of labels and intersect them; counts are returned as they are."""
    if isinstance(Y_pred, SetCounts):
        return Y_pred
    Y_true, Y_pred = pair_sets(Y_true, Y_pred)
    true = check_truth(Y_true)
    predicted = as_label_csr(Y_pred, "Y_pred")
    check_shape("Y_pred", predicted.shape, true.shape)
    # A sparse product of 0/1 entries is the intersection: O(nnz), never rows x labels.
    return SetCounts(true, predicted, true.multiply(predicted).tocsr())


def count_hits(Y_true: Any, ranking: Any, k: int) -> HitTable:
    """Find the true labels among the best ``k`` of every row; a table is only cut to ``k``."""
    check_k(k)
    if isinstance(ranking, HitTable):
        return ranking.top(k)
    true = check_truth(name_columns(Y_true, ranking))
    top = as_ranking(ranking, true.shape).top(k)
    # Positions from 1 on: times the truth, each hit keeps its position, and none is lost as a zero.
    ranks = sparse.csr_matrix(
        (top.positions + 1, top.labels.copy(), top.indptr.copy()), shape=true.shape
    )
    ranks.sort_indices()
    if not ranks.has_canonical_format:
        raise InputError("ranking names a label twice in one row; each may appear once.")
    correct = ranks.multiply(true).tocsr()
    rows = np.repeat(np.arange(true.shape[0]), np.diff(correct.indptr))
    positions = correct.data.astype(np.int64) - 1
    return HitTable(true, top, Hits(rows, correct.indices.astype(np.int64), positions), k)


def _row_sizes(matrix: sparse.csr_matrix, group: Mask | None) -> Ints:
    if group is None:
        return np.diff(matrix.indptr).astype(np.int64)
    # A product with the mask counts the labels of the group; no column is copied.
    sizes: Ints = (matrix @ group.astype(np.int32)).astype(np.int64)
    return sizes


def _only(sizes: Ints, group: Mask | None) -> Ints:
    return sizes if group is None else sizes[group]
