"""Terms of one kind: chosen on training texts, counted and weighted in any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.lean.plain_rows import PlainRows, as_csr
from rmls.features.normalize import unit_rows
from rmls.features.text.scanning import Rows
from rmls.features.text.terms import CHARACTERS, PAIRS, WORDS, Terms
from rmls.features.text.vocabulary import Codes, CodeTable, Vocabulary
from rmls.kernels.backend import read_only
from rmls.kernels.cpu.text.terms import count_terms, weigh_rows
from rmls.kernels.cpu.text.words import number_words

Floats = NDArray[np.float32]
NO_NUMBERS: NDArray[np.int32] = np.zeros(0, np.int32)
# Against words; measured on held-out training rows (docs/text.md).
KIND_WEIGHTS = {WORDS: 1.0, PAIRS: 0.4, CHARACTERS: 0.5}


@dataclass(frozen=True)
class TermBlock:
    """Columns of one kind of terms.

    Attributes
    ----------
    vocabulary : Vocabulary or None
        None where columns are chosen by the hash.
    idf : ndarray of float32, shape (n_columns,)
        Weight of every column: ``log((1 + n) / (1 + rows with the term)) + 1``.
    """

    vocabulary: Vocabulary | None
    idf: Floats

    def transform(self, terms: Terms) -> PlainRows:
        """Return tf-idf rows of length 1."""
        return self.weigh(count_columns(terms, self.vocabulary, len(self.idf)))

    def weigh(self, rows: Rows) -> PlainRows:
        """Return tf-idf rows of length 1 from counts, in their arrays."""
        return self.weigh_and_tell(rows)[0]

    def weigh_and_tell(self, rows: Rows) -> tuple[PlainRows, Floats]:
        """Return the same, and what every row was multiplied by: 0 where it is empty."""
        indptr, indices, counts = rows
        scales = weigh_rows(indptr, indices, counts, read_only(self.idf))
        return PlainRows(counts, indices, indptr, len(self.idf)), scales


@dataclass(frozen=True)
class Chosen:
    """A block, and the column of every term that was counted; -1 where it was not kept."""

    block: TermBlock
    place: NDArray[np.int32] | None

    def take(self, rows: Rows) -> PlainRows:
        """Return tf-idf rows of length 1 from the counts of all terms."""
        if self.place is None:
            return self.block.weigh(rows)
        indptr, indices, counts = rows
        columns = self.place[indices]
        kept = columns >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[indptr]
        return self.block.weigh((ends, columns[kept], counts[kept]))


def choose_block(
    vocabulary: Vocabulary | None,
    counted: Iterable[Rows],
    size: int,
    limits: tuple[int, int | None],
    wanted: NDArray[np.int32] = NO_NUMBERS,
) -> Chosen:
    """Choose the terms of one kind by the rows they stand in.

    Parameters
    ----------
    vocabulary : Vocabulary or None
        All terms; None where columns are chosen by the hash.
    counted : iterable of CSR arrays
        How often every term stands in every row, in blocks of rows.
    size : int
        Number of terms, or of hashed columns.
    limits : tuple
        Fewest rows of a term, most terms.
    wanted : ndarray of int32
        Terms that are kept whatever the limits are.
    """
    rows_with, n_rows = np.zeros(size, np.int64), 0
    for indptr, indices, _ in counted:
        rows_with += np.bincount(indices, minlength=size)
        n_rows += len(indptr) - 1
    place = None
    if vocabulary is not None:
        kept = choose_columns(rows_with, *limits)
        if len(wanted):
            kept = np.union1d(kept, wanted)
        if len(kept) < size:
            place = np.full(size, -1, np.int32)
            place[kept] = np.arange(len(kept))
            rows_with, vocabulary = rows_with[kept], vocabulary.keep(kept)
    return Chosen(TermBlock(vocabulary, rarity(n_rows, rows_with)), place)


def rarity(n_rows: int, rows_with: NDArray[np.int64]) -> Floats:
    """Return the weights of terms that stand in so many of the rows."""
    return (np.log((1 + n_rows) / (1 + rows_with)) + 1).astype(np.float32)


def count_columns(terms: Terms, vocabulary: CodeTable | None, n_columns: int) -> Rows:
    """Return how often every term stands in every row, as the arrays of a CSR matrix."""
    numbers, first = number_words(terms.codes)
    columns = _find_columns(terms.codes[first], vocabulary, n_columns)
    rows: Rows = count_terms(terms.rows, terms.starts, numbers, columns)
    return rows


def _find_columns(codes: Codes, vocabulary: CodeTable | None, n_columns: int) -> NDArray[np.int32]:
    if vocabulary is None:
        return (codes % np.uint64(n_columns)).astype(np.int32)
    return vocabulary.find(codes)


def choose_columns(
    counts: NDArray[np.int64], min_rows: int, max_columns: int | None
) -> NDArray[np.int64]:
    """Return the terms that occur in enough rows, the most frequent of them if they are too many.

    Examples
    --------
    >>> choose_columns(np.array([3, 1, 2, 2]), 2, 2).tolist()
    [0, 2]
    """
    kept = np.flatnonzero(counts >= min_rows)
    if max_columns is None or len(kept) <= max_columns:
        return kept
    # Stable: of equally frequent ones those that came first.
    order = np.argsort(-counts[kept], kind="stable")[:max_columns]
    return np.sort(kept[order])


def stack_rows(parts: list[Any], n_columns: int) -> Any:
    """Return blocks of rows as one matrix; the list is emptied on the way, to save memory."""
    if len(parts) == 1:
        return parts.pop()
    ends = [np.zeros(1, np.int64)]
    for part in parts:
        ends.append(part.indptr[1:] + ends[-1][-1])
    values, columns = [part.data for part in parts], [part.indices for part in parts]
    parts.clear()
    data = np.concatenate([np.zeros(0, np.float32), *values])
    values.clear()
    indices = np.concatenate([np.zeros(0, np.int32), *columns])
    columns.clear()
    indptr = np.concatenate(ends)
    return sparse.csr_matrix((data, indices, indptr), (len(indptr) - 1, n_columns))


def join_kinds(parts: dict[str, PlainRows]) -> Any:
    """Return the columns of all kinds beside each other, in rows of length 1; scales the parts."""
    if len(parts) == 1:
        return parts[WORDS]
    # Rows of every kind have length 1, so that the weights alone say what a kind counts.
    for kind, part in parts.items():
        np.multiply(part.data, np.float32(KIND_WEIGHTS[kind]), out=part.data)
    return unit_rows(sparse.hstack([as_csr(part) for part in parts.values()], format="csr"))


def spell_terms(blocks: Mapping[str, TermBlock]) -> list[str]:
    """Return the term of every column; sequences of characters stand between bars."""
    names: list[str] = []
    for kind, block in blocks.items():
        if block.vocabulary is None:
            names.extend(f"#{kind} {number}" for number in range(len(block.idf)))
        elif kind == CHARACTERS:
            names.extend(f"|{name}|" for name in block.vocabulary.names)
        else:
            names.extend(block.vocabulary.names)
    return names
