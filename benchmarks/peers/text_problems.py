"""Raw texts with labels, split as everywhere: the first rows train."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
from exchange import Ranked
from scipy import sparse
from text_exchange import TextProblem, choose_held_out

from rmls.core.ranking import Ranking
from rmls.datasets import load, load_artworks, read_texts
from rmls.decide import TopK
from rmls.metrics import evaluate

GENERATED = "generated"
SMALL = ("artworks", "cooking")
KNOWN = ("artworks", "cooking", "debtags", "tate", "eurlex57k", GENERATED)


class TextData:
    """One data set: what the systems see, and the labels of the test rows."""

    def __init__(self, name: str, rows: list[tuple[str, list[str]]], n_train: int) -> None:
        self.name = name
        names = sorted({label for _, labels in rows for label in labels})
        number = {label: place for place, label in enumerate(names)}
        texts = [text for text, _ in rows]
        labels = [sorted(number[label] for label in set(some)) for _, some in rows]
        held_out = choose_held_out(n_train)
        self.problem = TextProblem(
            texts[:n_train], labels[:n_train], texts[n_train:], names, held_out
        )
        self.truth = to_matrix(labels[n_train:], len(names))
        self.train = to_matrix(labels[:n_train], len(names))

    @classmethod
    def of_held_out(cls, data: TextData) -> TextData:
        """Return the training rows alone, the held-out tenth of them in place of the test rows."""
        names = data.problem.names
        parts = data.problem.parts()
        rows = [
            (text, [names[label] for label in labels])
            for part in parts
            for text, labels in zip(*part, strict=True)
        ]
        return cls(f"{data.name}-held", rows, len(parts[0][0]))

    @property
    def title(self) -> str:
        """Describe the data in a line."""
        size = sum(map(len, self.problem.texts)) / max(len(self.problem.texts), 1)
        return (
            f"{self.train.shape[0]:,} training and {self.truth.shape[0]:,} test texts of "
            f"{size:.0f} characters, {self.train.shape[1]:,} labels"
        )

    def measure(self, ranked: Ranked, sets: dict[str, Ranked]) -> dict[str, dict[str, float]]:
        """Return all metrics of the ranking, and of label sets by name."""
        n_labels = self.train.shape[1]
        counts = np.bincount(self.train.indices, minlength=n_labels)
        ranking = Ranking(*ranked, n_labels)
        report = evaluate(
            self.truth,
            ranking=ranking,
            train_counts=counts,
            n_train=self.train.shape[0],
            by_group=False,
        )
        size = max(1, round(self.train.nnz / self.train.shape[0]))
        chosen = {f"set_{name}": _as_sets(some, n_labels) for name, some in sets.items()}
        chosen["set_mean"] = TopK(size).select(ranking)
        found = {
            name: {
                **evaluate(self.truth, some, by_group=False).as_dict(),
                "labels_per_row": some.nnz / max(some.shape[0], 1),
            }
            for name, some in chosen.items()
        }
        return {"ranking": report.as_dict(), **found}


def to_matrix(labels: list[list[int]], n_labels: int) -> sparse.csr_matrix:
    """Return lists of labels as a 0/1 matrix."""
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in labels])]).astype(np.int64)
    flat = np.array([label for row in labels for label in row], dtype=np.int32)
    shape = (len(labels), n_labels)
    return sparse.csr_matrix((np.ones(len(flat), np.float32), flat, indptr), shape)


def _as_sets(some: Ranked, n_labels: int) -> sparse.csr_matrix:
    ones = np.ones(len(some.labels), np.float32)
    shape = (len(some.indptr) - 1, n_labels)
    sets = sparse.csr_matrix((ones, some.labels, some.indptr), shape)
    sets.sort_indices()
    return sets


def read_data(name: str) -> TextData:
    """Read a data set by name; artworks and ``generated`` need no folder of data."""
    if name == GENERATED:
        return TextData(name, make_texts(600), 450)
    if name == "artworks":
        works = load_artworks()
        rows = _rows(works.train) + _rows(works.test)
        return TextData(name, rows, len(works.train))
    path = Path(os.environ.get("RMLS_DATA", "../shared/data"), f"{name}.jsonl.gz")
    table = read_texts(path, text="text", labels="labels")
    called = _read_names(path.with_name(f"{name}.labels.txt"))
    rows = [(text, [called.get(label, label) for label in some]) for text, some in _rows(table)]
    return TextData(name, rows, load(name).n_train)


def _read_names(path: Path) -> dict[str, str]:
    """Return what numbered labels are called, where a file says so: number, tab, name."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = [line.split("\t") for line in lines]
    called = {number: name for number, *rest in pairs for name in rest}
    # Two labels of one name would become one.
    return called if len(set(called.values())) == len(called) else {}


def _rows(table: Any) -> list[tuple[str, list[str]]]:
    texts = ["\n".join(fields) for fields in table.texts]
    return list(zip(texts, table.labels, strict=True))


def make_texts(n_rows: int) -> list[tuple[str, list[str]]]:
    """Return texts whose words come with their labels, some labels much rarer than others."""
    draw = random.Random(0)
    labels = [f"label {number}" for number in range(40)]
    weights = [1 / (1 + number) for number in range(40)]
    rows = []
    for _ in range(n_rows):
        some = sorted(set(draw.choices(labels, weights, k=3)))
        words = [f"word{label.split()[1]}x{draw.randrange(4)}" for label in some for _ in range(4)]
        words += [f"common{draw.randrange(200)}" for _ in range(10)]
        draw.shuffle(words)
        rows.append((f"The text of {' and '.join(words)}.", some))
    return rows
