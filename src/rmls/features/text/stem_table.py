"""Words and their stems, as they were when the model was trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rmls.features.text.endings import MIN_WORDS, Endings
from rmls.features.text.scanning import Scan
from rmls.features.text.stems import AUTO, ENDINGS, NONE, find_language, stem_words
from rmls.features.text.vocabulary import (
    Codes,
    CodeTable,
    Numbers,
    Places,
    Vocabulary,
    hash_names,
)


class StemTable:
    """The stem of every word of the training texts.

    It is kept with the model: another version of the stemmer then changes nothing for them, and
    known words are looked up, not stemmed.

    Attributes
    ----------
    language : str or None
    words, stems : Vocabulary
    stem_of : ndarray of int32, shape (n_words,)
    before : StemTable or None
        The table of the training, where this one holds words that were added later.
    endings : Endings or None
        What the stems were made by, where no language has them.
    """

    def __init__(
        self,
        language: str | None,
        words: Vocabulary,
        stems: Vocabulary,
        stem_of: Numbers,
        before: StemTable | None = None,
        endings: Endings | None = None,
    ) -> None:
        self.language, self.words, self.stems, self.stem_of = language, words, stems, stem_of
        self.before, self.endings = before, endings

    @classmethod
    def of_language(cls, language: str | None) -> StemTable:
        """Return a table that knows the language alone."""
        return cls(language, Vocabulary(), Vocabulary(), np.zeros(0, np.int32))

    @classmethod
    def learn(
        cls, scans: Sequence[Scan], stem: str, more: Sequence[Scan] = (), kept: bool = True
    ) -> StemTable:
        """Gather the words of texts; ``stem`` is a language, "auto", "endings" or "none".

        The words of ``more`` are known, too, but have no say in what the language is. Endings need
        a table that is ``kept``: the forms of a new word are looked for in it.
        """
        known, names = CodeTable(), list[str]()
        counts = np.zeros(0)
        # One scan at a time: they may lie on disk, more of them than memory holds.
        for scan in scans:
            number, new = known.add(scan.codes)
            names.extend(scan.spell(new))
            if len(names) > len(counts):
                counts = np.concatenate([counts, np.zeros(len(names))])
            _, words, times = scan.rows
            counts[number] += np.bincount(words, times, minlength=len(number))
        for scan in more:
            names.extend(scan.spell(known.add(scan.codes)[1]))
        counts = np.concatenate([counts, np.zeros(len(names))])[: len(names)]
        language, endings, stemmed = _choose_stems(names, counts, stem, kept)
        table = CodeTable()
        stem_of, new = table.add(hash_names(stemmed))
        stems = Vocabulary([stemmed[place] for place in new.tolist()], table.codes)
        return cls(language, Vocabulary(names, known.codes), stems, stem_of, None, endings)

    def stems_of(self, scan: Scan) -> Numbers:
        """Return the number of the stem of every distinct word of a scan, all of them known."""
        return self.stem_of[self.words.find(scan.codes)]

    def codes_of(self, scan: Scan) -> Codes:
        """Return the hash of the stem of every distinct word of a scan."""
        codes = np.empty(len(scan.codes), np.uint64)
        found, new = self._look_up(scan.codes)
        for stems, places, numbers in found:
            codes[places] = stems.codes[numbers]
        codes[new] = hash_names(self._stem_new(scan.spell(new)))
        return codes

    def spell(self, scan: Scan, words: Places) -> list[str]:
        """Return the stems of some of the distinct words of a scan."""
        names = np.empty(len(words), object)
        found, new = self._look_up(scan.codes[words])
        for stems, places, numbers in found:
            names[places] = [stems.names[number] for number in numbers.tolist()]
        names[new] = self._stem_new(scan.spell(words[new]))
        return list(names)

    def _stem_new(self, words: list[str]) -> list[str]:
        """Return the stems of words that are not known: without a language, of a form that is."""
        if self.endings is None or not words:
            return stem_words(self.language)(words)
        forms = [self.endings.forms(word) if word.isalpha() else [] for word in words]
        codes = hash_names([form for found in forms for form in found])
        stems = np.full(len(codes), "", object)
        for known, places, numbers in self._look_up(codes)[0]:
            stems[places] = [known.names[number] for number in numbers.tolist()]
        each = iter(stems.tolist())
        found = [[next(each) for _ in some] for some in forms]
        return [
            next((stem for stem in some if stem), word)
            for word, some in zip(words, found, strict=True)
        ]

    def _look_up(self, codes: Codes) -> tuple[list[tuple[Vocabulary, Places, Numbers]], Places]:
        """Return stems with the places of their words and their numbers, and what is not known."""
        found, new = [], np.arange(len(codes))
        for table in (self,) if self.before is None else (self.before, self):
            numbers = table.words.find(codes[new])
            known = numbers >= 0
            found.append((table.stems, new[known], table.stem_of[numbers[known]]))
            new = new[~known]
        return found, new

    def keep(self, stems: Vocabulary) -> StemTable:
        """Return the table of the words whose stems are among ``stems``."""
        place = stems.find(self.stems.codes)[self.stem_of]
        kept = np.flatnonzero(place >= 0)
        words = self.words.keep(kept)
        return StemTable(self.language, words, stems, place[kept], None, self.endings)


def _choose_stems(
    names: list[str], counts: NDArray[np.float64], stem: str, kept: bool
) -> tuple[str | None, Endings | None, list[str]]:
    """Return the language or the endings of words, and their stems."""
    language = None if stem in (AUTO, ENDINGS, NONE) else stem
    if stem == AUTO:
        language = find_language(names, counts.tolist())
    few = stem == AUTO and len(names) < MIN_WORDS
    if language is not None or stem == NONE or few or not kept:
        return language, None, stem_words(language)(names)
    # The most frequent words first: they show what the endings are.
    order = np.argsort(-counts, kind="stable")
    ordered = [names[place] for place in order.tolist()]
    endings = Endings.learn(ordered)
    if not endings.pairs:
        return None, None, list(names)
    stems = endings.stems(ordered)
    return None, endings, [stems[place] for place in np.argsort(order).tolist()]
