"""Rows of text as counts of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.features.text.characters import character_classes, encode_pieces, plain
from rmls.features.text.vocabulary import Codes, Numbers, Places
from rmls.kernels.cpu.text.terms import count_words
from rmls.kernels.cpu.text.words import find_words, gather_words, number_words, pair_words

# Small enough that the arrays of a block stay in the cache, large enough to spread over threads.
BLOCK_PIECES = 1000
BLOCK_CHARACTERS = 1_000_000

# indptr, indices and counts of a CSR matrix.
Rows = tuple[NDArray[np.int64], Numbers, NDArray[np.float32]]


@dataclass(frozen=True)
class Pairs:
    """The pairs of neighbouring words of some rows.

    Attributes
    ----------
    rows : tuple of ndarray
        How often every distinct pair stands in every row, as a CSR matrix.
    both : ndarray of int32, shape (n_pairs, 2)
        The two words of every distinct pair.
    """

    rows: Rows
    both: Numbers


@dataclass(frozen=True)
class Scan:
    """The words of some rows; the text itself is let go.

    Attributes
    ----------
    rows : tuple of ndarray
        How often every distinct word stands in every row, as a CSR matrix.
    codes : ndarray of uint64
        Hash of every distinct word, in the order of their first appearance.
    text, bounds : ndarray
        UTF-8 bytes of the distinct words, and where each begins and ends.
    pairs : Pairs or None
    """

    rows: Rows
    codes: Codes
    text: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    pairs: Pairs | None = None

    def __len__(self) -> int:
        return len(self.rows[0]) - 1

    def spell(self, places: Places) -> list[str]:
        """Return some of the distinct words."""
        content = self.text.tobytes()
        begins, ends = self.bounds[places].tolist(), self.bounds[places + 1].tolist()
        return [content[i:j].decode() for i, j in zip(begins, ends, strict=True)]

    def take(self, rows: NDArray[np.bool_]) -> Scan:
        """Return the words of some of the rows, as if they alone had been scanned."""
        found, used = take_rows(self.rows, rows)
        words, bounds = gather_words(
            self.text, np.stack([self.bounds[used], self.bounds[used + 1]], axis=1)
        )
        pairs = None
        if self.pairs is not None:
            number = np.zeros(len(self.codes), np.int32)
            number[used] = np.arange(len(used))
            of_pairs, kept = take_rows(self.pairs.rows, rows)
            pairs = Pairs(of_pairs, number[self.pairs.both[kept]])
        return Scan(found, self.codes[used], words, bounds, pairs)


class ScannedTexts:
    """Texts that were read some at a time, of which only the counts of their words are kept.

    They are used up by what is made of them, so that memory does not hold them twice.

    Attributes
    ----------
    fields : tuple of str or None
    n_fields : int
    columns : list of ColumnScan
        The columns beside the texts, where there are any.
    vectors : list of ndarray
        The vectors of the rows, where they have some.
    """

    def __init__(
        self,
        scans: list[Scan],
        fields: tuple[str, ...] | None,
        n_fields: int,
        columns: Sequence[Any] = (),
        vectors: Sequence[NDArray[np.float32]] = (),
    ) -> None:
        self.fields, self.n_fields, self.columns = fields, n_fields, list(columns)
        self.vectors = list(vectors)
        self._scans: list[Scan] | None = scans

    def __len__(self) -> int:
        return sum(map(len, self._scans or []))

    @property
    def scans(self) -> list[Scan]:
        """The scans, which stay."""
        if self._scans is None:
            raise InputError("these texts were used up; scan them again.")
        return self._scans

    def use_up(self) -> list[Scan]:
        """Return the scans and let go of them."""
        scans, self._scans = self.scans, None
        return scans

    def divide(self, rows: NDArray[np.bool_]) -> tuple[ScannedTexts, ScannedTexts]:
        """Return the rows that are marked, and the others."""
        texts = _divide(self.use_up(), rows)
        columns, vectors = _divide(self.columns, rows), _divide(self.vectors, rows)
        first, second = (
            ScannedTexts(part, self.fields, self.n_fields, *beside)
            for part, *beside in zip(texts, columns, vectors, strict=True)
        )
        return first, second


def _divide(scans: list[Any], rows: NDArray[np.bool_]) -> tuple[list[Any], list[Any]]:
    """Return scans of the rows that are marked and of the others; the list is emptied."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    scans.reverse()
    start = 0
    while scans:
        scan = scans.pop()
        marked = rows[start : start + len(scan)]
        start += len(marked)
        for part, chosen in zip(parts, (marked, ~marked), strict=True):
            if chosen.any():
                taken = scan[chosen] if isinstance(scan, np.ndarray) else scan.take(chosen)
                part.append(taken)
    return parts


def take_rows(rows: Rows, kept: NDArray[np.bool_]) -> tuple[Rows, Places]:
    """Return some rows, their words numbered anew, and the old numbers in the new order."""
    indptr, indices, counts = rows
    lengths = np.diff(indptr)
    entries = np.repeat(kept, lengths)
    used, first, number = np.unique(indices[entries], return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    ends = np.concatenate([[0], np.cumsum(lengths[kept])])
    return (ends, place[number], counts[entries]), used[order].astype(np.int64)


def scan_rows(pieces: Sequence[str], field_weights: NDArray[np.float32], pairs: bool) -> Scan:
    """Return the words of a few rows, one piece of text for every field of every row."""
    text, bounds = encode_pieces([plain(piece) for piece in pieces])
    codes, places, ends = find_words(text, bounds, character_classes(text))
    tokens, first = number_words(codes)
    rows = count_words(tokens, ends, field_weights, len(first))
    # Copies: what is cut out of the arrays of all words would keep them alive.
    distinct = codes[first]
    words, word_bounds = gather_words(text, places[first])
    found = _scan_pairs(tokens, ends, distinct, field_weights) if pairs else None
    return Scan(rows, distinct, words, word_bounds, found)


def _scan_pairs(
    tokens: Numbers, ends: Places, codes: Codes, field_weights: NDArray[np.float32]
) -> Pairs:
    pairs, places, pair_ends = pair_words(tokens, ends, codes)
    numbers, first = number_words(pairs)
    left = places[first]
    rows = count_words(numbers, pair_ends, field_weights, len(first))
    return Pairs(rows, np.stack([tokens[left], tokens[left + 1]], axis=1))


def scan_names(names: Sequence[str]) -> list[Scan]:
    """Return the words of names, which are one field whatever the fields of texts are."""
    one = np.ones(1, np.float32)
    return [scan_rows(part, one, pairs=False) for part in cut_pieces(list(names), 1)]


def cut_pieces(pieces: Sequence[str], n_fields: int) -> list[Sequence[str]]:
    """Return pieces of text in blocks of whole rows that are neither long nor many.

    Examples
    --------
    >>> [len(block) for block in cut_pieces(["a"] * 2500, 1)]
    [1000, 1000, 500]
    """
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)[n_fields - 1 :: n_fields]
    rows_at_once = max(1, BLOCK_PIECES // n_fields)
    blocks, start = [], 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        full = int(np.searchsorted(ends, before + BLOCK_CHARACTERS, side="right"))
        stop = min(max(full, start + 1), start + rows_at_once, len(ends))
        blocks.append(pieces[start * n_fields : stop * n_fields])
        start = stop
    return blocks
