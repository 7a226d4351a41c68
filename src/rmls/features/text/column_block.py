"""Features from categories and numbers: chosen on training rows, made of any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.features.text.columns import ColumnRoles, ColumnScan
from rmls.features.text.scanning import Scan
from rmls.features.text.term_block import choose_columns
from rmls.features.text.vocabulary import CodeTable, Vocabulary

# A number is told by its place between so many others; few enough to have rows around each.
N_KNOTS = 16

Knots = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnBlock:
    """Features of the columns beside the texts.

    A category is a feature of its own. A number lies between two of some values that stand for
    their column, the knots, and is shared by the features of the two: its encoding is continuous.

    Attributes
    ----------
    roles : ColumnRoles
    vocabulary : Vocabulary or None
        The terms ``column=category``; None where their features are chosen by a hash.
    n_categories : int
        Number of features of categories.
    knots : tuple of ndarray of float64
        Of every column of numbers, rising.
    weight : float
        Length of the features of one column, against 1 of the words of a row.
    """

    roles: ColumnRoles
    vocabulary: Vocabulary | None
    n_categories: int
    knots: tuple[Knots, ...]
    weight: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.n_categories + sum(map(len, self.knots))

    @property
    def names(self) -> list[str]:
        """What the features are called."""
        if self.vocabulary is None:
            names = [f"#categories {number}" for number in range(self.n_categories)]
        else:
            names = list(self.vocabulary.names)
        for column, knots in zip(self.roles.numbers, self.knots, strict=True):
            names.extend(f"{column}~{knot:g}" for knot in knots.tolist())
        return names

    def transform(self, scan: ColumnScan) -> sparse.csr_matrix:
        """Return the features of rows; categories that were not learned do not count."""
        parts = [self._place_categories(scan.categories)]
        parts += [
            place_numbers(scan.numbers[:, number], knots) for number, knots in enumerate(self.knots)
        ]
        found: sparse.csr_matrix = sparse.hstack(parts, format="csr", dtype=np.float32)
        found.data *= np.float32(self.weight)
        return found

    def _place_categories(self, scan: Scan) -> sparse.csr_matrix:
        if self.vocabulary is None:
            place = (scan.codes % np.uint64(max(self.n_categories, 1))).astype(np.int32)
        else:
            place = self.vocabulary.find(scan.codes)
        indptr, indices, counts = scan.rows
        columns = place[indices]
        known = columns >= 0
        ends = np.concatenate([[0], np.cumsum(known)])[indptr]
        shape = (len(indptr) - 1, self.n_categories)
        found = sparse.csr_matrix((counts[known], columns[known], ends), shape)
        found.sum_duplicates()
        return found

    def beside(
        self,
        rows: sparse.csr_matrix,
        scans: Sequence[ColumnScan],
        late: Sequence[sparse.csr_matrix] = (),
    ) -> sparse.csr_matrix:
        """Return the rows of texts with these features behind them, of length 1 again.

        The texts are scaled in their arrays. Late terms stand behind the features, scaled alike.
        """
        if sum(map(len, scans)) != rows.shape[0]:
            raise InputError("these texts were scanned without the columns; scan them again.")
        none = sparse.csr_matrix(np.zeros((0, self.n_features), np.float32))
        own = sparse.vstack([none, *map(self.transform, scans)], format="csr")
        # Rows of texts have length 1, or no word.
        squares = (np.diff(rows.indptr) > 0) + np.asarray(own.multiply(own).sum(axis=1)).ravel()
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        for part in (rows, own, *late):
            part.data *= np.repeat(scale, np.diff(part.indptr)).astype(np.float32)
        joined: sparse.csr_matrix = sparse.hstack(
            [rows, own, *late], format="csr", dtype=np.float32
        )
        return joined


def learn_columns(
    scans: Sequence[ColumnScan],
    roles: ColumnRoles,
    limits: tuple[int, int | None],
    hashing: int | None,
    weight: float,
) -> ColumnBlock:
    """Choose the features of training rows.

    Parameters
    ----------
    scans : sequence of ColumnScan
    roles : ColumnRoles
    limits : tuple
        Fewest rows of a category, most categories.
    hashing : int or None
        Number of features that categories are spread over by a hash.
    weight : float
    """
    knots = []
    for number, column in enumerate(roles.numbers):
        values = np.concatenate([np.zeros(0), *(scan.numbers[:, number] for scan in scans)])
        values = values[~np.isnan(values)]
        if not len(values):
            raise InputError(f"the column {column!r} of numbers holds no number.")
        knots.append(choose_knots(values))
    if hashing is not None:
        size = hashing if roles.categories else 0
        return ColumnBlock(roles, None, size, tuple(knots), weight)
    vocabulary = _gather([scan.categories for scan in scans], limits)
    return ColumnBlock(roles, vocabulary, len(vocabulary), tuple(knots), weight)


def _gather(scans: Sequence[Scan], limits: tuple[int, int | None]) -> Vocabulary:
    """Return the categories that stand in enough rows; only those are spelled."""
    known, noted = CodeTable(), [np.zeros((0, 2), np.int64)]
    numbers = []
    for place, scan in enumerate(scans):
        number, new = known.add(scan.codes)
        noted.append(np.stack([np.full(len(new), place), new], axis=1))
        numbers.append(number)
    counts = np.zeros(len(known), np.int64)
    for scan, number in zip(scans, numbers, strict=True):
        counts[number] += np.bincount(scan.rows[1], minlength=len(number))
    kept = choose_columns(counts, *limits)
    names, first = list[str](), np.concatenate(noted)[kept]
    for place, scan in enumerate(scans):
        names.extend(scan.spell(first[first[:, 0] == place, 1]))
    return Vocabulary(names, known.codes[kept])


def choose_knots(values: NDArray[np.float64], n_knots: int = N_KNOTS) -> Knots:
    """Return values that divide others into parts of about the same size, all if they are few.

    Examples
    --------
    >>> choose_knots(np.array([2.0, 1, 2, 5])).tolist()
    [1.0, 2.0, 5.0]
    >>> choose_knots(np.arange(1000.0), 4).tolist()
    [124.0, 374.0, 624.0, 874.0]
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= n_knots:
        return np.asarray(distinct)
    # A value that fills many parts (most prices are 0) would leave one knot for all the others.
    ends = np.cumsum(np.minimum(counts, -(-len(values) // n_knots)))
    # The middles of the parts: the largest and the smallest value may lie far off.
    middles = (np.arange(n_knots) + 0.5) / n_knots * ends[-1]
    knots: Knots = distinct[np.unique(np.searchsorted(ends, middles))]
    return knots


def place_numbers(values: NDArray[np.float64], knots: Knots) -> sparse.csr_matrix:
    """Return numbers as their nearness to the two knots around them, in rows of length 1.

    Examples
    --------
    >>> found = place_numbers(np.array([2.0, np.nan, 9]), np.array([1.0, 3, 5]))
    >>> found.power(2).toarray().round(3).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = np.flatnonzero(~np.isnan(values))
    inside = np.clip(values[rows], knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, max(len(knots) - 2, 0))
    right = np.minimum(left + 1, len(knots) - 1)
    # Halves: the difference of two large numbers may be infinite.
    gap = knots[right] / 2 - knots[left] / 2
    share = np.where(gap > 0, (inside / 2 - knots[left] / 2) / np.where(gap > 0, gap, 1), 0.0)
    lengths = np.hypot(1 - share, share)
    data = np.concatenate([(1 - share) / lengths, share / lengths]).astype(np.float32)
    both = (np.concatenate([rows, rows]), np.concatenate([left, right]))
    found = sparse.csr_matrix((data, both), (len(values), len(knots)))
    found.eliminate_zeros()
    return found
