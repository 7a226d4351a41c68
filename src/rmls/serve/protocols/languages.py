"""Languages by their codes, and which of some languages a text is in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rmls.core.errors import InputError
from rmls.features.text.stems import FUNCTION_WORDS

CODES = {
    "arabic": "ar",
    "armenian": "hy",
    "basque": "eu",
    "catalan": "ca",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "esperanto": "eo",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "lithuanian": "lt",
    "nepali": "ne",
    "norwegian": "no",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "serbian": "sr",
    "spanish": "es",
    "swedish": "sv",
    "tamil": "ta",
    "turkish": "tr",
    "yiddish": "yi",
}
# What BCP 47 calls a language that nobody has determined.
UNKNOWN = "und"
# The languages that have function words to be known by.
TOLD_APART = {CODES[name]: name for name in sorted(FUNCTION_WORDS)}
WORD = re.compile(r"\w+")
# Words at the beginning of a text that are looked at.
MAX_WORDS = 10_000


def language_code(language: str | None) -> str:
    """Return the code of a language that words are stemmed in."""
    return CODES.get(language or "", UNKNOWN)


def weigh_languages(text: str, codes: Sequence[str]) -> dict[str | None, float]:
    """Return how much of a text speaks for each of some languages, and for none (None).

    The weights are the shares of function words of each language among those of all, so that they
    add up to 1; a text without any of them speaks for none.

    Examples
    --------
    >>> found = weigh_languages("the cat of the house", ["en", "fi"])
    >>> found["en"], found["fi"], found[None]
    (1.0, 0.0, 0.0)
    """
    unknown = [code for code in codes if code not in TOLD_APART]
    if unknown:
        known = ", ".join(sorted(TOLD_APART))
        raise InputError(f"languages that can be told apart are {known}; got {unknown[0]!r}.")
    words = WORD.findall(text.casefold())[:MAX_WORDS]
    counts = {}
    for code in codes:
        common = set(FUNCTION_WORDS[TOLD_APART[code]].split())
        counts[code] = sum(word in common for word in words)
    total = sum(counts.values())
    shares: dict[str | None, float] = {code: counts[code] / max(total, 1) for code in codes}
    shares[None] = 0.0 if total else 1.0
    return shares
