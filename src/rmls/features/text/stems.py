"""Stems of words, and which language a text is in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from rmls.core.errors import InputError

# What may stand in place of a language.
AUTO, ENDINGS, NONE = "auto", "endings", "none"
# The commonest function words, enough to tell the languages that have a stemmer apart.
FUNCTION_WORDS = {
    "danish": "og i at det er en til af den på for med de som der ikke et har fra blev eller",
    "dutch": "de van het een en in is dat op te zijn voor met niet aan er om ook bij uit wordt",
    "english": "the of and to in is for that on with as by are it from be this which or an at",
    "finnish": "ja on ei se että oli ovat joka mutta myös kuin tai hän sen ole mukaan sekä kun",
    "french": "de la le et les des en un une du dans est pour que par sur au qui ne pas avec",
    "german": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als",
    "hungarian": "a az és hogy nem is egy meg volt csak de ez van el már még vagy mint ha aki",
    "italian": "di e il la che in un a per è del una della con i non sono le da al dei alla",
    "norwegian": "og i det er på som en til å av for at med de den har ikke fra ble også var",
    "portuguese": "de a o que e do da em um para é com uma os no se na por mais as dos não",
    "romanian": "de și în a la cu pe nu este care o un din că pentru mai sau fi prin al ale",
    "russian": "и в не на что с по как это из к для а от за то о у но его при или были",
    "spanish": "de la que el en y a los del se las por un para con no una su al es lo más",
    "swedish": "och i att det som en på är av för med den till inte har de ett om från var",
    "turkish": "ve bir bu da de için ile olarak daha çok en gibi olan ise kadar ne var o ya",
}
# Of all words in running text; titles and tags have fewer.
MIN_SHARE = 0.03
# Neighbours share words: one language must be this much ahead of the others to be chosen.
MIN_LEAD = 1.15


def languages() -> tuple[str, ...]:
    """Return the languages that words can be stemmed in."""
    from snowballstemmer import algorithms

    return tuple(sorted(str(name) for name in algorithms() if name != "porter"))


def check_language(language: str) -> None:
    """Raise a sentence where words of a language cannot be stemmed."""
    # Those that are told apart have stemmers: looking for all of them takes longer than loading.
    if language not in FUNCTION_WORDS and language not in languages():
        raise InputError(
            f"words cannot be stemmed in {language!r}; choose from: {', '.join(languages())}; "
            'or "auto", "endings" or "none".'
        )


def find_language(words: Sequence[str], counts: Sequence[float]) -> str | None:
    """Return the language whose function words are the most frequent, None where none stands out.

    Parameters
    ----------
    words : sequence of str
        Distinct words, in small letters.
    counts : sequence of float
        How often each occurs.

    Examples
    --------
    >>> find_language(["the", "council", "of", "ministers"], [9, 1, 5, 1])
    'english'
    """
    frequency = dict(zip(words, counts, strict=True))
    total = sum(counts)
    shares = sorted(
        (sum(frequency.get(word, 0) for word in common.split()) / max(total, 1), language)
        for language, common in FUNCTION_WORDS.items()
    )
    (second, _), (best, language) = shares[-2:]
    return language if best >= MIN_SHARE and best >= MIN_LEAD * second else None


class _Stemmers(threading.local):
    """The stemmers of one thread: each writes the word it works on into itself."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def stem_words(self, language: str, words: Sequence[str]) -> list[str]:
        if language not in self.known:
            from snowballstemmer import stemmer

            self.known[language] = stemmer(language)
        stems: list[str] = self.known[language].stemWords(words)
        return stems


_STEMMERS = _Stemmers()


def stem_words(language: str | None) -> Callable[[Sequence[str]], list[str]]:
    """Return the function that maps words to their stems; without a language, to themselves."""
    if language is None:
        return list
    return lambda words: _STEMMERS.stem_words(language, words)
