"""The labels of a model as people look for them: by the beginnings of words, with their rows."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.frequency import GROUP_NAMES, group_labels

WORD = re.compile(r"\w+")
UNSEEN = "unseen"
# The largest character: behind every word that begins with what stands before it.
LAST = "\U0010ffff"


def fold(text: str) -> str:
    """Return a text as it is compared: small letters without accents.

    Examples
    --------
    >>> fold("Été à Straße")
    'ete a strasse'
    """
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@dataclass(frozen=True)
class LabelTable:
    """The labels of a model.

    Attributes
    ----------
    names : list of str
    number : dict of str to int
        The place of every name.
    rows : list of int
        Training rows of every label.
    groups : list of str
        head, torso, tail or unseen.
    rarity, boost : ndarray or None
        What the tail adds to a label's logit at full strength, and what the model itself adds.
    """

    names: list[str]
    number: dict[str, int]
    rows: list[int]
    groups: list[str]
    rarity: NDArray[np.float64] | None
    boost: NDArray[np.float32] | None
    _folded: list[str]
    _words: list[str]
    _owners: NDArray[np.int64]
    _by_rows: NDArray[np.int64]
    _by_name: NDArray[np.int64]

    @classmethod
    def of(cls, model: Any) -> LabelTable:
        """Return the labels of a model, ready to be searched."""
        names = [str(name) for name in model.classes_.tolist()]
        rows = np.asarray(model.label_counts_, np.int64)
        folded = [fold(name) for name in names]
        pairs = sorted(
            {(word, at) for at, name in enumerate(folded) for word in WORD.findall(name)}
        )
        inner = model.estimator_
        scorer, frequencies = (getattr(inner, name, None) for name in ("_scorer", "_frequencies"))
        has_tail = scorer is not None and frequencies is not None
        return cls(
            names,
            {name: at for at, name in enumerate(names)},
            rows.tolist(),
            _groups(rows),
            frequencies.rarity() if has_tail and frequencies is not None else None,
            scorer.boost if has_tail and scorer is not None else None,
            folded,
            [word for word, _ in pairs],
            np.array([at for _, at in pairs], np.int64),
            np.lexsort((np.array(folded, dtype=object), -rows)) if names else rows,
            np.array(sorted(range(len(names)), key=lambda at: (folded[at], names[at])), np.int64),
        )

    def search(self, query: str, by_name: bool = False) -> NDArray[np.int64]:
        """Return the labels that have, for every word of a query, a word that begins with it.

        The most frequent come first, or all by their names. Names that begin with the whole query
        come before the others.
        """
        order = self._by_name if by_name else self._by_rows
        folded = fold(query)
        words = WORD.findall(folded)
        if not words:
            return order
        kept = np.ones(len(self.names), bool)
        for word in words:
            kept &= self._begins(word)
        found = order[kept[order]]
        start = folded.strip()
        first = np.array([self._folded[at].startswith(start) for at in found.tolist()], bool)
        return np.concatenate([found[first], found[~first]])

    def _begins(self, word: str) -> NDArray[np.bool_]:
        """Mark the labels that have a word with this beginning."""
        found = np.zeros(len(self.names), bool)
        span = slice(bisect_left(self._words, word), bisect_left(self._words, word + LAST))
        found[self._owners[span]] = True
        return found


def _groups(rows: NDArray[np.int64]) -> list[str]:
    places = group_labels(rows).tolist()
    return [
        GROUP_NAMES[place] if count else UNSEEN
        for place, count in zip(places, rows.tolist(), strict=True)
    ]
