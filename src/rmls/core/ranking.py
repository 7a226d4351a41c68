"""`Ranking`: the one type in which scores travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.sparse import check_sparse

# What a printed ranking shows; the rest is counted.
SHOWN_ROWS, SHOWN_LABELS = 5, 5


class RankedLabel(NamedTuple):
    """One label of a row: its name (its number where there are no names) and what it got.

    Attributes
    ----------
    label : str or int
    score : float
        What the order is by.
    probability : float or None
        None where the model gives no probabilities.
    """

    label: Any
    score: float
    probability: float | None


@dataclass(frozen=True, repr=False)
class Ranking:
    """The best labels of every row, best first, with their scores.

    Row ``i`` owns the slice ``indptr[i]:indptr[i + 1]`` of `labels` and `scores`, as in a CSR
    matrix; within a row scores never increase. Rows may differ in length.

    ``ranking[i]`` is row ``i`` as a list of `RankedLabel`, ``ranking[i:j]`` the ranking of some
    rows, and iterating goes row by row.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_samples + 1,)
    labels : ndarray of int32, shape (nnz,)
    scores : ndarray of float32, shape (nnz,)
        The order of a row is that of its scores.
    n_labels : int
    rest : ndarray of float32, shape (n_samples,), or None
        Sum of the probabilities of the labels that are not listed (of their scores, where those
        are the probabilities): with it the expected number of labels of a row is known.
    probabilities : ndarray of float32, shape (nnz,), or None
        Of the same entries. They need not fall with the scores: a calibration treats every label
        in its own way, and `RMLSRanker` ranks rare labels higher than their probability would.
    names : sequence or None
        Name of every label.

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], k=2)
    >>> ranking.labels.tolist()
    [1, 2, 0, 1]
    >>> ranking.top(1).to_sets().toarray().tolist()
    [[0, 1, 0], [1, 0, 0]]
    >>> named = ranking.described(names=["law", "tax", "toll"])
    >>> named.to_lists()
    [['tax', 'toll'], ['law', 'tax']]
    >>> named[0][0].label
    'tax'
    >>> named
    Ranking of 2 rows, 3 labels
    0: tax 0.9, toll 0.5
    1: law 0.3, tax 0.2
    """

    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    scores: NDArray[np.float32]
    n_labels: int
    rest: NDArray[np.float32] | None = None
    probabilities: NDArray[np.float32] | None = None
    names: Sequence[Any] | None = None

    @classmethod
    def from_table(
        cls, labels: NDArray[np.int32], scores: NDArray[np.float32], n_labels: int
    ) -> Ranking:
        """Wrap two (n_samples, k) tables that are already sorted best first."""
        n_samples, k = labels.shape
        indptr = np.arange(0, n_samples * k + 1, max(k, 1), dtype=np.int64)
        # The step of arange cannot be 0.
        if k == 0:
            indptr = np.zeros(n_samples + 1, dtype=np.int64)
        return cls(indptr, labels.ravel(), scores.ravel(), n_labels)

    @classmethod
    def from_dense(cls, scores: ArrayLike, k: int | None = None) -> Ranking:
        """Sort a dense (n_samples, n_labels) score array; ties go to the lower label index."""
        dense = np.asarray(scores, dtype=np.float32)
        if dense.ndim != 2:
            raise InputError(f"scores must be 2-d (rows × labels); got {dense.ndim} dimension(s).")
        k = dense.shape[1] if k is None else min(k, dense.shape[1])
        # Stable: equal scores stay in the order of their labels.
        order = np.argsort(-dense, axis=1, kind="stable")[:, :k].astype(np.int32)
        return cls.from_table(order, np.take_along_axis(dense, order, axis=1), dense.shape[1])

    @classmethod
    def from_csr(cls, scores: Any) -> Ranking:
        """Sort the stored entries of a sparse score matrix from any library."""
        check_sparse(scores, "scores")
        matrix = sparse.csr_matrix(scores).astype(np.float32)
        matrix.sort_indices()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        # The last key counts first: by row, then by falling score, then by label.
        order = np.lexsort((matrix.indices, -matrix.data, rows))
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices[order].astype(np.int32),
            matrix.data[order],
            int(matrix.shape[1]),
        )

    @classmethod
    def stack(cls, pieces: Sequence[Ranking]) -> Ranking:
        """Put the rows of several rankings of the same labels below one another."""
        lengths = np.concatenate([[0], *(piece.lengths for piece in pieces)])
        return cls(
            np.cumsum(lengths).astype(np.int64),
            np.concatenate([piece.labels for piece in pieces]),
            np.concatenate([piece.scores for piece in pieces]),
            pieces[0].n_labels,
            _joined([piece.rest for piece in pieces]),
            _joined([piece.probabilities for piece in pieces]),
            pieces[0].names,
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of ranked labels of each row."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row index of every entry."""
        return np.repeat(np.arange(self.n_samples, dtype=np.int64), self.lengths)

    @property
    def positions(self) -> NDArray[np.int64]:
        """Zero-based rank of every entry within its row."""
        return np.arange(len(self.labels), dtype=np.int64) - np.repeat(
            self.indptr[:-1], self.lengths
        )

    def top(self, k: int) -> Ranking:
        """Keep at most the best ``k`` labels of every row."""
        return self.where(self.positions < k)

    def where(self, keep: NDArray[np.bool_]) -> Ranking:
        """Keep the entries marked in the boolean array ``keep``."""
        # kept[e] entries survive before entry e, so that kept[indptr] are the new bounds.
        kept = np.concatenate([[0], np.cumsum(keep)])
        rest = self.rest
        if rest is not None:
            # The probability of what is dropped goes to the rest: the expected size stays.
            dropped = np.bincount(self.rows, np.where(keep, 0, self.chances), self.n_samples)
            rest = (rest + dropped).astype(np.float32)
        return self._of_entries(kept[self.indptr].astype(np.int64), keep, rest)

    def take(self, rows: ArrayLike) -> Ranking:
        """Return the ranking of some rows, given by number, in that order."""
        chosen = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[chosen]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # An entry moves as far as the start of its row does.
        moved = np.repeat(self.indptr[:-1][chosen] - indptr[:-1], lengths)
        rest = None if self.rest is None else self.rest[chosen]
        return self._of_entries(indptr, moved + np.arange(len(moved)), rest)

    def described(
        self,
        probabilities: NDArray[np.float32] | None = None,
        names: Sequence[Any] | None = None,
    ) -> Ranking:
        """Return the ranking with probabilities of its entries and names of all labels."""
        for what, values, wanted in (
            ("probabilities", probabilities, len(self.labels)),
            ("names", names, self.n_labels),
        ):
            if values is not None and len(values) != wanted:
                raise InputError(f"{len(values)} {what} were given; the ranking needs {wanted}.")
        return Ranking(
            self.indptr,
            self.labels,
            self.scores,
            self.n_labels,
            self.rest,
            self.probabilities if probabilities is None else probabilities,
            self.names if names is None else names,
        )

    def _of_entries(self, indptr: NDArray[np.int64], chosen: NDArray[Any], rest: Any) -> Ranking:
        given = self.probabilities
        return Ranking(
            indptr,
            self.labels[chosen],
            self.scores[chosen],
            self.n_labels,
            rest,
            None if given is None else given[chosen],
            self.names,
        )

    @property
    def chances(self) -> NDArray[np.float32]:
        """The probabilities; the scores of a ranking that has no others."""
        return self.scores if self.probabilities is None else self.probabilities

    def to_csr(self, probabilities: bool = False) -> sparse.csr_matrix:
        """Return the scores, or the probabilities, as a CSR matrix with sorted indices."""
        if probabilities and self.probabilities is None:
            raise InputError("the ranking has no probabilities; rank with a calibrated model.")
        values = self.chances if probabilities else self.scores
        # Sorting works in place: without copies it would undo the ranking.
        matrix = sparse.csr_matrix(
            (values.copy(), self.labels.copy(), self.indptr), shape=(self.n_samples, self.n_labels)
        )
        matrix.sort_indices()
        return matrix

    def to_sets(self) -> sparse.csr_matrix:
        """Return the ranked labels as a 0/1 CSR matrix, forgetting the scores."""
        sets = sparse.csr_matrix(
            (np.ones(len(self.labels), dtype=np.int32), self.labels.copy(), self.indptr),
            shape=(self.n_samples, self.n_labels),
        )
        sets.sort_indices()
        return sets

    def __len__(self) -> int:
        return self.n_samples

    # -- reading ---------------------------------------------------------------------------------

    def to_lists(self) -> list[list[Any]]:
        """Return the labels of every row by name, best first; numbers where there are no names."""
        labels = self._named(self.labels)
        bounds = self.indptr.tolist()
        return [labels[start:stop] for start, stop in pairwise(bounds)]

    @overload
    def __getitem__(self, row: int) -> list[RankedLabel]: ...
    @overload
    def __getitem__(self, row: slice) -> Ranking: ...
    def __getitem__(self, row: int | slice) -> list[RankedLabel] | Ranking:
        if isinstance(row, slice):
            return self.take(np.arange(self.n_samples)[row])
        number = index(row)
        if not -self.n_samples <= number < self.n_samples:
            raise IndexError(f"row {number} of a ranking of {self.n_samples} rows")
        number %= self.n_samples
        span = slice(*self.indptr[number : number + 2].tolist())
        scores = self.scores[span].tolist()
        given = self.probabilities
        chances = [None] * len(scores) if given is None else given[span].tolist()
        return list(map(RankedLabel, self._named(self.labels[span]), scores, chances))

    def __iter__(self) -> Iterator[list[RankedLabel]]:
        return (self[row] for row in range(self.n_samples))

    def __repr__(self) -> str:
        lines = [f"Ranking of {self.n_samples:,} rows, {self.n_labels:,} labels"]
        if self.probabilities is not None:
            lines[0] += "; probabilities in brackets"
        for row, found in enumerate(self[:SHOWN_ROWS]):
            shown = ", ".join(map(_shown, found[:SHOWN_LABELS])) or "-"
            more = len(found) - SHOWN_LABELS
            lines.append(f"{row}: {shown}" + (f" and {more:,} more" if more > 0 else ""))
        if self.n_samples > SHOWN_ROWS:
            lines.append(f"and {self.n_samples - SHOWN_ROWS:,} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from rmls.core.show.labels import ranking_html

        return ranking_html(self)

    def _named(self, labels: NDArray[np.int32]) -> list[Any]:
        names = self.names
        numbers: list[Any] = labels.tolist()
        if names is None:
            return numbers
        if isinstance(names, np.ndarray):
            named: list[Any] = names[labels].tolist()
            return named
        return [names[number] for number in numbers]


def _joined(parts: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32] | None:
    """Put arrays behind one another; None where one is missing."""
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if len(given) == len(parts) else None


def _shown(entry: RankedLabel) -> str:
    chance = "" if entry.probability is None else f" ({entry.probability:.3g})"
    return f"{entry.label} {entry.score:.3g}{chance}"
