"""LibMultiLabel's linear part: a label tree, and one-vs-rest, at its defaults.

It takes as many threads as the machine has physical cores; no option changes that.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from adapters.contract import Adapter, rank_in_blocks

TOY_ROWS, TOY_LABELS = 300, 150


class LibMultiLabel(Adapter):
    """LIBLINEAR's dual squared-hinge SVM, C = 1; the tree has up to 100 branches per node."""

    distributions = ("libmultilabel",)

    def __init__(self, threads, folder, variant):
        super().__init__(threads, folder)
        from libmultilabel import linear

        self.library = linear
        self.variant = variant

    def settings(self):
        return {"options": "''", "threads": "physical cores", "beam_width": 10}

    def warm_up(self):
        """The tree's k-means sets up its sparse library on first use."""
        if self.variant == "tree":
            rng = np.random.default_rng(0)
            X = sparse.csr_matrix(rng.random((TOY_ROWS, 20)))
            Y = sparse.csr_matrix((rng.random((TOY_ROWS, TOY_LABELS)) < 0.05).astype(float))
            self.train((X, Y))

    def convert_training(self, X, Y):
        return X.astype(np.float64), Y.astype(np.float64)

    def train(self, data):
        X, Y = data
        np.random.seed(0)  # noqa: NPY002 - the tree draws its k-means seeds from the global state
        method = "train_tree" if self.variant == "tree" else "train_1vsrest"
        self.model = getattr(self.library, method)(Y, X, options="", verbose=False)

    def convert_rows(self, X):
        return X.astype(np.float64)

    def predict(self, rows, k):
        # Labels outside the beam come with the score 0; those within it have probabilities.
        unscored = 0.0 if self.variant == "tree" else None
        return rank_in_blocks(self.model.predict_values, rows, k, unscored=unscored)

    def save(self, folder):
        self.library.save_pipeline(str(folder), None, self.model)


def make(threads, folder, variant):
    """Return the adapter of one variant: ``tree`` or ``ovr``."""
    return LibMultiLabel(threads, folder, variant)
