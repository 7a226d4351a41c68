"""LightFM: a recommender. A row is a user described by its features, a label is an item.

Its defaults (10 components, 1 pass) are meant for a first look; the settings below are ours.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adapters.contract import Adapter, rank_in_blocks

SETTINGS = {"loss": "warp", "no_components": 100, "random_state": 0}
EPOCHS = 30


class LightFM(Adapter):
    """WARP loss, 100 components, 30 passes."""

    distributions = ("lightfm", "lightfm-next")

    def __init__(self, threads, folder):
        super().__init__(threads, folder)
        import lightfm

        self.model = lightfm.LightFM(**SETTINGS)

    def settings(self):
        return {**SETTINGS, "epochs": EPOCHS}

    def convert_training(self, X, Y):
        return X.astype(np.float32), Y.tocoo().astype(np.float32)

    def train(self, data):
        X, Y = data
        self.model.fit(Y, user_features=X, epochs=EPOCHS, num_threads=self.threads)

    def convert_rows(self, X):
        return X.astype(np.float32)

    def predict(self, rows, k):
        item_biases, items = self.model.get_item_representations()

        def score(some_rows):
            biases, users = self.model.get_user_representations(some_rows)
            return users @ items.T + item_biases + biases[:, None]

        return rank_in_blocks(score, rows, k)

    def save(self, folder):
        """LightFM has no format of its own: its arrays, without those that only training needs."""
        names = ("user_embeddings", "user_biases", "item_embeddings", "item_biases")
        arrays = {name: getattr(self.model, name) for name in names}
        np.savez(Path(folder, "model.npz"), **arrays)


def make(threads, folder):
    """Return the adapter."""
    return LightFM(threads, folder)
