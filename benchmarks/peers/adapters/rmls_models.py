"""The methods of rmls itself, in a process like the peers'.

The compiled kernels are loaded (on a machine's first run: compiled) before the clock starts, as
the peers' libraries are; that time is recorded apart.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from exchange import Ranked
from scipy import sparse

from adapters.contract import Adapter


class RmlsModel(Adapter):
    """Any estimator of `rmls.models` by name, at its defaults or with given parameters.

    With ``probabilities=True`` among them its scores are its probabilities, sorted by these.
    """

    distributions = ("rmls",)

    def __init__(self, threads, folder, method="RMLS", parameters=None):
        super().__init__(threads, folder)
        from rmls import models

        self.kind = getattr(models, method)
        self.parameters = dict(parameters or {})
        self.by_probability = bool(self.parameters.pop("probabilities", False))
        if "n_jobs" in self.kind().get_params():
            self.parameters.setdefault("n_jobs", threads)

    def settings(self):
        return self.parameters

    def warm_up(self):
        rng = np.random.default_rng(0)
        X = sparse.csr_matrix(rng.random((60, 8)), dtype=np.float32)
        Y = sparse.csr_matrix(rng.random((60, 5)) < 0.4, dtype=np.float32)
        sizes = {"n_components": 2} if "n_components" in self.parameters else {}
        self.kind(**{**self.parameters, **sizes}).fit(X, Y).rank(X, 3)

    def train(self, data):
        self.model = self.kind(**self.parameters).fit(*data)

    def predict(self, rows, k):
        return self.model.rank(rows, k)

    def read_ranking(self, predicted):
        if not self.by_probability:
            return Ranked(predicted.indptr, predicted.labels, predicted.scores)
        scores = predicted.probabilities
        rows = np.repeat(np.arange(len(predicted.indptr) - 1), np.diff(predicted.indptr))
        order = np.lexsort((-scores, rows))
        return Ranked(predicted.indptr, predicted.labels[order], scores[order])

    def save(self, folder):
        self.model.save(Path(folder, "model"))


def make(threads, folder, **options):
    """Return the adapter of one estimator."""
    return RmlsModel(threads, folder, **options)
