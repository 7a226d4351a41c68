"""Words and their stems, as they were when the model was trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmls.features.text.scanning import Scan
from rmls.features.text.stems import find_language, stem_words
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
    """

    def __init__(
        self,
        language: str | None,
        words: Vocabulary,
        stems: Vocabulary,
        stem_of: Numbers,
        before: StemTable | None = None,
    ) -> None:
        self.language, self.words, self.stems, self.stem_of = language, words, stems, stem_of
        self.before = before

    @classmethod
    def of_language(cls, language: str | None) -> StemTable:
        """Return a table that knows the language alone."""
        return cls(language, Vocabulary(), Vocabulary(), np.zeros(0, np.int32))

    @classmethod
    def learn(cls, scans: Sequence[Scan], stem: str, more: Sequence[Scan] = ()) -> StemTable:
        """Gather the words of texts; ``stem`` is a language, "auto" or "none".

        The words of ``more`` are known, too, but have no say in what the language is.
        """
        known, names = CodeTable(), list[str]()
        numbers = []
        for scan in (*scans, *more):
            number, new = known.add(scan.codes)
            names.extend(scan.spell(new))
            numbers.append(number)
        language = None if stem == "none" else stem
        if stem == "auto":
            counts = np.zeros(len(names))
            for scan, number in zip(scans, numbers[: len(scans)], strict=True):
                _, words, times = scan.rows
                counts[number] += np.bincount(words, times, minlength=len(number))
            language = find_language(names, counts.tolist())
        stemmed = stem_words(language)(names)
        table = CodeTable()
        stem_of, new = table.add(hash_names(stemmed))
        stems = Vocabulary([stemmed[place] for place in new.tolist()], table.codes)
        return cls(language, Vocabulary(names, known.codes), stems, stem_of)

    def stems_of(self, scan: Scan) -> Numbers:
        """Return the number of the stem of every distinct word of a scan, all of them known."""
        return self.stem_of[self.words.find(scan.codes)]

    def codes_of(self, scan: Scan) -> Codes:
        """Return the hash of the stem of every distinct word of a scan."""
        codes = np.empty(len(scan.codes), np.uint64)
        found, new = self._look_up(scan.codes)
        for stems, places, numbers in found:
            codes[places] = stems.codes[numbers]
        codes[new] = hash_names(stem_words(self.language)(scan.spell(new)))
        return codes

    def spell(self, scan: Scan, words: Places) -> list[str]:
        """Return the stems of some of the distinct words of a scan."""
        names = np.empty(len(words), object)
        found, new = self._look_up(scan.codes[words])
        for stems, places, numbers in found:
            names[places] = [stems.names[number] for number in numbers.tolist()]
        names[new] = stem_words(self.language)(scan.spell(words[new]))
        return list(names)

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
        return StemTable(self.language, self.words.keep(kept), stems, place[kept])
