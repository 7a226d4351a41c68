"""fastText: one linear layer over averaged vectors of words, tuned by its own search.

Texts are prepared as in its tutorial: small letters, punctuation parted from words. The search runs
on nine tenths of the training rows and is judged on the rest; the model is then trained on all
rows with what was found. Sets: threshold and limit with the best macro-F on the rest.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from adapters.fasttext import DISTRIBUTIONS, LABEL, MIN_THREADS, import_library, rank_named

from text_adapters.contract import TextAdapter, best_cut, cut

FOUND = ("lr", "dim", "ws", "epoch", "minCount", "wordNgrams", "bucket", "minn", "maxn")


def plain_line(text):
    """Return a text on one line, as the tutorial does it."""
    return " ".join(re.sub(r"([.!?,'/()\":;])", r" \1 ", text.lower()).split())


def write_lines(path, texts, labels):
    """Write a training file; rows without labels teach nothing and are left out."""
    with open(path, "w", encoding="utf-8") as file:
        for text, row in zip(texts, labels, strict=True):
            if row:
                names = " ".join(f"{LABEL}{label}" for label in row)
                file.write(f"{names} {plain_line(text)}\n")


class FastTextText(TextAdapter):
    """One-vs-all loss; the search has so many seconds."""

    distributions = DISTRIBUTIONS

    def __init__(self, threads, folder, seconds=300):
        super().__init__(max(threads, MIN_THREADS), folder)
        self.library, self.seconds, self.found = import_library(threads), seconds, {}

    def settings(self):
        return {"loss": "ova", "seconds": self.seconds, **self.found}

    def train(self, problem):
        common = {"loss": "ova", "thread": self.threads, "verbose": 0}
        paths = {name: str(Path(self.folder, f"{name}.txt")) for name in ("all", "fit", "held")}
        fit, held = problem.parts()
        write_lines(paths["all"], problem.texts, problem.labels)
        write_lines(paths["fit"], *fit)
        write_lines(paths["held"], *held)
        mean = max(1, round(np.mean([len(row) for row in problem.labels])))
        self.model = self.library.train_supervised(
            input=paths["fit"],
            autotuneValidationFile=paths["held"],
            autotuneDuration=self.seconds,
            autotunePredictions=mean,
            **common,
        )
        options = self.model.f.getArgs()
        self.found = {name: getattr(options, name) for name in FOUND}
        self.cut = best_cut(self.rank(held[0], 50), held[1], len(problem.names))
        self.found["own"] = f"score >= {self.cut[0]:.4g}, at most {self.cut[1]}"
        self.model = self.library.train_supervised(
            input=paths["all"], **{name: self.found[name] for name in FOUND}, **common
        )

    def rank(self, texts, k):
        return rank_named(self.model.predict([plain_line(text) for text in texts], k=k))

    def decide(self, texts, ranked):
        return {"own": cut(ranked, *self.cut)}

    def model_bytes(self):
        path = Path(self.folder, "model.bin")
        self.model.save_model(str(path))
        return path.stat().st_size


def make(threads, folder, **options):
    """Return the adapter."""
    return FastTextText(threads, folder, **options)
