"""Dense columns beside the sparse ones: a Gaussian discriminant of every label, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError
from rmls.core.resources import require_memory
from rmls.kernels.arrays import Pairs
from rmls.kernels.backend import get_backend
from rmls.models.ranker.archive import pack_vectors, round_vectors, unpack_vectors
from rmls.models.ranker.sources import Rows
from rmls.models.shared.training_set import TrainingSet

# Labels that are listed for their dense columns; they take the places of the weakest proposals.
N_FOUND = 30
# Added to the covariance, in units of its mean eigenvalue (docs/text.md).
RIDGE = 1.0
# Rows at the mean of all that every label is given: the mean of two rows says little.
PRIOR_ROWS = 5.0
# Cosine, and how far it is below the best of the row.
N_COLUMNS = 2
# Rows that are summed in single precision, labels that are held in double, at the same time.
BLOCK = 8192
SHORTEST = 1e-30
# Labels for each listed one up to which all are scored.
MAX_RATIO = 32

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class DenseIndex:
    """Discriminants ``v_j . u + b_j`` of centred rows u of length 1.

    With the mean m_j of the rows of a label, shrunk to that of all rows, and S, what rows spread
    inside labels, ``v_j = m_j / S`` and ``b_j = log p_j - m_j . v_j / 2``: the logarithm of the
    odds that a row belongs to the label, if rows are normally distributed around m_j.

    Attributes
    ----------
    center : ndarray of float32, shape (n_dense,)
        Mean of the training rows, before they got length 1.
    vectors : ndarray of float32, shape (n_labels, n_dense)
    bias : ndarray of float32, shape (n_labels,)
    shifts : ndarray of float32, shape (n_labels,)
        The part of the bias that moves rows to the mean of all.
    norms : ndarray of float32, shape (n_labels,)
        Length of m_j in the metric of S; 0 for a label without rows.
    precision, device : str
    """

    center: Floats
    vectors: Floats
    bias: Floats
    shifts: Floats
    norms: Floats
    precision: str = "float32"
    device: str = "cpu"
    kind = "dense"
    n_columns = N_COLUMNS

    def look(self, rows: Rows) -> Floats:
        """Return centred rows of length 1."""
        assert rows.dense is not None
        return unit_vectors(rows.dense, self.center)

    def find(self, seen: Floats, most: int) -> NDArray[np.int32]:
        """Return the labels with the best discriminants, best first; -1 stands for none."""
        n_found = min(N_FOUND, most, len(self.bias))
        backend = get_backend(self.device)
        found, scores = backend.best_labels(seen, self.vectors, self.bias, n_found)
        # A short list may not have places for all of them.
        found = np.take_along_axis(found, np.argsort(-scores, axis=1), axis=1)
        return np.where(self.norms[found] > 0, found, -1).astype(np.int32)

    def score(self, seen: Floats, labels: NDArray[np.int32]) -> Floats:
        """Return a cosine in the metric of S, and how far it is below the best one of the row.

        Neither knows how many rows a label has. Of a rare label these are fewer where one of them
        was held out, which would tell the combination that a held-out row has it.
        """
        discriminants = self._discriminants(seen, labels)
        norms = self.norms[labels]
        out = np.empty((*labels.shape, N_COLUMNS), np.float32)
        centred = discriminants + (self.shifts - self.bias)[labels]
        out[:, :, 0] = centred / np.where(norms > 0, norms, 1)
        out[:, :, 1] = out[:, :, 0] - out[:, :, 0].max(axis=1, keepdims=True)
        return out

    def _discriminants(self, seen: Floats, labels: NDArray[np.int32]) -> Floats:
        backend = get_backend(self.device)
        n_rows, size = labels.shape
        # A product of matrices is so much faster than single ones that it may compute more of them.
        if len(self.bias) <= MAX_RATIO * size:
            every = backend.scores(seen, self.vectors, self.bias)
            return np.take_along_axis(every, labels.astype(np.int64), axis=1)
        # Rows in the place of labels, and labels in that of rows.
        ends = np.arange(0, n_rows * size + 1, size)
        pairs = Pairs(ends, labels.ravel(), np.zeros(0, np.int64))
        found = backend.products_at(pairs, seen, self.vectors, 1).reshape(labels.shape)
        return np.asarray(found + self.bias[labels])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what an archive keeps."""
        plain = {name: getattr(self, name) for name in ("center", "bias", "shifts", "norms")}
        kept = {f"dense_{name}": array for name, array in plain.items()}
        return kept | pack_vectors("dense_vectors", self.vectors, self.precision)


def read_dense(archive: Archive, n_dense: int, n_labels: int, precision: str) -> DenseIndex:
    """Read the discriminants of an archive, refusing parts that do not belong together."""
    sizes = {"center": n_dense, "bias": n_labels, "shifts": n_labels, "norms": n_labels}
    check_arrays(archive, {f"dense_{name}": (np.float32, (n,)) for name, n in sizes.items()})
    center, bias, shifts, norms = (archive.arrays[f"dense_{name}"] for name in sizes)
    if (np.asarray(norms) < 0).any():
        raise ArchiveError(f"{archive.path} is damaged: a length of the dense columns is negative.")
    vectors = unpack_vectors(archive, "dense_vectors", (n_labels, n_dense))
    return DenseIndex(center, vectors, bias, shifts, norms, precision)


def unit_vectors(dense: Floats, center: Floats) -> Floats:
    """Return rows minus their mean, divided by their length.

    Examples
    --------
    >>> unit_vectors(np.float32([[4, 5], [1, 1]]), np.float32([1, 1])).round(2).tolist()
    [[0.6..., 0.8...], [0.0, 0.0]]
    """
    found = dense - center
    # By the largest first: squares of large or of tiny numbers leave float32.
    for power in (np.inf, 2):
        lengths = np.linalg.norm(found, ord=power, axis=1, keepdims=True)
        found /= np.where(lengths > SHORTEST, lengths, 1)
    return found


@dataclass(frozen=True)
class DenseTrainer:
    """Learns the discriminants; one solution of n_dense equations serves all labels."""

    precision: str = "float32"
    device: str = "cpu"
    # A matter of a second, and the rows of a rare label must not be lost.
    learns_rest = True

    def learn(self, data: TrainingSet) -> DenseIndex:
        """Return the discriminants of the labels."""
        assert data.dense is not None
        n_dense, m = data.dense.shape[1], data.n_labels
        require_memory(
            4 * n_dense * (3 * data.n_rows + 2 * m),
            f"{n_dense} dense columns of {data.n_rows} rows and {m} labels",
            "use shorter vectors or fewer rows",
        )
        share = data.weights / data.weights.sum()
        rows = data.dense[data.rows]
        center = (share @ rows).astype(np.float32)
        rows = unit_vectors(rows, center)
        mean, spread = _moments(rows, share)
        # Rotated by a root of S, all is plain products: |R m_j|^2 = m_j . v_j.
        root = linalg.cholesky(spread, lower=True)
        counts = data.positives()
        vectors = np.zeros((m, n_dense), np.float32)
        squares, shifts = np.zeros(m), np.zeros(m)
        by_label = sparse.csr_matrix(data.labels.T)
        by_label.data = data.weights[by_label.indices].astype(np.float32)
        for start in range(0, m, BLOCK):
            part = slice(start, start + BLOCK)
            sums = by_label[part] @ rows - np.outer(counts[part], mean)
            means = sums / (counts[part] + PRIOR_ROWS)[:, None]
            solved = linalg.cho_solve((root, True), means.T).T
            vectors[part], shifts[part] = solved, -solved @ mean
            squares[part] = np.einsum("ij,ij->i", solved, means)
        odds = np.log(np.maximum(counts, 0.5) / data.weights.sum())
        bias = shifts - squares / 2 + odds
        norms = np.sqrt(np.maximum(squares, 0.0))
        return DenseIndex(
            center,
            round_vectors(vectors, self.precision),
            bias.astype(np.float32),
            shifts.astype(np.float32),
            norms.astype(np.float32),
            self.precision,
            self.device,
        )


def _moments(
    rows: Floats, share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of weighted rows and how they spread, with a ridge."""
    n_dense = rows.shape[1]
    mean, spread = share @ rows, np.zeros((n_dense, n_dense))
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK] - mean.astype(np.float32)
        part *= np.sqrt(share[start : start + BLOCK, None]).astype(np.float32)
        spread += part.T @ part
    size = float(np.trace(spread)) / n_dense
    # Where all rows are the same, nothing is learned: any scale will do.
    spread.flat[:: n_dense + 1] += RIDGE * (size if size > SHORTEST else 1.0)
    return mean, spread
