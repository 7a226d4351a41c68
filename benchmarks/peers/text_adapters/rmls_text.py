"""TextRanker of rmls, in a process like the others'. Kernels are loaded before the clock starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from exchange import Ranked

from text_adapters.contract import TextAdapter

# The rule of `predict`, and the one that is made for macro-F.
RULES = {"own": None, "macro_f1": "macro_f1"}


class RmlsText(TextAdapter):
    """Defaults, or options of TextRanker and of the RMLSRanker inside."""

    distributions = ("rmls",)

    def __init__(self, threads, folder, text=None, ranker=None):
        super().__init__(threads, folder)
        from rmls import RMLSRanker, TextRanker

        self.text, self.ranker = dict(text or {}), dict(ranker or {})
        inner = RMLSRanker(**self.ranker) if self.ranker else None
        self.make = lambda: TextRanker(inner, **{"n_jobs": threads, **self.text})

    def settings(self):
        return {**self.text, **self.ranker}

    def warm_up(self):
        texts = [f"one of the {number % 7} and {number % 3}" for number in range(60)]
        labels = [[str(number % 7), str(number % 3)] for number in range(60)]
        self.make().fit(texts, labels).rank(texts, 3)

    def train(self, problem):
        # By their names, as users have them: what labels are called is evidence.
        names = [[problem.names[label] for label in row] for row in problem.labels]
        self.model = self.make().fit(problem.texts, names)
        number = {name: place for place, name in enumerate(problem.names)}
        self.labels = np.array([number[name] for name in self.model.classes_], dtype=np.int64)

    def rank(self, texts, k):
        return self._read(self.model.rank(texts, k))

    def decide(self, texts, ranked):
        return {name: self._read(self.model.rank_sets(texts, rule)) for name, rule in RULES.items()}

    def _read(self, ranking):
        return Ranked(ranking.indptr, self.labels[ranking.labels], ranking.scores)

    def model_bytes(self):
        path = Path(self.folder, "model")
        self.model.save(path)
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def make(threads, folder, **options):
    """Return the adapter."""
    return RmlsText(threads, folder, **options)
