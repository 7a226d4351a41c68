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
from rmls.models.shared.quality_record import QualityRecord, Scores

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
    others : dict of int to list of str
        What else labels are called, where they have other names.
    number : dict of str to int
        The place of every name.
    rows : list of int
        Training rows of every label.
    groups : list of str
        head, torso, tail or unseen.
    scores : dict of int to Scores
        How well labels did on held-out rows, where that was measured.
    rarity, boost : ndarray or None
        What the tail adds to a label's logit at full strength, and what the model itself adds.
    """

    names: list[str]
    others: dict[int, list[str]]
    number: dict[str, int]
    rows: list[int]
    groups: list[str]
    scores: dict[int, Scores]
    rarity: NDArray[np.float64] | None
    boost: NDArray[np.float32] | None
    _folded: list[str]
    _words: list[str]
    _owners: NDArray[np.int64]
    _by_rows: NDArray[np.int64]
    _by_name: NDArray[np.int64]
    _by_quality: NDArray[np.int64]

    @classmethod
    def of(cls, model: Any) -> LabelTable:
        """Return the labels of a model, ready to be searched."""
        names = [str(name) for name in model.classes_.tolist()]
        rows = np.asarray(model.label_counts_, np.int64)
        folded = [fold(name) for name in names]
        number = {name: at for at, name in enumerate(names)}
        known = getattr(model, "other_names_", {})
        others = {number[name]: known[name] for name in known if name in number}
        pairs = sorted(
            {
                (word, at)
                for at, name in enumerate(folded)
                for called in (name, *map(fold, others.get(at, ())))
                for word in WORD.findall(called)
            }
        )
        by_rows = np.lexsort((np.array(folded, dtype=object), -rows)) if names else rows
        scores = _scores(model, number)
        inner = model.estimator_
        scorer, frequencies = (getattr(inner, name, None) for name in ("_scorer", "_frequencies"))
        has_tail = scorer is not None and frequencies is not None
        return cls(
            names,
            others,
            number,
            rows.tolist(),
            _groups(rows),
            scores,
            frequencies.rarity() if has_tail and frequencies is not None else None,
            scorer.boost if has_tail and scorer is not None else None,
            folded,
            [word for word, _ in pairs],
            np.array([at for _, at in pairs], np.int64),
            by_rows,
            np.array(sorted(range(len(names)), key=lambda at: (folded[at], names[at])), np.int64),
            # Behind the labels that were measured, the worst of them first, all others.
            np.array([*scores, *(at for at in by_rows.tolist() if at not in scores)], np.int64),
        )

    def search(self, query: str, sort: str = "rows") -> NDArray[np.int64]:
        """Return the labels that have, for every word of a query, a word that begins with it.

        The words of a label are those of all its names.
        The most frequent come first, or all by their names: those that begin with the whole query
        before the others. By ``"quality"`` those that do worst come first.
        """
        order = {"name": self._by_name, "quality": self._by_quality}.get(sort, self._by_rows)
        folded = fold(query)
        words = WORD.findall(folded)
        if not words:
            return order
        kept = np.ones(len(self.names), bool)
        for word in words:
            kept &= self._begins(word)
        found = order[kept[order]]
        if sort == "quality":
            return found
        start = folded.strip()
        first = np.array([self._starts(at, start) for at in found.tolist()], bool)
        return np.concatenate([found[first], found[~first]])

    def _starts(self, label: int, start: str) -> bool:
        """Tell whether a label is called something that begins so."""
        called = (self._folded[label], *map(fold, self.others.get(label, ())))
        return any(name.startswith(start) for name in called)

    def _begins(self, word: str) -> NDArray[np.bool_]:
        """Mark the labels that have a word with this beginning."""
        found = np.zeros(len(self.names), bool)
        span = slice(bisect_left(self._words, word), bisect_left(self._words, word + LAST))
        found[self._owners[span]] = True
        return found


def _scores(model: Any, number: dict[str, int]) -> dict[int, Scores]:
    """Return how well labels do, by their places, the worst first."""
    record: QualityRecord | None = getattr(model, "quality_record_", None)
    if record is None:
        return {}
    # Labels may be gone since they were measured.
    found = {number[name]: record.of_label(name) for name in record.worst() if name in number}
    return {at: scores for at, scores in found.items() if scores is not None}


def _groups(rows: NDArray[np.int64]) -> list[str]:
    places = group_labels(rows).tolist()
    return [
        GROUP_NAMES[place] if count else UNSEEN
        for place, count in zip(places, rows.tolist(), strict=True)
    ]
