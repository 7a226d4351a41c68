"""±1 labels as a sparse matrix plus rank one, and the leading vectors of what acts on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from rmls.core.errors import InputError
from rmls.core.resources import require_memory

# 8 MB as a dense matrix; above, only products with it are made.
DENSE_SIDE = 1024
LANCZOS_SIDE = 20_000
# Applications to a whole block; Lanczos needs more than k, of one vector each.
KRYLOV_DEPTH = 4
# Columns written out at a time: an action may pass through n x 32 numbers.
WRITE_OUT = 32
# Directions beyond k, so that the last wanted ones are found as surely as the first.
OVERSAMPLE = 20
# Shorter singular vectors have lost the digits that tell them from the long ones.
LEAST_SHARE = 1e-5

Floats = NDArray[np.float64]
Action = Callable[[Floats], Floats]


@dataclass(frozen=True)
class SignedLabels:
    """The matrix ``D (2 Y - 1 o')``: ±1 labels, rows scaled by D, columns shifted by o.

    With ``o = 1`` these are plain ±1 labels, with ``o = 1 + mean`` centred ones. The dense matrix
    is never formed.

    Examples
    --------
    >>> Y = sparse.csr_matrix(np.array([[1, 0], [1, 1]]))
    >>> signed = SignedLabels.of(Y, np.ones(2))
    >>> signed.times(np.eye(2)).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    >>> signed.centred().transposed_times(np.ones((2, 1))).ravel().tolist()
    [0.0, 0.0]
    """

    Y: sparse.csr_matrix
    Y_t: sparse.csr_matrix
    scale: Floats
    offset: Floats

    @classmethod
    def of(cls, Y: sparse.csr_matrix, weights: Floats) -> SignedLabels:
        """Return plain ±1 labels whose rows carry the square root of their weight."""
        Y = Y.astype(np.float64)
        return cls(Y, sparse.csr_matrix(Y.T), np.sqrt(weights), np.ones(int(Y.shape[1])))

    @property
    def mean(self) -> Floats:
        """Weighted mean of the ±1 columns before any shift."""
        weights = self.scale**2
        return np.asarray(2 * (self.Y_t @ weights) / weights.sum() - 1)

    def centred(self) -> SignedLabels:
        """Return the labels with their weighted mean taken off."""
        return SignedLabels(self.Y, self.Y_t, self.scale, 1 + self.mean)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and labels."""
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    def times(self, V: Floats) -> Floats:
        """Return the matrix times a block of label vectors."""
        # +-1 labels are 2 Y - 1 o': a sparse product and a rank-one correction, O(nnz + n + m) a
        # column.
        return self.scale[:, None] * (2 * (self.Y @ V) - self.offset @ V)

    def transposed_times(self, U: Floats) -> Floats:
        """Return the transposed matrix times a block of row vectors."""
        scaled = self.scale[:, None] * U
        return np.asarray(2 * (self.Y_t @ scaled) - np.outer(self.offset, scaled.sum(axis=0)))

    def columns(self, labels: NDArray[np.int64]) -> Floats:
        """Return some columns, dense."""
        dense = 2 * self.Y[:, labels].toarray() - self.offset[labels]
        return np.asarray(self.scale[:, None] * dense)


def leading_vectors(action: Action, size: int, k: int, seed: int) -> Floats:
    """Return the ``k`` leading eigenvectors of a symmetric positive operator, largest first.

    Parameters
    ----------
    action : callable
        Maps a (size, j) block to the operator times it.
    size : int
    k : int
        At most ``size``; one less where the operator is too large to be written out.
    seed : int
        Seed of the start vector.

    Notes
    -----
    Up to 1,024 rows the operator is written out, a few columns at a time, and decomposed. Above, it
    is touched through ``action`` alone: by Lanczos iterations to full precision up to 20,000 rows,
    then by a randomised block Krylov method (Musco and Musco, 2015) of depth 4, on whole blocks.
    """
    if k > size:
        raise InputError(f"at most {size} components exist here; got n_components={k}.")
    if size <= DENSE_SIDE:
        unit = np.eye(size)
        blocks = (unit[:, start : start + WRITE_OUT] for start in range(0, size, WRITE_OUT))
        dense = np.hstack([action(block) for block in blocks])
        # Rounding, and conjugate gradients in the action, leave it symmetric only nearly.
        _, vectors = linalg.eigh((dense + dense.T) / 2, subset_by_index=[size - k, size - 1])
        return np.ascontiguousarray(vectors[:, ::-1])
    _require_room(size, k)
    rng = np.random.default_rng(seed)
    if size > LANCZOS_SIDE:
        return _block_krylov(action, rng.standard_normal((size, min(k + OVERSAMPLE, size))), k)
    start = rng.standard_normal(size)
    # Lanczos needs products with vectors only: n x n or m x m matrices are never formed.
    operator = LinearOperator(
        (size, size), matvec=lambda v: action(v.reshape(-1, 1)).ravel(), dtype=np.float64
    )
    values, vectors = eigsh(operator, k=min(k, size - 1), which="LA", v0=start)
    return np.ascontiguousarray(vectors[:, np.argsort(-values)])


def _require_room(size: int, k: int) -> None:
    """Refuse a search whose vectors would not fit: those of Lanczos, or blocks and their images."""
    blocks = 2 * KRYLOV_DEPTH + 3
    width = 2 * k + 1 if size <= LANCZOS_SIDE else blocks * (k + OVERSAMPLE)
    require_memory(
        8 * size * width,
        f"finding {k} directions of {size} labels or rows",
        "use fewer components",
    )


def leading_labels(labels: SignedLabels, k: int, seed: int) -> Floats:
    """Return the leading right singular vectors of a label matrix, at most ``k``, largest first.

    Found on its smaller side, so that the cost follows the fewer of rows and labels; where that is
    the rows, directions without any weight are left out.
    """
    n_rows, n_labels = labels.shape
    if n_labels <= n_rows:
        # Right singular vectors of Y are eigenvectors of Y'Y, here by two sparse products.
        return leading_vectors(
            lambda V: labels.transposed_times(labels.times(V)), n_labels, min(k, n_labels), seed
        )
    U = leading_vectors(
        lambda U: labels.times(labels.transposed_times(U)), n_rows, min(k, n_rows), seed
    )
    return unit_columns(labels.transposed_times(U))


def unit_columns(V: Floats) -> Floats:
    """Divide columns by their lengths, those of next to none left out; at least one is returned."""
    lengths = np.linalg.norm(V, axis=0)
    kept = lengths > LEAST_SHARE * lengths.max()
    if not kept.any():
        return np.zeros_like(V[:, :1])
    return np.ascontiguousarray(V[:, kept] / lengths[kept])


def _block_krylov(action: Action, start: Floats, k: int) -> Floats:
    """Return the best ``k`` vectors of the space that four applications to a block span."""
    blocks, images = [np.linalg.qr(start)[0]], []
    for depth in range(KRYLOV_DEPTH):
        images.append(action(blocks[-1]))
        if depth + 1 < KRYLOV_DEPTH:
            following = images[-1]
            # Gram and Schmidt twice: one round leaves what rounding hides, the second takes it off.
            for _ in range(2):
                for block in blocks:
                    following = following - block @ (block.T @ following)
            blocks.append(np.linalg.qr(following)[0])
    # Rayleigh and Ritz: the operator seen from inside the spanned space, 4 (k + 20) wide.
    inner = np.block([[block.T @ image for image in images] for block in blocks])
    size = len(inner)
    _, vectors = linalg.eigh((inner + inner.T) / 2, subset_by_index=[size - k, size - 1])
    parts = np.split(vectors[:, ::-1], KRYLOV_DEPTH)
    combined: Floats = sum(block @ part for block, part in zip(blocks, parts, strict=True))
    return np.ascontiguousarray(combined)
