"""Vectors of rows and labels: what proposes labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rmls.core.labels import LabelSpace
from rmls.core.options import read_seed
from rmls.kernels import cpu
from rmls.models.rmls.objective import check_options
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.schedule import count_passes, count_rows, learning_rates
from rmls.models.rmls.sgd import run_passes

TILE_LABELS = 1024

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Representation:
    """Scores ``activation(x W + b) . l_j + c_j`` of normalised rows.

    Attributes
    ----------
    features : ndarray of float32, shape (n_features, k)
    feature_bias : ndarray of float32, shape (k,)
    labels : ndarray of float32, shape (n_labels, k)
    label_bias : ndarray of float32, shape (n_labels,)
    activation : str
    """

    features: Floats
    feature_bias: Floats
    labels: Floats
    label_bias: Floats
    activation: str

    def hidden(self, X: sparse.csr_matrix, start: int, stop: int) -> Floats:
        """Return the vectors of rows ``start`` to ``stop``."""
        part = X[start:stop]
        out = np.empty((part.shape[0], self.features.shape[1]), np.float32)
        cpu.multiply_rows(
            part.indptr, part.indices, part.data, self.features, out, 0, part.shape[0]
        )
        out += self.feature_bias
        if self.activation == "tanh":
            np.tanh(out, out=out)
        elif self.activation == "relu":
            np.maximum(out, 0, out=out)
        return out

    def scores(self, hidden: Floats, first: int = 0, last: int | None = None) -> Floats:
        """Return the scores of labels ``first`` to ``last``."""
        result: Floats = hidden @ self.labels[first:last].T
        result += self.label_bias[first:last]
        return result

    def search(self, hidden: Floats, size: int) -> tuple[Any, Any, Any]:
        """Return the memory of `cpu.take_best` with the best labels of every row in it.

        Labels are scored in tiles that stay in the cache while the best of them are taken.
        """
        keys, counts, lowest = cpu.room_for(len(hidden), size)
        rows, labels = np.arange(len(hidden)), np.arange(len(self.labels), dtype=np.int32)
        for first in range(0, len(labels), TILE_LABELS):
            tile = self.scores(hidden, first, first + TILE_LABELS)
            part = labels[first : first + TILE_LABELS]
            cpu.offer_scores(tile, part, rows, size, keys, counts, lowest)
        return keys, counts, lowest


def join(parts: list[Representation]) -> Representation:
    """Return one representation whose scores are the mean of the scores of the parts.

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> parts = [Representation(one, one[0], a * one, one[0], "linear") for a in (1, 3)]
    >>> joined = join(parts)
    >>> joined.scores(joined.hidden(sparse.csr_matrix(one), 0, 1)).tolist()
    [[5.0]]
    """
    if len(parts) == 1:
        return parts[0]
    share = np.float32(1 / len(parts))
    return Representation(
        np.concatenate([part.features for part in parts], axis=1),
        np.concatenate([part.feature_bias for part in parts]),
        np.concatenate([share * part.labels for part in parts], axis=1),
        np.asarray(np.mean([part.label_bias for part in parts], axis=0), dtype=np.float32),
        parts[0].activation,
    )


def train_representation(
    options: RMLS,
    space: LabelSpace,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    rows: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> Representation:
    """Train vectors on normalised rows with the settings of an RMLS, and nothing besides them."""
    model: RMLS = clone(options)
    check_options(model)
    model._space = space
    training = model._start(X, Y, rows, weights, read_seed(model.random_state))
    total = count_passes(model.max_iter, count_rows(weights))
    run_passes(
        model._sgd,
        training,
        range(total),
        lambda number: learning_rates(model.learning_rate, model.schedule, number, total),
        None,
        model.verbose,
    )
    params = model._sgd.params
    return Representation(params.W, params.b, params.L, params.c, model.activation)
