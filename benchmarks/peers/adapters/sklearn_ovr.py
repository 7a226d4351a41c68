"""scikit-learn: one-vs-rest of linear SVMs at their defaults, over labels that have positives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adapters.contract import Adapter, rank_in_blocks


class OneVsRest(Adapter):
    """Squared hinge, C = 1, in threads: LIBLINEAR lets go of Python's lock while it trains."""

    distributions = ("scikit-learn",)

    def __init__(self, threads, folder):
        super().__init__(threads, folder)
        import joblib
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        self.joblib = joblib
        self.model = OneVsRestClassifier(LinearSVC(random_state=0), n_jobs=threads)

    def settings(self):
        return {"parameters": "defaults", "random_state": 0}

    def convert_training(self, X, Y):
        self.labels = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        return X.astype(np.float64), Y[:, self.labels].astype(np.int64)

    def train(self, data):
        with self.joblib.parallel_backend("threading"):
            self.model.fit(*data)

    def convert_rows(self, X):
        return X.astype(np.float64)

    def predict(self, rows, k):
        return rank_in_blocks(self._score, rows, k, labels=self.labels)

    def _score(self, rows):
        return self.model.decision_function(rows).reshape(rows.shape[0], -1)

    def save(self, folder):
        self.joblib.dump(self.model, Path(folder, "model.joblib"))


def make(threads, folder):
    """Return the adapter."""
    return OneVsRest(threads, folder)
