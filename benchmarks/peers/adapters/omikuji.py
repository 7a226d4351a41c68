"""Omikuji: Parabel-style label trees, at its defaults.

It reads its training file inside the call that trains, so that time is counted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adapters.contract import Adapter, rank_pairs


def xmc_lines(X, Y):
    """Yield the lines of the extreme-classification text format, its header first.

    Rows with neither labels nor features would be empty lines and are left out. A row without
    features is its labels alone: Omikuji refuses a space at the end.
    """
    rows = np.flatnonzero(np.diff(X.indptr) + np.diff(Y.indptr))
    yield f"{len(rows)} {X.shape[1]} {Y.shape[1]}"
    for row in rows:
        labels = ",".join(map(str, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]))
        yield " ".join([labels, *(f"{index}:{value:.6g}" for index, value in row_pairs(X, row))])


def row_pairs(X, row):
    """Return the stored entries of a row as (feature, value) pairs of plain numbers."""
    part = range(X.indptr[row], X.indptr[row + 1])
    return [(int(X.indices[i]), float(X.data[i])) for i in part]


class Omikuji(Adapter):
    """Three trees, two-way balanced splits, leaves of at most 100 labels, beam of 10."""

    distributions = ("omikuji",)

    def __init__(self, threads, folder):
        super().__init__(threads, folder)
        import omikuji

        self.library = omikuji

    def settings(self):
        return {"hyper-parameters": "defaults", "beam_size": 10}

    def convert_training(self, X, Y):
        path = Path(self.folder, "train.txt")
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in xmc_lines(X, Y))
        return str(path)

    def train(self, data):
        self.model = self.library.Model.train_on_data(data, n_threads=self.threads)
        self.model.init_prediction_thread_pool(self.threads)

    def convert_rows(self, X):
        return [row_pairs(X, row) for row in range(X.shape[0])]

    def predict(self, rows, k):
        return [self.model.predict(pairs, top_k=k) for pairs in rows]

    def read_ranking(self, predicted):
        return rank_pairs(predicted)

    def save(self, folder):
        self.model.save(str(folder))


def make(threads, folder):
    """Return the adapter."""
    return Omikuji(threads, folder)
