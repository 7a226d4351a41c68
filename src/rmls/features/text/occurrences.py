"""Where the words of a row stand in its texts, and which columns each of them counts in."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.features.text.characters import character_classes, encode_pieces, plain
from rmls.features.text.scanning import Scan
from rmls.features.text.stem_table import StemTable
from rmls.features.text.term_block import TermBlock
from rmls.features.text.terms import CHARACTERS, PAIRS, WORDS
from rmls.features.text.text_features import TextFeatures
from rmls.features.text.vocabulary import Codes, Places
from rmls.kernels.cpu.text.words import (
    find_words,
    gather_words,
    number_words,
    pad_words,
    pair_codes,
    pair_words,
    word_parts,
)

# Hangul vowels and finals join the letter before them, although they are no marks.
JOINING = range(0x1160, 0x1200)
NO_COUNTS: Any = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))


@dataclass(frozen=True)
class Occurrences:
    """The words of one row.

    Attributes
    ----------
    fields, starts, ends : ndarray of int64, shape (n_words,)
        The field of every word, and the characters between which it stands there.
    words, columns, counts : ndarray, shape (n_entries,)
        A word, a column that it counts in, and how much.
    """

    fields: Places
    starts: Places
    ends: Places
    words: Places
    columns: Places
    counts: NDArray[np.float64]

    def share(self, columns: NDArray[Any], parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what every word has of the parts of columns, each shared by what counts in it.

        Parameters
        ----------
        columns : ndarray of int, sorted
        parts : ndarray of float64
        """
        place = np.searchsorted(columns, self.columns)
        known = place < len(columns)
        known[known] = columns[place[known]] == self.columns[known]
        place, words, counts = place[known], self.words[known], self.counts[known]
        totals = np.bincount(place, counts, minlength=len(columns))
        shared = parts[place] * counts / totals[place]
        return np.asarray(np.bincount(words, shared, len(self.starts)), np.float64)


def find_occurrences(features: TextFeatures, pieces: Sequence[str]) -> Occurrences:
    """Return where the words of a row stand.

    Parameters
    ----------
    features : TextFeatures
        Fitted.
    pieces : sequence of str
        The text of every field.

    Examples
    --------
    >>> features = TextFeatures(stem="english").fit(["taxes on sugar"])
    >>> found = find_occurrences(features, ["Sugar, a TAX on sugar"])
    >>> found.starts[found.words].tolist(), found.columns.tolist()
    ([0, 9, 13, 16], [2, 0, 1, 2])
    """
    text, bounds = encode_pieces([plain(piece) for piece in pieces])
    codes, places, ends = find_words(text, bounds, character_classes(text))
    tokens, first = number_words(codes)
    scan = Scan(NO_COUNTS, codes[first], *gather_words(text, places[first]))
    fields = np.searchsorted(ends, np.arange(len(tokens)), side="right") - 1
    starts, stops = np.zeros((2, len(tokens)), np.int64)
    for field, piece in enumerate(pieces):
        own = slice(*ends[field : field + 2].tolist())
        begins, closes = character_places(piece)
        starts[own] = begins[places[own, 0] - bounds[field]]
        stops[own] = closes[places[own, 1] - bounds[field] - 1]
    weights = features._read_weights(features.n_fields_).astype(np.float64)[fields]
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    offset = 0
    late = features._late
    stems = features._stems if late is None else late.stems
    for kind, block in features._blocks.items():
        for words, terms, count in _terms(features, stems, kind, scan, tokens, ends):
            columns = _columns(terms, block)
            places = np.where(columns >= 0, columns + offset, -1)
            if late is not None:
                added = _columns(terms, late.blocks[kind].terms)
                first = features.n_terms_ - late.n_terms
                taken = added >= 0
                places[taken] = late.columns[kind][added[taken]] + first
            known = places >= 0
            found.append((words[known], places[known], count * weights[words[known]]))
        offset += len(block.idf)
    joined = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return Occurrences(fields, starts, stops, *joined)


def _terms(
    features: TextFeatures,
    stem_table: StemTable,
    kind: str,
    scan: Scan,
    tokens: NDArray[np.int32],
    ends: Places,
) -> Iterator[tuple[Places, Codes, float]]:
    """Yield words, a term of each, and what the word counts in it."""
    every = np.arange(len(tokens))
    if kind == WORDS:
        yield every, stem_table.codes_of(scan)[tokens], 1.0
    elif kind == PAIRS:
        stems = stem_table.codes_of(scan)
        _, left, _ = pair_words(tokens, ends, scan.codes)
        codes = pair_codes(stems[tokens[left]], stems[tokens[left + 1]])
        for words in (left, left + 1):
            # A pair belongs to both of its words.
            yield words, codes, 0.5
    elif kind == CHARACTERS:
        shortest, longest = features._sequence_lengths() or (1, 1)
        text, bounds = pad_words(scan.text, scan.bounds)
        codes, _, starts = word_parts(text, bounds, shortest, longest)
        sizes = np.diff(starts)[tokens]
        shift = np.repeat(starts[:-1][tokens] - np.cumsum(sizes) + sizes, sizes)
        yield np.repeat(every, sizes), codes[np.arange(len(shift)) + shift], 1.0


def _columns(codes: Codes, block: TermBlock) -> Places:
    if block.vocabulary is None:
        return (codes % np.uint64(len(block.idf))).astype(np.int64)
    return block.vocabulary.find(codes).astype(np.int64)


def character_places(text: str) -> tuple[Places, Places]:
    """Return where in a text every byte of its plain form comes from: first character, and end.

    Examples
    --------
    >>> [places.tolist() for places in character_places("aﬁ!")]
    [[0, 1, 1, 2], [1, 2, 2, 3]]
    """
    if text.isascii():
        begins = np.arange(len(text), dtype=np.int64)
        return begins, begins + 1
    size = len(plain(text).encode("utf-8", "replace"))
    for groups in (_letters(text), _between_blanks(text)):
        bounds = np.array([0, *groups, len(text)], np.int64)
        sizes = [_plain_size(text[i:j]) for i, j in pairwise(bounds.tolist())]
        # Some letters join in ways that are not known here; then all between two blanks is one.
        if sum(sizes) == size:
            return np.repeat(bounds[:-1], sizes), np.repeat(bounds[1:], sizes)
    return np.zeros(size, np.int64), np.full(size, len(text), np.int64)


def _plain_size(text: str) -> int:
    return len(text) if text.isascii() else len(plain(text).encode("utf-8", "replace"))


def _letters(text: str) -> list[int]:
    """Return where letters begin; marks belong to the letter before them."""
    return [
        place
        for place, letter in enumerate(text[1:], 1)
        if letter < "\x80" or not (unicodedata.combining(letter) or ord(letter) in JOINING)
    ]


def _between_blanks(text: str) -> list[int]:
    return [
        place for place in range(1, len(text)) if text[place].isspace() or text[place - 1].isspace()
    ]


def name_columns(features: TextFeatures, columns: NDArray[Any]) -> list[str]:
    """Return what some columns are called, as `TextFeatures.get_feature_names_out` does of all.

    Examples
    --------
    >>> features = TextFeatures(stem="none", characters=(3, 3)).fit(["a tax"])
    >>> name_columns(features, np.array([1, 3]))
    ['tax', '| ta|']
    """
    return [_name_column(features, column) for column in columns.tolist()]


def _name_column(features: TextFeatures, column: int) -> str:
    for kind, block in features._blocks.items():
        if column < len(block.idf):
            if block.vocabulary is None:
                return f"#{kind} {column}"
            name = block.vocabulary.names[column]
            return f"|{name}|" if kind == CHARACTERS else name
        column -= len(block.idf)
    beside, late = features._columns, features._late
    n_beside = 0 if beside is None else beside.n_features
    if beside is None or column >= n_beside:
        column -= n_beside
        names = [] if late is None else late.names
        return names[column] if column < len(names) else f"#vector {column - len(names)}"
    if column < beside.n_categories and beside.vocabulary is not None:
        return beside.vocabulary.names[column]
    return beside.names[column]
