"""Bring raw features to the scale the models are tuned for: rows of about unit length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.resources import require_memory
from rmls.core.sparse import is_mapped, row_blocks, slice_rows, take_rows

Mode = Literal["none", "l2", "log_l2", "standardize", "rescale"]
MODES: tuple[Mode, ...] = ("none", "l2", "log_l2", "standardize", "rescale")

# Centring fills the zeros: from this share on a CSR matrix takes the memory of a dense one anyway.
DENSE_SHARE = 0.5
# Rows rounded in a text file are still of unit length.
UNIT_TOLERANCE = 0.01
# An outlier must not outweigh all other features of its row.
MAX_DEVIATIONS = 8.0
# Enough to see the kind of the numbers; the whole matrix is not scanned for that.
LOOK_AT = 50_000
# Between them a length and its reciprocal are both float32 numbers of full precision.
SHORTEST, LONGEST = 1e-37, 1e37
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class Normalizer:
    """A fitted normalisation; see `fit_normalizer` for the modes.

    Attributes
    ----------
    mode : str
    mean, scale : ndarray of float32, shape (n_features,) or (0,)
        Used by ``standardize`` (both) and ``rescale`` (scale only).
    """

    mode: Mode
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]

    def as_arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return the fitted arrays by the names they have in a model folder."""
        return {"normalizer_mean": self.mean, "normalizer_scale": self.scale}

    @staticmethod
    def sizes(mode: str, n_features: int) -> dict[str, int]:
        """Return the lengths that `as_arrays` has for a mode."""
        if mode not in MODES:
            raise InputError(f"unknown normalisation {mode!r}")
        return {
            "normalizer_mean": n_features if mode == "standardize" else 0,
            "normalizer_scale": n_features if mode in ("standardize", "rescale") else 0,
        }

    def apply(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return normalised rows; ``X`` is left as it is and its structure may be shared."""
        if self.mode == "none":
            return X
        if self.mode == "standardize":
            return self._standardize(X)
        if self.mode == "rescale":
            bound = np.float32(MAX_DEVIATIONS)
            with np.errstate(over="ignore"):
                values = np.clip(X.data * self.scale[X.indices], -bound, bound)
        else:
            # The tenth occurrence of a word says less than the first.
            values = np.log1p(np.maximum(X.data, 0)) if self.mode == "log_l2" else X.data
        return unit_rows(_with_values(X, values))

    def _standardize(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        require_memory(
            12 * X.shape[0] * X.shape[1],
            f"centring {X.shape[0]} rows × {X.shape[1]} features, which fills the zeros,",
            "use normalize='rescale', or pass fewer rows",
        )
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (X.toarray() - self.mean) * self.scale
        # A column that was constant says nothing, however far a new value is from it.
        deviations[:, self.scale == 0] = 0
        # Columns are scaled by 1 / sqrt(d) as well, which makes rows of about unit length.
        bound = np.float32(MAX_DEVIATIONS / np.sqrt(X.shape[1]))
        return _from_dense(np.clip(deviations, -bound, bound, out=deviations))


def _from_dense(values: NDArray[np.float32]) -> sparse.csr_matrix:
    """Return rows without their zeros, where there are any."""
    n_rows, n_columns = values.shape
    # SciPy lists the places of all entries first, which takes as long as all else.
    if not values.size or not values.all():
        return sparse.csr_matrix(values)
    columns = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    ends = np.arange(n_rows + 1, dtype=np.int64) * n_columns
    return sparse.csr_matrix((values.ravel(), columns, ends), values.shape)


def fit_normalizer(
    X: sparse.csr_matrix,
    normalize: str | bool | None = "auto",
    rows: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Normalizer:
    """Choose and fit a normalisation.

    Parameters
    ----------
    X : CSR matrix of float32
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}
        ``l2`` divides rows by their length, ``log_l2`` takes ``log(1 + x)`` first (counts; what is
        negative in a new row counts as 0),
        ``standardize`` centres and scales columns (dense real values), ``rescale`` divides columns
        by their root mean square and then rows by their length (sparse real values with signs).
    rows, weights : ndarray, optional
        The rows to look at, in this order, and their weights.

    Notes
    -----
    ``auto`` leaves rows of unit length alone; takes ``log_l2`` for non-negative whole numbers and
    ``l2`` for other non-negative numbers, both only when less than half of the entries are stored;
    ``standardize`` for everything that is mostly non-zero; ``rescale`` for the rest.

    Examples
    --------
    >>> counts = sparse.csr_matrix(np.array([[3, 0, 0], [0, 0, 4]], dtype=np.float32))
    >>> fit_normalizer(counts).mode
    'log_l2'
    >>> fit_normalizer(sparse.csr_matrix(np.float32([[170.5, 0.2], [182.0, -0.1]]))).mode
    'standardize'
    """
    if normalize in (None, False):
        normalize = "none"
    if normalize == "auto":
        # Distinct rows come in the order of their fingerprints: the first ones are a fair sample.
        mode: Any = choose_mode(X, None if rows is None else rows[:LOOK_AT])
    else:
        mode = normalize
    if mode not in MODES:
        raise InputError(f"normalize must be 'auto' or one of {', '.join(MODES)}; got {mode!r}.")
    if normalize == "log_l2" and X.nnz and X.data.min() < 0:
        raise InputError("normalize='log_l2' needs non-negative features; found a negative value.")
    empty = np.zeros(0, dtype=np.float32)
    if mode not in ("standardize", "rescale"):
        return Normalizer(mode, empty, empty)
    n_rows = X.shape[0] if rows is None else len(rows)
    share = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    with np.errstate(over="ignore"):
        total = share.sum()
    # Weights near the largest float have no finite sum.
    share = share if np.isfinite(total) else share / share.max()
    share = share / share.sum()
    mean, square = _moments(X, rows, share)
    if mode == "rescale":
        # Not centred: a shift would fill the zeros of a sparse matrix.
        root = np.sqrt(square)
        return Normalizer("rescale", empty, _reciprocal(root))
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    # A constant column has a deviation of rounding size; it must not be blown up.
    deviation[deviation <= 1e-6 * np.abs(mean)] = 0.0
    scale = _reciprocal(deviation * np.sqrt(X.shape[1]))
    return Normalizer("standardize", mean.astype(np.float32), scale)


def choose_mode(X: sparse.csr_matrix, rows: NDArray[np.int64] | None = None) -> Mode:
    """Return the mode that ``normalize="auto"`` takes for ``X``, or for some rows of it."""
    n_rows = n_entries = n_lengths = n_unit = 0
    lowest, whole = np.inf, True
    for block in _blocks(X, rows):
        n_rows, n_entries = n_rows + block.shape[0], n_entries + block.nnz
        lengths = np.sqrt(_row_sums(block, block.data.astype(np.float64) ** 2))
        lengths = lengths[lengths > 0]
        n_lengths += len(lengths)
        n_unit += int((np.abs(lengths - 1.0) < UNIT_TOLERANCE).sum())
        lowest = min(lowest, float(block.data.min(initial=np.inf)))
        whole = whole and bool((block.data == np.floor(block.data)).all())
    # One row may have unit length by chance.
    if n_entries == 0 or (n_lengths > 1 and n_unit / n_lengths > 0.99):
        return "none"
    if n_entries >= DENSE_SHARE * n_rows * X.shape[1]:
        return "standardize"
    if lowest < 0:
        return "rescale"
    return "log_l2" if whole else "l2"


def _blocks(X: sparse.csr_matrix, rows: NDArray[np.int64] | None) -> Iterator[sparse.csr_matrix]:
    """Yield rows some at a time: those of a store stay on disk."""
    if rows is None:
        yield from (slice_rows(X, block.start, block.stop) for block in row_blocks(X))
        return
    for start in range(0, len(rows), BLOCK_ROWS):
        yield take_rows(X, rows[start : start + BLOCK_ROWS])


def _moments(
    X: sparse.csr_matrix, rows: NDArray[np.int64] | None, share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted mean and mean square of every column."""
    mean, square = np.zeros((2, X.shape[1]))
    start = 0
    blocks = _blocks(X, rows) if is_mapped(X) else [X if rows is None else X[rows]]
    for block in blocks:
        own = share[start : start + block.shape[0]]
        mean += np.asarray(block.T @ own).ravel()
        values = _with_values(block, block.data.astype(np.float64) ** 2)
        square += np.asarray(values.T @ own).ravel()
        start += block.shape[0]
    return mean, square


def unit_rows(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the rows of ``X`` divided by their Euclidean length; empty rows stay empty.

    Examples
    --------
    >>> unit_rows(sparse.csr_matrix(np.float32([[3, 4], [0, 0]]))).toarray().round(2).tolist()
    [[0.6..., 0.8...], [0.0, 0.0]]
    """
    lengths = np.sqrt(_row_sums(X, X.data.astype(np.float64) ** 2))
    counts = np.diff(X.indptr)
    values = X.data * np.repeat(_reciprocal(lengths), counts)
    extreme = (lengths > 0) & ((lengths < SHORTEST) | (lengths > LONGEST))
    if extreme.any():
        there = np.repeat(extreme, counts)
        values[there] = X.data[there] / np.repeat(lengths, counts)[there]
    return _with_values(X, values)


def _row_sums(X: sparse.csr_matrix, values: NDArray[np.floating]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows, weights=values, minlength=X.shape[0]).astype(np.float64)


def _reciprocal(values: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(divide="ignore", over="ignore"):
        reciprocal = np.where(values > 0, 1.0 / values, 0.0)
    # A float32 ends at 3.4e38: the reciprocal of a smaller number is as large as can be.
    return np.minimum(reciprocal, np.finfo(np.float32).max).astype(np.float32)


def _with_values(X: sparse.csr_matrix, values: NDArray[np.floating]) -> sparse.csr_matrix:
    """Return a matrix with the structure of ``X``, shared, and other values."""
    result = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape, copy=False)
    result.has_canonical_format = True
    return result
