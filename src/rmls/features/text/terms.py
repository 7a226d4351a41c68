"""Kinds of terms: the words, pairs and character sequences that a text is described by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rmls.features.text.characters import encode_pieces
from rmls.features.text.scanning import Rows, Scan
from rmls.features.text.stem_table import StemTable
from rmls.features.text.vocabulary import Codes, CodeTable, Places, Vocabulary
from rmls.kernels.cpu.text.words import number_words, pad_words, pair_codes, word_parts

WORDS, PAIRS, CHARACTERS = "words", "pairs", "characters"


class Terms(NamedTuple):
    """The terms of a scan.

    Attributes
    ----------
    rows : tuple of ndarray
        Words, or pairs of them, of every row, as in a `Scan`.
    starts : ndarray of int64
        Word ``w`` stands for the terms ``codes[starts[w]:starts[w + 1]]``.
    codes : ndarray of uint64
    """

    rows: Rows
    starts: Places
    codes: Codes


def word_terms(scan: Scan, table: StemTable) -> Terms:
    """Return the stem of every word."""
    codes = table.codes_of(scan)
    return Terms(scan.rows, np.arange(len(codes) + 1), codes)


def pair_terms(scan: Scan, table: StemTable) -> Terms:
    """Return the pairs of neighbouring stems."""
    if scan.pairs is None:
        raise ValueError("the pairs of this scan were not counted")
    stems = table.codes_of(scan)
    codes = pair_codes(stems[scan.pairs.both[:, 0]], stems[scan.pairs.both[:, 1]])
    return Terms(scan.pairs.rows, np.arange(len(codes) + 1), codes)


def character_terms(scan: Scan, shortest: int, longest: int) -> Terms:
    """Return the character sequences of every word, its ends marked by spaces."""
    text, bounds = pad_words(scan.text, scan.bounds)
    codes, _, starts = word_parts(text, bounds, shortest, longest)
    return Terms(scan.rows, starts, codes)


def gather_pairs(scans: Sequence[Scan], table: StemTable) -> Vocabulary:
    """Return all pairs of stems in texts that the table was learned from.

    Most pairs occur once and may not be kept: what is noted of each are the numbers of its stems.
    """
    known = CodeTable()
    noted = [np.zeros((0, 2), np.int32)]
    for scan in scans:
        _, new = known.add(pair_terms(scan, table).codes)
        if scan.pairs is not None:
            noted.append(table.stems_of(scan)[scan.pairs.both[new]])
    both, names = np.concatenate(noted), table.stems.names

    def spell(places: Places) -> list[str]:
        return [f"{names[left]} {names[right]}" for left, right in both[places].tolist()]

    return Vocabulary.spelled_late(known.codes, spell)


def gather_characters(table: StemTable, shortest: int, longest: int) -> Vocabulary:
    """Return all character sequences of the words of a table."""
    text, bounds = pad_words(*encode_pieces(table.words.names))
    codes, places, _ = word_parts(text, bounds, shortest, longest)
    _, first = number_words(codes)
    codes, places, content = codes[first], places[first], text.tobytes()

    def spell(some: Places) -> list[str]:
        return [content[begin:end].decode() for begin, end in places[some].tolist()]

    return Vocabulary.spelled_late(codes, spell)


def gather_terms(
    kind: str, scans: Sequence[Scan], stems: StemTable, lengths: tuple[int, int] | None
) -> Vocabulary:
    """Return all terms of a kind in texts that the table was learned from."""
    if kind == PAIRS:
        return gather_pairs(scans, stems)
    if kind == CHARACTERS and lengths is not None:
        return gather_characters(stems, *lengths)
    return stems.stems


def find_kinds(
    stems: StemTable, pairs: bool, lengths: tuple[int, int] | None
) -> dict[str, Callable[[Scan], Terms]]:
    """Return how every kind of terms is found in a scan."""
    kinds: dict[str, Callable[[Scan], Terms]] = {WORDS: lambda scan: word_terms(scan, stems)}
    if pairs:
        kinds[PAIRS] = lambda scan: pair_terms(scan, stems)
    if lengths is not None:
        kinds[CHARACTERS] = lambda scan: character_terms(scan, *lengths)
    return kinds
