"""Texts and labels with names, of which texts may or may not say something."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FIRST = ("bar", "cel", "dom", "fur", "gil", "hon", "jap", "kor", "lum", "mar", "nov", "pel")
LAST = ("bok", "dan", "fil", "gor", "han", "lup", "mir", "nak", "pol", "rut")
# Words that no other one is a stem of.
WORDS = [first + last for first in FIRST for last in LAST]
N_LABELS = 30


class Named(NamedTuple):
    """Texts, their labels by code, and what the labels are called."""

    texts: list[str]
    labels: list[list[str]]
    names: dict[str, str]

    def without(self, hidden: set[str]) -> Named:
        """Return the rows without some labels, and the names of all."""
        kept = [[label for label in row if label not in hidden] for row in self.labels]
        return Named(self.texts, kept, self.names)


def code(label: int) -> str:
    return f"c_{label:03d}"


CODES = [code(label) for label in range(N_LABELS)]


def make_named(n: int = 240, seed: int = 0, says: float = 0.8, sense: bool = True) -> Named:
    """Return texts of one or two labels out of 30, each called by two words.

    A text holds both words of the names of its labels with the chance ``says``, always a word that
    all rows of the label share, and some others. Without ``sense`` names are words of the texts of
    other labels, drawn at random.
    """
    rng = np.random.default_rng(seed)
    words = [f"{WORDS[label]} {WORDS[N_LABELS + label]}" for label in range(N_LABELS)]
    topics, fillers = WORDS[2 * N_LABELS : 3 * N_LABELS], WORDS[3 * N_LABELS :]
    texts, labels = [], []
    for row in range(n):
        chosen = sorted({row % N_LABELS, int(rng.integers(N_LABELS))})
        found = [topics[label] for label in chosen]
        found += [words[label] for label in chosen if rng.random() < says]
        found += [str(word) for word in rng.choice(fillers, 4)]
        texts.append(" ".join(found[place] for place in rng.permutation(len(found))))
        labels.append([code(label) for label in chosen])
    called = words
    if not sense:
        drawn = np.random.default_rng(99).choice(WORDS, (N_LABELS, 2))
        called = [" ".join(pair) for pair in drawn]
    return Named(texts, labels, dict(zip(CODES, called, strict=True)))
