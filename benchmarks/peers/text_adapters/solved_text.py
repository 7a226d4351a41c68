"""scikit-learn's features and its one-vs-rest problem, solved by the solver of rmls.

The problem is that of ``LinearSVC()``: squared hinge, C = 1, a bias that is part of the norm, every
row for every label. Its solution is unique, so that the quality is scikit-learn's; the time is not.
For sets on which scikit-learn itself would take hours. Weights below 0.001 are left out.
"""

from __future__ import annotations

import numpy as np
from adapters.contract import rank_in_blocks
from scipy import sparse

from text_adapters.contract import cut
from text_adapters.sklearn_text import SklearnText, at_least_one

LABELS_AT_ONCE = 200
TOLERANCE, MAX_EPOCHS, PRUNE = 0.01, 1000, 0.001


class SolvedText(SklearnText):
    """TfidfVectorizer(sublinear_tf=True) and the classifiers of LinearSVC()."""

    distributions = ("rmls",)

    def settings(self):
        return {
            "sublinear_tf": True,
            "C": 1.0,
            "tolerance": TOLERANCE,
            "prune": PRUNE,
            "own": "scores above 0",
        }

    def fit_rows(self, X, Y):
        X, Y = X.astype(np.float32), Y.tocsc()
        parts = [
            self._solve(X, Y[:, start : start + LABELS_AT_ONCE])
            for start in range(0, Y.shape[1], LABELS_AT_ONCE)
        ]
        self.weights = sparse.hstack([weights for weights, _ in parts], format="csr")
        self.bias = np.concatenate([bias for _, bias in parts])

    def _solve(self, X, Y):
        from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem
        from rmls.kernels.cpu.ranker.dual import solve_labels

        (n, d), m = X.shape, Y.shape[1]
        rows = np.empty((m, n), np.int32)
        for label in range(m):
            relevant = np.zeros(n, dtype=bool)
            relevant[Y.indices[Y.indptr[label] : Y.indptr[label + 1]]] = True
            rows[label] = np.concatenate([np.flatnonzero(relevant), np.flatnonzero(~relevant)])
        counts = np.diff(Y.indptr).astype(np.int64)
        pairs = Pairs(np.arange(m + 1, dtype=np.int64) * n, rows.ravel(), counts)
        squares = np.asarray(X.multiply(X).sum(axis=1), np.float32).ravel()
        problem = Problem(
            X.indptr.astype(np.int64),
            X.indices.astype(np.uint32),
            X.data,
            squares,
            np.ones(n, np.float32),
            np.ones(m, np.float32),
            np.zeros(0, dtype=bool),
            np.zeros(0, np.float32),
            DUAL_LOSSES.index("squared_hinge"),
            np.float32(TOLERANCE),
            MAX_EPOCHS,
            np.float32(PRUNE),
        )
        bias = np.zeros(m, np.float32)
        labels, duals = np.arange(m), np.zeros(m * n, np.float32)
        lengths, indices, values = solve_labels(problem, pairs, duals, labels, d, bias)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        by_label = sparse.csr_matrix((values, indices.astype(np.int32), indptr), (m, d))
        return by_label.T.tocsr(), bias

    def rank(self, texts, k):
        X = self.features.transform(texts).astype(np.float32)
        return rank_in_blocks(self._score, X, k, labels=self.labels)

    def _score(self, rows):
        return (rows @ self.weights).toarray() + self.bias

    def decide(self, texts, ranked):
        return {"own": cut(ranked, 0.0, len(self.labels)), "top": at_least_one(ranked)}

    def model_bytes(self):
        weights = self.weights
        return weights.data.nbytes + weights.indices.nbytes + weights.indptr.nbytes


def make(threads, folder):
    """Return the adapter."""
    return SolvedText(threads, folder)
