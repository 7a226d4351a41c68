"""napkinXC: probabilistic label trees and binary relevance, at their defaults.

Training writes the model to disk, which is part of its call; loading it again is not timed.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

from adapters.contract import Adapter, rank_pairs


class NapkinXC(Adapter):
    """Logistic loss, C = 10, unit rows, weights under 0.1 dropped; exact search in the tree."""

    distributions = ("napkinxc",)

    def __init__(self, threads, folder, variant):
        super().__init__(threads, folder)
        from napkinxc.models import BR, PLT

        self.output = Path(folder, "napkinxc")
        kind, options = (PLT, {"seed": 1}) if variant == "tree" else (BR, {})
        self.model = kind(str(self.output), threads=threads, **options)

    def settings(self):
        return {"parameters": "defaults"}

    def train(self, data):
        self.model.fit(*data)

    def convert_rows(self, X):
        self.model.load()
        return X

    def predict(self, rows, k):
        return self.model.predict_proba(rows, top_k=k)

    def read_ranking(self, predicted):
        return rank_pairs(predicted)

    def save(self, folder):
        copytree(self.output, folder, dirs_exist_ok=True)


def make(threads, folder, variant):
    """Return the adapter of one variant: ``tree`` or ``ovr``."""
    return NapkinXC(threads, folder, variant)
