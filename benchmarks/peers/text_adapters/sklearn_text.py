"""scikit-learn: tf-idf of words and one-vs-rest of linear SVMs, both at their defaults.

Sublinear term counts, the one setting that all comparisons of text classifiers change. A row has
the labels whose SVM says yes; ``top`` gives the best one to rows without any.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from adapters.contract import rank_in_blocks
from exchange import Ranked
from scipy import sparse

from text_adapters.contract import TextAdapter, cut


class SklearnText(TextAdapter):
    """TfidfVectorizer(sublinear_tf=True), OneVsRestClassifier(LinearSVC()), in threads."""

    distributions = ("scikit-learn",)

    def __init__(self, threads, folder):
        super().__init__(threads, folder)
        import joblib
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        self.joblib = joblib
        self.features = TfidfVectorizer(sublinear_tf=True)
        self.model = OneVsRestClassifier(LinearSVC(random_state=0), n_jobs=threads)

    def settings(self):
        return {"sublinear_tf": True, "random_state": 0, "own": "scores above 0"}

    def train(self, problem):
        labels = np.concatenate([np.asarray(row, dtype=np.int64) for row in problem.labels])
        self.labels, columns = np.unique(labels, return_inverse=True)
        rows = np.repeat(np.arange(len(problem.labels)), [len(row) for row in problem.labels])
        shape = (len(problem.labels), len(self.labels))
        Y = sparse.csr_matrix((np.ones(len(rows), np.int64), (rows, columns)), shape)
        self.fit_rows(self.features.fit_transform(problem.texts), Y)

    def fit_rows(self, X, Y):
        """Train the classifiers of all labels."""
        with self.joblib.parallel_backend("threading"):
            self.model.fit(X, Y)

    def rank(self, texts, k):
        X = self.features.transform(texts)
        return rank_in_blocks(self._score, X, k, labels=self.labels)

    def _score(self, rows):
        return self.model.decision_function(rows).reshape(rows.shape[0], -1)

    def decide(self, texts, ranked):
        # Of the labels that are listed, 50 at most.
        return {"own": cut(ranked, 0.0, len(self.labels)), "top": at_least_one(ranked)}

    def model_bytes(self):
        path = Path(self.folder, "model.joblib")
        self.joblib.dump((self.features, self.model), path)
        size = path.stat().st_size
        path.unlink()
        return size


def at_least_one(ranked):
    """Return the labels above 0 of every row, and the best of rows without any."""
    scores = ranked.scores.copy()
    filled = np.diff(ranked.indptr) > 0
    best = ranked.indptr[:-1][filled]
    scores[best] = np.maximum(scores[best], 1.0)
    return cut(Ranked(ranked.indptr, ranked.labels, scores), 0.0, len(scores))


def make(threads, folder):
    """Return the adapter."""
    return SklearnText(threads, folder)
