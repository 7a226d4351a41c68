"""BOOMER: gradient boosted multi-label rules, at its defaults (1,000 rules)."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from adapters.contract import Adapter, rank_in_blocks


class Boomer(Adapter):
    """Ranked by the scores its rules add up to. Its threads follow ``OMP_NUM_THREADS``."""

    distributions = ("mlrl-boomer",)

    def __init__(self, threads, folder):
        super().__init__(threads, folder)
        from mlrl.boosting import BoomerClassifier

        self.model = BoomerClassifier(random_state=1)

    def settings(self):
        return {"parameters": "defaults", "random_state": 1}

    def convert_training(self, X, Y):
        return X.astype(np.float32), Y.astype(np.uint8)

    def train(self, data):
        self.model.fit(*data)

    def convert_rows(self, X):
        return X.astype(np.float32)

    def predict(self, rows, k):
        return rank_in_blocks(lambda some: self.model.predict(some, predict_scores=True), rows, k)

    def save(self, folder):
        Path(folder, "model.pickle").write_bytes(pickle.dumps(self.model))


def make(threads, folder):
    """Return the adapter."""
    return Boomer(threads, folder)
