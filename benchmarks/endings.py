"""How well learned endings find the forms of a word, in languages with a dictionary of lemmas.

    pip install wordfreq simplemma
    python benchmarks/endings.py [pl cs uk bg lv en ...] [--words 5000 20000 40000]

Takes the most frequent words of a language, learns their endings from nothing but these words, and
compares which words it takes for forms of one word with what the dictionary says. Precision: of
two words with the same stem, how often the lemma is the same. Recall: the reverse. Beside it the
stemmer of the language, where there is one, and words cut to six letters.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Hashable, Sequence

import simplemma
import snowballstemmer
import wordfreq

from rmls.features.text.endings import Endings

STEMMERS = {
    "en": "english",
    "fi": "finnish",
    "tr": "turkish",
    "ru": "russian",
    "de": "german",
    "pl": "polish",
    "cs": "czech",
}
CUT = 6


def read_words(language: str, n_words: int) -> tuple[list[str], list[str]]:
    """Return the most frequent words of a language and their lemmas."""
    listed = wordfreq.top_n_list(language, 2 * n_words)
    words = [word for word in listed if word.isalpha()][:n_words]
    return words, [simplemma.lemmatize(word, lang=language).lower() for word in words]


def n_pairs(keys: Sequence[Hashable]) -> int:
    """Return how many pairs of words have the same key."""
    return sum(count * (count - 1) // 2 for count in Counter(keys).values())


def compare(stems: list[str], lemmas: list[str]) -> str:
    both, found, true = (
        n_pairs(keys) for keys in (list(zip(stems, lemmas, strict=True)), stems, lemmas)
    )
    precision, recall = both / max(found, 1), both / max(true, 1)
    return f"{precision:.2f} | {recall:.2f} | {2 * both / max(found + true, 1):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("languages", nargs="*", default=["pl", "cs", "uk", "bg", "lv", "en"])
    parser.add_argument("--words", type=int, nargs="+", default=[5_000, 20_000, 40_000])
    options = parser.parse_args()
    print("| language | words | stems | precision | recall | F |\n|---|---|---|---|---|---|")
    for language in options.languages:
        for n_words in options.words:
            words, lemmas = read_words(language, n_words)
            started = time.process_time()
            stems = Endings.learn(words).stems(words)
            took = time.process_time() - started
            ways = {f"endings ({took:.1f} s)": stems, "six letters": [w[:CUT] for w in words]}
            if language in STEMMERS:
                stemmer = snowballstemmer.stemmer(STEMMERS[language])
                ways["stemmer"] = stemmer.stemWords(words)
            for way, stems in ways.items():
                print(f"| {language} | {len(words):,} | {way} | {compare(stems, lemmas)} |")


if __name__ == "__main__":
    main()
