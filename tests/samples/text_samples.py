"""Texts whose labels follow from their words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

TOPICS = {
    "tax": ("taxes", "revenue", "levy", "taxed"),
    "sea": ("fishing", "quota", "harbour", "boats"),
    "farm": ("wheat", "cattle", "harvest", "milk"),
    "law": ("court", "judges", "appeal", "rights"),
}
FILLERS = ("the", "of", "and", "to", "in", "is", "for", "that", "on", "with")


def make_texts(n: int = 60, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Return texts of one or two topics among English function words, and their topics."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    texts, labels = [], []
    for row in range(n):
        chosen = sorted({names[row % len(names)], names[rng.integers(len(names))]})
        words = [str(rng.choice(TOPICS[name])) for name in chosen for _ in range(3)]
        words += [str(word) for word in rng.choice(FILLERS, 5)]
        texts.append(" ".join(words[place] for place in rng.permutation(len(words))))
        labels.append(chosen)
    return texts, labels


def write_csv(path: Path, n: int = 60) -> Path:
    """Write texts with the columns id, title, body and tags; returns the path."""
    texts, labels = make_texts(n)
    lines = ["id,title,body,tags"]
    for row, (text, names) in enumerate(zip(texts, labels, strict=True)):
        title, body = text.split(" ", 1)
        lines.append(f"t{row},{title},{body},{'; '.join(names)}")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


COLUMNS = {"categories": ["medium"], "numbers": ["year"]}


def make_columns(n: int, seed: int = 0) -> tuple[dict[str, list[Any]], list[list[str]]]:
    """Return rows with a title, a medium and a year, each of which decides one label.

    The word "boats" or "taxes" decides between sea and tax, the medium between painting and print,
    and the year between old (before 1800), middle and new (from 1900).
    """
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {"title": [], "medium": [], "year": []}
    labels = []
    for _ in range(n):
        sea = rng.random() < 0.5
        words = [str(word) for word in rng.choice(FILLERS, 5)]
        words.insert(int(rng.integers(6)), "boats" if sea else "taxes")
        medium = str(rng.choice(["Oil on canvas", "Oil on wood", "Etching", "Lithograph"]))
        # With its decimals no year comes twice.
        year = round(float(rng.uniform(1700, 2000)), 3)
        for name, cell in zip(rows, (" ".join(words), medium, year), strict=True):
            rows[name].append(cell)
        kind = "painting" if medium.startswith("Oil") else "print"
        labels.append(
            [
                "sea" if sea else "tax",
                kind,
                "old" if year < 1800 else "middle" if year < 1900 else "new",
            ]
        )
    return rows, labels
