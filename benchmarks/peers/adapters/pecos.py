"""PECOS: XR-Linear with a hierarchical label tree, and one-vs-rest, at its defaults.

A trained model is saved and loaded again for prediction only, which is several times faster and
gives the same scores; that step is not timed.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import numpy as np

from adapters.contract import Adapter, rank_sparse


class Pecos(Adapter):
    """Squared hinge, C = 1, weights under 0.1 dropped; the tree from PIFA label features.

    Making the label features and the tree is part of training.
    """

    distributions = ("libpecos",)

    def __init__(self, threads, folder, variant):
        super().__init__(threads, folder)
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        self.model_type = XLinearModel
        self.indexer, self.embedding = Indexer, LabelEmbeddingFactory
        self.variant = variant
        self.saved = Path(folder, "pecos")

    def settings(self):
        return {"parameters": "defaults", "only_topk": "k of the ranking"}

    def convert_training(self, X, Y):
        return X.astype(np.float32), Y.tocsc().astype(np.float32)

    def train(self, data):
        X, Y = data
        clusters = None
        if self.variant == "tree":
            features = self.embedding.create(Y, X, method="pifa")
            clusters = self.indexer.gen(features, threads=self.threads)
        self.model = self.model_type.train(X, Y, C=clusters, threads=self.threads)

    def convert_rows(self, X):
        if not self.saved.exists():
            self.model.save(str(self.saved))
            self.model = self.model_type.load(str(self.saved), is_predict_only=True)
        return X.astype(np.float32)

    def predict(self, rows, k):
        return self.model.predict(rows, only_topk=k, threads=self.threads)

    def read_ranking(self, predicted):
        return rank_sparse(predicted.tocsr())

    def save(self, folder):
        copytree(self.saved, folder, dirs_exist_ok=True)


def make(threads, folder, variant):
    """Return the adapter of one variant: ``tree`` or ``ovr``."""
    return Pecos(threads, folder, variant)
