"""Terms of new texts and names that fitted features do not know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.options import check_whole
from rmls.core.resources import count_threads, run_parts
from rmls.features.text.inputs import read_again
from rmls.features.text.late_terms import LateBlock, LateTerms
from rmls.features.text.scanning import Scan, ScannedTexts, cut_pieces, scan_names, scan_rows
from rmls.features.text.stem_table import StemTable
from rmls.features.text.term_block import TermBlock, choose_columns, count_columns, rarity
from rmls.features.text.terms import PAIRS, WORDS, Terms
from rmls.features.text.text_features import TextFeatures
from rmls.features.text.vocabulary import CodeTable, Places, Vocabulary
from rmls.kernels.cpu.text.words import pad_words, word_parts

# Of weights in 32 bits no more digits can be told.
MOST_COUNTED = 1000


def take_up(features: TextFeatures, X: Any, names: Sequence[str], min_rows: int) -> int:
    """Add the unknown terms of texts and names to fitted features; return how many there are."""
    check_whole("min_rows", min_rows, 1)
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError("names must be a list of strings, such as the names of labels.")
    scans = [] if X is None else _scan(features, X)
    if features.hashing is not None:
        return 0
    late = features._late or _no_terms(features)
    kinds = features._kinds(late.stems)
    named = scan_names(names)
    n_rows, call = late.n_rows + sum(map(len, scans)), _last_call(late) + 1
    blocks, n_added = {}, 0
    for kind, terms_of in kinds.items():
        known = [features._blocks[kind].vocabulary, late.blocks[kind].terms.vocabulary]
        # As in the training, names give words alone.
        new = _gather(scans, named if kind == WORDS else [], terms_of, known)
        have = sum(len(each) for each in known if each is not None)
        kept = new.choose(min_rows, features.max_terms, have)
        spelled = _spell(kind, new, kept, late.stems, features._sequence_lengths())
        added = TermBlock(Vocabulary(spelled, new.codes[kept]), rarity(n_rows, new.rows[kept]))
        blocks[kind] = _extend(late.blocks[kind], added, call)
        n_added += len(kept)
    if n_added:
        words = blocks[WORDS].terms.vocabulary
        stems = _add_words(late.stems, words, [*named, *scans])
        features._late = LateTerms(n_rows, stems, blocks)
    return n_added


def _scan(features: TextFeatures, X: Any) -> list[Scan]:
    if isinstance(X, ScannedTexts):
        return X.scans
    n_fields = features.n_fields_
    # Of a table the fields alone are read: vectors give no terms.
    rows, _ = read_again(X, features.fields_, n_fields, features.column_roles_)
    weights, pairs = features._read_weights(n_fields), features.pairs

    def work(pieces: Sequence[str]) -> Scan:
        return scan_rows(pieces, weights, pairs)

    return run_parts(work, cut_pieces(rows.pieces, n_fields), count_threads(features.n_jobs))


def _no_terms(features: TextFeatures) -> LateTerms:
    learned = features._stems
    nothing = np.zeros(0, np.int32)
    stems = StemTable(
        learned.language, Vocabulary(), Vocabulary(), nothing, learned, learned.endings
    )
    n_rows = features._n_rows
    if n_rows is None:
        n_rows = count_rows([block.idf for block in features._blocks.values()])
    block = LateBlock(TermBlock(Vocabulary(), np.zeros(0, np.float32)), nothing)
    return LateTerms(n_rows, stems, dict.fromkeys(features._blocks, block))


def count_rows(weights: Sequence[NDArray[np.float32]]) -> int:
    """Return how many rows the weights of terms were learned from, which archives do not say.

    A weight is ``log((1 + n) / (1 + rows with the term)) + 1``. All ``1 + rows`` are whole numbers,
    and their ratios are known: the rarest term stands in the fewest rows that make them so.

    Examples
    --------
    >>> count_rows([rarity(500, np.array([1, 2, 3, 7, 90]))])
    500
    """
    shares = np.exp(np.unique(np.concatenate(weights)).astype(np.float64) - 1)
    if not len(shares):
        return 0
    ratios = shares[-1] / shares
    for rarest in range(1, MOST_COUNTED):
        wholes = np.append(ratios * rarest, shares[-1] * rarest)
        wholes = wholes[wholes < MOST_COUNTED]
        if (np.abs(wholes - np.rint(wholes)) < 0.01).all():
            return round(float(shares[-1]) * rarest) - 1
    return round(float(shares[-1]) * 2) - 1


def _last_call(late: LateTerms) -> int:
    return max(int(block.calls.max(initial=0)) for block in late.blocks.values())


class NewTerms(NamedTuple):
    """Unknown terms of one kind.

    Attributes
    ----------
    scans : sequence of Scan
        Where they were found: names first, then texts.
    codes : ndarray of uint64, shape (n_terms,)
    places : ndarray of int64, shape (n_terms, 2)
        The scan that every term was found in first, and its place there.
    rows : ndarray of int64, shape (n_terms,)
        Number of rows with it; names are no rows.
    n_wanted : int
        The first so many are those of names.
    """

    scans: Sequence[Scan]
    codes: NDArray[np.uint64]
    places: Places
    rows: Places
    n_wanted: int

    def choose(self, min_rows: int, max_terms: int | None, have: int) -> Places:
        """Return the terms to keep; names come before texts where there is no room for all."""
        room = len(self.codes) if max_terms is None else max(0, max_terms - have)
        wanted = np.arange(min(self.n_wanted, room))
        others = choose_columns(self.rows[self.n_wanted :], min_rows, room - len(wanted))
        return np.concatenate([wanted, others + self.n_wanted])


def _gather(
    scans: Sequence[Scan],
    named: Sequence[Scan],
    terms_of: Callable[[Scan], Terms],
    known: Sequence[Vocabulary | None],
) -> NewTerms:
    """Return the terms of names and texts that are in no vocabulary."""
    table, noted, n_wanted = CodeTable(), [np.zeros((0, 2), np.int64)], 0
    rows = np.zeros(0, np.int64)
    both = [*named, *scans]
    for number, scan in enumerate(both):
        terms = terms_of(scan)
        strange = np.ones(len(terms.codes), bool)
        for vocabulary in known:
            if vocabulary is not None:
                strange &= vocabulary.find(terms.codes) < 0
        places = np.flatnonzero(strange)
        _, new = table.add(terms.codes[places])
        noted.append(np.stack([np.full(len(new), number), places[new]], axis=1))
        rows = np.append(rows, np.zeros(len(new), np.int64))
        if number < len(named):
            n_wanted = len(table)
        else:
            _, found, _ = count_columns(terms, table, len(table))
            rows += np.bincount(found, minlength=len(table))
    return NewTerms(both, table.codes, np.concatenate(noted), rows, n_wanted)


def _spell(
    kind: str, new: NewTerms, kept: Places, stems: StemTable, lengths: tuple[int, int] | None
) -> list[str]:
    """Return what the terms that are kept are called; the others are never spelled."""
    names: list[str] = []
    of_scan, at = new.places[kept].T
    for number in np.unique(of_scan).tolist():
        scan, places = new.scans[number], at[of_scan == number]
        if kind == WORDS:
            names += stems.spell(scan, places)
        elif kind == PAIRS and scan.pairs is not None:
            left, right = (stems.spell(scan, side) for side in scan.pairs.both[places].T)
            names += [f"{one} {other}" for one, other in zip(left, right, strict=True)]
        elif lengths is not None:
            text, bounds = pad_words(scan.text, scan.bounds)
            content, parts = text.tobytes(), word_parts(text, bounds, *lengths)[1]
            names += [content[begin:end].decode() for begin, end in parts[places].tolist()]
    return names


def _extend(block: LateBlock, added: TermBlock, call: int) -> LateBlock:
    before, new = block.terms.vocabulary, added.vocabulary
    if before is None or new is None or not len(new):
        return block
    codes = np.concatenate([before.codes, new.codes])
    terms = TermBlock(
        Vocabulary([*before.names, *new.names], codes), np.concatenate([block.terms.idf, added.idf])
    )
    return LateBlock(terms, np.append(block.calls, np.full(len(new), call, np.int32)))


def _add_words(table: StemTable, stems: Vocabulary | None, scans: Sequence[Scan]) -> StemTable:
    """Return the table of late words with those of some texts whose stems are late."""
    if stems is None:
        return table
    words, names = CodeTable(), list(table.words.names)
    words.add(table.words.codes)
    stem_of = [table.stem_of]
    for scan in scans:
        stem = stems.find(table.codes_of(scan))
        places = np.flatnonzero(stem >= 0)
        _, new = words.add(scan.codes[places])
        names += scan.spell(places[new])
        stem_of.append(stem[places[new]])
    every = Vocabulary(names, words.codes)
    return StemTable(
        table.language, every, stems, np.concatenate(stem_of), table.before, table.endings
    )
