"""fastText: one linear layer over averaged word vectors, one-vs-all loss.

It takes text: every feature becomes a word, repeated as often as its count. Its defaults but for
the passes: 25, as in its own tutorial on multi-label data. The tutorial's learning rate of 0.5
ends in "Encountered NaN" on these bags of words. It reads its training file inside the call that
trains.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from adapters.contract import Adapter, rank_entries

DISTRIBUTIONS = ("fasttext", "fasttext-numpy2")
MAX_REPEATS = 20
LEVELS = 4
LABEL = "__label__"
SETTINGS = {"loss": "ova", "epoch": 25}
# Version 0.9.3 fills one tenth of the word vectors per thread (all of it where 10 divides their
# length): with fewer than ten, the rest is what happened to be in memory, and training ends in NaN
# or in noise now and then.
MIN_THREADS = 10


def repeats(values):
    """Return how often the word of each feature value is written.

    Counts are taken as they are, up to 20. Other positive values are spread over 1 to 4 by
    their share of the largest; zero and negative values are left out.
    """
    values = np.asarray(values, dtype=np.float64)
    if np.all(values == np.rint(values)):
        return np.clip(values, 0, MAX_REPEATS).astype(int)
    largest = values.max() if len(values) else 1.0
    shares = np.ceil(LEVELS * values / largest) if largest > 0 else np.zeros(len(values))
    return np.clip(shares, 0, LEVELS).astype(int)


def feature_words(X):
    """Return one line of words per row: feature 7 with the value 2 is written ``f7 f7``."""
    times = repeats(X.data)
    words = [
        " ".join([f"f{index}"] * times[i]) if times[i] else "" for i, index in enumerate(X.indices)
    ]
    bounds = X.indptr
    return [
        " ".join(filter(None, words[bounds[row] : bounds[row + 1]])) for row in range(X.shape[0])
    ]


def labelled_lines(X, Y):
    """Yield the lines of a training file; rows without labels are left out."""
    for row, words in enumerate(feature_words(X)):
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        if len(labels):
            yield " ".join(f"{LABEL}{label}" for label in labels) + f" {words}"


def label_numbers(labels):
    """Return the label indices in an array of fastText's label names."""
    return [int(label[len(LABEL) :]) for label in labels]


def rank_named(predicted):
    """Turn fastText's names and scores of every row into `Ranked`."""
    labels = [label_numbers(row) for row in predicted[0]]
    rows = np.repeat(np.arange(len(labels)), [len(row) for row in labels])
    scores = np.concatenate([np.asarray(row, dtype=np.float64) for row in predicted[1]])
    flat = np.array([label for row in labels for label in row], dtype=np.int64)
    return rank_entries(len(labels), rows, flat, scores)


def import_library(threads):
    """Import fastText, and keep its threads on no more cores than the others get."""
    import fasttext

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    return fasttext


class FastText(Adapter):
    """Vectors of 100 numbers, 25 passes, learning rate 0.1.

    Ten threads at least, on no more cores than the others get.
    """

    distributions = DISTRIBUTIONS

    def __init__(self, threads, folder):
        super().__init__(max(threads, MIN_THREADS), folder)
        self.library = import_library(threads)

    def settings(self):
        return {**SETTINGS, "thread": self.threads}

    def convert_training(self, X, Y):
        path = Path(self.folder, "train.txt")
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in labelled_lines(X, Y))
        return str(path)

    def train(self, data):
        self.model = self.library.train_supervised(
            input=data, thread=self.threads, verbose=0, **SETTINGS
        )

    def convert_rows(self, X):
        return feature_words(X)

    def predict(self, rows, k):
        return self.model.predict(rows, k=k)

    def read_ranking(self, predicted):
        return rank_named(predicted)

    def save(self, folder):
        self.model.save_model(str(Path(folder, "model.bin")))


def make(threads, folder):
    """Return the adapter."""
    return FastText(threads, folder)
