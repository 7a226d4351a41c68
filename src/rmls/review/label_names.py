"""Labels that may be one: names that are written alike, labels that always come together."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.features.text.stems import stem_words

# Signs that part the words of a name; others, as in C++ and C#, tell names apart.
BETWEEN = re.compile(r"[\s\-_./,:;'\"()\[\]’‘“”–]+")
# Endings of plurals and cases. A stem alone is not enough: season, seasonal and seasoning have one.
ENDINGS = frozenset({"s", "es", "n", "en", "e", "er", "r", "i", "x"})
# What stands inside a name and most often parts two of them.
SEPARATORS = ("|", ";", "\t", "\n", ",")


def similar_names(names: Sequence[str], language: str | None = None) -> list[list[int]]:
    """Return labels whose names differ in case, spaces, punctuation, accents or endings alone.

    Parameters
    ----------
    names : sequence of str
    language : str, optional
        Whose endings do not count.

    Examples
    --------
    >>> similar_names(["email", "E-mail", "tax", "taxes", "law"], "english")
    [[0, 1], [2, 3]]
    >>> similar_names(["C++", "C#", "C"])
    []
    """
    stem = stem_words(language)
    by_stem: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for number, name in enumerate(names):
        words = _plain_words(name)
        by_stem["".join(stem(words))].append(("".join(words), number))
    groups = []
    for entries in by_stem.values():
        if len(entries) > 1:
            groups += _alike(sorted(entries))
    return sorted(groups)


def _alike(entries: list[tuple[str, int]]) -> list[list[int]]:
    """Part the names of one stem into those that differ in their ending alone."""
    groups: list[list[int]] = []
    first = None
    # Sorted: a name stands right behind the one it is an extension of.
    for text, number in entries:
        if first is not None and _is_form(first, text):
            groups[-1].append(number)
        else:
            first = text
            groups.append([number])
    return [sorted(group) for group in groups if len(group) > 1]


def _is_form(shorter: str, longer: str) -> bool:
    if shorter == longer:
        return True
    # Endings of numbers and of one letter mean something else.
    if len(shorter) < 3 or not shorter[-1].isalpha():
        return False
    if longer.startswith(shorter):
        return longer[len(shorter) :] in ENDINGS
    return longer.endswith("y") and shorter == f"{longer[:-1]}ies"


def _plain_words(name: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = [word for word in BETWEEN.split(plain) if word]
    # 1.12 is not 11.2: what stands between numbers is kept.
    if any(word.isdigit() for word in words):
        return [" ".join(words)]
    return words or [plain]


def equal_columns(Y: sparse.csr_matrix, min_rows: int = 3) -> list[NDArray[np.int64]]:
    """Return groups of labels that exactly the same rows have.

    Parameters
    ----------
    Y : CSR matrix of 0/1
    min_rows : int, default=3
        Labels of fewer rows meet by chance.

    Examples
    --------
    >>> Y = sparse.csr_matrix([[1, 1, 0], [1, 1, 1]])
    >>> [group.tolist() for group in equal_columns(Y, 2)]
    [[0, 1]]
    """
    generator = np.random.default_rng(0)
    # Sums of random numbers of the rows: equal columns have equal sums, others hardly ever.
    codes = generator.integers(1 << 63, size=Y.shape[0], dtype=np.uint64)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    sums = np.zeros(Y.shape[1], np.uint64)
    np.add.at(sums, Y.indices, codes[rows])
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    frequent = np.flatnonzero(counts >= min_rows)
    order = frequent[np.argsort(sums[frequent], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(sums[order])) + 1)
    found = [np.sort(part) for part in parts if len(part) > 1]
    return sorted(found, key=lambda part: (-counts[part[0]], part[0]))


def unsplit_names(names: Sequence[str], share: float = 0.05) -> tuple[str, list[int]] | None:
    """Return the sign that may part labels and was not used to, with the names that hold it.

    None where fewer than ``share`` of the names hold one, or fewer than 3.

    Examples
    --------
    >>> unsplit_names(["tax; law", "law; sea", "sea; tax", "law"])
    (';', [0, 1, 2])
    """
    known = set(names)
    for separator in SEPARATORS:
        holding = [
            number
            for number, name in enumerate(names)
            if separator in name
            # Its parts must be what other names, or parts of them, are.
            and (separator != "," or known.issuperset(map(str.strip, name.split(separator))))
        ]
        if len(holding) >= max(3, share * len(names)):
            return separator, holding
    return None
