"""Words and their stems, as they were when the model was trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmls.features.text.scanning import Scan
from rmls.features.text.stems import find_language, stem_words
from rmls.features.text.vocabulary import Codes, CodeTable, Numbers, Vocabulary, hash_names


class StemTable:
    """The stem of every word of the training texts.

    It is kept with the model: another version of the stemmer then changes nothing for them, and
    known words are looked up, not stemmed.

    Attributes
    ----------
    language : str or None
    words, stems : Vocabulary
    stem_of : ndarray of int32, shape (n_words,)
    """

    def __init__(
        self, language: str | None, words: Vocabulary, stems: Vocabulary, stem_of: Numbers
    ) -> None:
        self.language, self.words, self.stems, self.stem_of = language, words, stems, stem_of

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
        numbers = self.words.find(scan.codes)
        codes = np.empty(len(numbers), np.uint64)
        known = numbers >= 0
        codes[known] = self.stems.codes[self.stem_of[numbers[known]]]
        new = scan.spell(np.flatnonzero(~known))
        codes[~known] = hash_names(stem_words(self.language)(new))
        return codes

    def keep(self, stems: Vocabulary) -> StemTable:
        """Return the table of the words whose stems are among ``stems``."""
        place = stems.find(self.stems.codes)[self.stem_of]
        kept = np.flatnonzero(place >= 0)
        return StemTable(self.language, self.words.keep(kept), stems, place[kept])
