"""Whether the name of a label says something, or is a code."""

from __future__ import annotations

import re
import unicodedata

URI = re.compile(r"[a-z][a-z0-9+.-]*://|urn:|mailto:", re.IGNORECASE)
# A prefix and a number: eurovoc:4711, GO:0008150.
_PREFIXED = re.compile(r"[a-z][\w.-]*:[^\s:]*[0-9][^\s:]*", re.IGNORECASE)


def is_uri(name: str) -> bool:
    """Tell whether a name is an address."""
    return URI.match(name.strip()) is not None


def last_part(name: str) -> str:
    """Return what stands behind the last ``/`` or ``#`` of an address, anything else as it is.

    Examples
    --------
    >>> last_part("http://eurovoc.europa.eu/4711"), last_part("urn:x:b"), last_part("tax/law")
    ('4711', 'b', 'tax/law')
    """
    name = name.strip()
    if not is_uri(name):
        return name
    return re.split(r"[/#:]", name.rstrip("/#"))[-1]


def is_words(name: str) -> bool:
    """Tell whether a name consists of words; a code, a number or an address does not.

    A name has a word of three letters; two will do where it has no digit, one in a script that has
    no capitals, as a Chinese character may be a word.

    Examples
    --------
    >>> [is_words(name) for name in ("Bread", "gluten-free", "World War 2", "EU law", "税", "कर")]
    [True, True, True, True, True, True]
    >>> [is_words(name) for name in ("B12.3", "c_2843", "12", "http://a.org/bread", "GO:0008150")]
    [False, False, False, False, False]
    """
    name = unicodedata.normalize("NFKC", name.strip())
    if is_uri(name) or _PREFIXED.fullmatch(name):
        return False
    kinds = "".join(map(_kind, name))
    shortest = 3 if "9" in kinds else 2
    return any(_is_word(run, shortest) for run in kinds.split())


def _kind(letter: str) -> str:
    """Return a for a letter, o for one without capitals, 9 for a digit, a space for the rest."""
    category = unicodedata.category(letter)
    if category == "Lo":
        return "o"
    # Vowel signs of many scripts are marks and belong to the letter before.
    if category[0] in "LM":
        return "a"
    return "9" if category[0] == "N" else " "


def _is_word(run: str, shortest: int) -> bool:
    if "o" in run:
        # Such scripts may have no spaces: 2型糖尿病 is one run.
        return "9" not in run or run.count("o") > 1
    return "9" not in run and len(run) >= shortest
