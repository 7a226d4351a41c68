"""Stratified folds for many labels: every label spread over the folds as evenly as possible."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.core.labels import read_labels
from rmls.core.options import check_share, check_whole, read_seed
from rmls.core.resources import on_one_thread, require_memory

if TYPE_CHECKING:
    from rmls.kernels.cpu.imbalance.stratify import Labels, Spread

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

# A share of 0.29 of 100 rows is 29 rows, though the product of floats is below 29.
ROUNDING = 1e-6
# Shares such as 1/3 rarely have the sum 1 exactly; they are divided by it.
SUM_TOLERANCE = 1e-6
# Three temporary arrays of floats and one of int32 per label and fold.
CELL_BYTES = 28


@on_one_thread
def assign_folds(
    Y: Any, shares: Sequence[float], *, n_passes: int = 50, random_state: Any = 0
) -> Indices:
    """Divide the rows into folds of given sizes so that every label is divided alike.

    Parameters
    ----------
    Y : 0/1 matrix, sparse matrix, frame, lists of label names, or 1-d classes; n_samples rows
    shares : sequence of float
        The share of the rows that each fold gets; at least two, with sum 1.
    n_passes : int, default=50
        Passes over the rows that swap rows between folds. 0 is the plain method of the paper.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    ndarray of int64, shape (n_samples,)
        The fold of every row.

    Notes
    -----
    The sizes of the folds are exactly ``shares * n_samples``, rounded by largest remainder. A label
    is even when every fold holds its share of the label's rows rounded down or up. Rows without
    labels are spread like the rows of a label; labels without rows change nothing, nor does the
    order of the columns. The order of the rows matters, as in every shuffled split.

    Rows are assigned by iterative stratification. Then pairs of rows are swapped to lower the
    squared distance from even, divided by the label's number of rows and summed over labels and
    folds. Early passes also accept swaps that raise the sum a little. The best folds seen are
    returned, so that they are never less even by that sum than with ``n_passes=0``.

    References
    ----------
    Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label data", ECML PKDD 2011.

    Dueck and Scheuer, "Threshold accepting", Journal of Computational Physics 90, 1990.

    Examples
    --------
    >>> Y = [["law"], ["law"], ["law", "tax"], ["law", "tax"], ["tax"], ["tax"]]
    >>> folds = assign_folds(Y, [0.5, 0.5])
    >>> [np.bincount(folds[rows]).tolist() for rows in ([0, 1, 2, 3], [2, 3, 4, 5])]
    [[2, 2], [2, 2]]
    """
    check_whole("n_passes", n_passes, 0)
    parts = _read_shares(shares)
    matrix = read_labels(Y)[1]
    sizes = _round_sizes(parts, matrix.shape[0])
    generator = np.random.default_rng(read_seed(random_state))
    matrix, rows = _standardise(matrix, generator)
    folds = np.empty(len(rows), np.int64)
    folds[rows] = _spread_rows(matrix, parts, sizes, n_passes)
    return folds


class StratifiedFolds:
    """Cross-validation over folds in which every label is as frequent as in all rows.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; each is the test set once.
    shares : sequence of float, optional
        The share of the rows in each of the `n_splits` folds; equal by default.
    n_passes : int, default=50
        As in `assign_folds`.
    random_state : int, RandomState or None, default=0

    See Also
    --------
    assign_folds : The folds themselves, for training, validation and test sets.
    sklearn.model_selection.KFold : Plain shuffled folds, with ``shuffle=True``.

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 1], [0, 1]])
    >>> for train, test in StratifiedFolds(2).split(None, Y):
    ...     print(Y[train].sum(axis=0), Y[test].sum(axis=0))
    [2 2] [2 2]
    [2 2] [2 2]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shares: Sequence[float] | None = None,
        n_passes: int = 50,
        random_state: Any = 0,
    ) -> None:
        check_whole("n_splits", n_splits, 2)
        check_whole("n_passes", n_passes, 0)
        if shares is not None and len(_read_shares(shares)) != n_splits:
            raise InputError(f"shares has {len(shares)} members for {n_splits} folds.")
        self.n_splits = n_splits
        self.shares = shares
        self.n_passes = n_passes
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield the training and the test rows of every fold, in ascending order.

        Parameters
        ----------
        X : array-like or sparse matrix with n_samples rows, or None
            Only its number of rows is looked at.
        y : labels in any form that `assign_folds` takes
        groups : ignored
            With a warning: rows of one group may land on both sides.

        Yields
        ------
        train, test : ndarray of int64
        """
        if groups is not None:
            message = "groups is ignored: rows of one group may be on both sides of a split."
            warnings.warn(message, RmlsWarning, stacklevel=2)
        shares = [1 / self.n_splits] * self.n_splits if self.shares is None else self.shares
        folds = assign_folds(y, shares, n_passes=self.n_passes, random_state=self.random_state)
        n_rows = len(folds) if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != len(folds):
            raise InputError(
                f"y has {len(folds)} rows but X has {n_rows}; both need one row per sample."
            )
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the arguments are ignored."""
        return self.n_splits

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"StratifiedFolds({values})"


def _read_shares(shares: Sequence[float]) -> Floats:
    values = list(shares)
    if len(values) < 2:
        raise InputError(f"shares needs at least two members; got {len(values)}.")
    for position, share in enumerate(values):
        check_share(f"shares[{position}]", share)
    total = float(np.sum(values))
    if abs(total - 1) > SUM_TOLERANCE:
        raise InputError(f"shares must have the sum 1; got {total:g}.")
    return np.asarray(values, dtype=np.float64) / total


def _round_sizes(shares: Floats, n_samples: int) -> Indices:
    """Return whole sizes with the sum ``n_samples``, by largest remainder."""
    n_folds = len(shares)
    if n_samples < n_folds:
        raise InputError(
            f"Y has {n_samples} rows for {n_folds} folds; every fold needs at least one row."
        )
    exact = shares * n_samples
    sizes = np.floor(exact + ROUNDING).astype(np.int64)
    # The negated remainder; rounded, so that equal shares tie and the first fold wins.
    largest = np.argsort(np.round(sizes - exact, 6), kind="stable")
    sizes[largest[: n_samples - sizes.sum()]] += 1
    if sizes.min() == 0:
        raise InputError(
            f"shares gives fold {sizes.argmin()} less than one of {n_samples} rows; "
            "every fold needs at least one row."
        )
    return sizes


def _standardise(
    Y: sparse.csr_matrix, generator: np.random.Generator
) -> tuple[sparse.csr_matrix, Indices]:
    """Return ``Y`` in an order of its own, and which row of ``Y`` each of its rows is.

    Rows are shuffled, which leaves no choice between equals to the kernels. Columns are sorted by
    count and by the rows they hold, so that their order in ``Y`` is forgotten. Labels without rows
    are dropped; rows without labels share a label of their own.
    """
    rows = generator.permutation(Y.shape[0])
    bare = (np.diff(Y.indptr) == 0).astype(np.int32)
    matrix = sparse.csc_matrix(
        sparse.hstack([Y, sparse.csr_matrix(bare[:, None])], format="csr")[rows]
    )
    counts = np.diff(matrix.indptr)
    # A random number for every row, and for a column their wrapping sum: different columns have
    # different sums but for a chance near 2**-64.
    marks = generator.integers(2**64, size=len(rows), dtype=np.uint64)
    fingerprints = matrix.astype(np.uint64).T @ marks
    # Ascending counts: labels without rows come first and are cut off.
    order = np.lexsort((fingerprints, counts))
    sorted_matrix = matrix[:, order[np.count_nonzero(counts == 0) :]].tocsr()
    sorted_matrix.sort_indices()
    return sorted_matrix, rows.astype(np.int64)


def _spread_rows(
    matrix: sparse.csr_matrix, shares: Floats, sizes: Indices, n_passes: int
) -> Indices:
    """Return the folds of the rows of a matrix made by `_standardise`."""
    from rmls.kernels.cpu.imbalance import stratify as kernels

    labels, spread = _prepare(matrix, shares)
    counts = np.diff(labels.label_start)
    kernels.assign_rarest_first(labels, spread, kernels.make_queue(counts), sizes.copy())
    return _swap_rows(labels, spread, _plan_tolerances(counts, n_passes))


def _prepare(matrix: sparse.csr_matrix, shares: Floats) -> tuple[Labels, Spread]:
    """Return the matrix as the kernels want it, and folds without rows."""
    from rmls.kernels.cpu.imbalance import stratify as kernels

    (n_samples, n_labels), n_folds = matrix.shape, len(shares)
    # The second part is the table of waiting rows, one for every pair of folds.
    needed = CELL_BYTES * n_labels * n_folds + 8 * n_folds**2
    require_memory(needed, f"stratifying {n_folds} folds", "ask for fewer folds")
    by_label = matrix.tocsc()
    counts = np.diff(by_label.indptr).astype(np.int64)
    labels = kernels.Labels(
        row_start=matrix.indptr.astype(np.int64),
        row_labels=matrix.indices.astype(np.int32),
        label_start=by_label.indptr.astype(np.int64),
        label_rows=by_label.indices.astype(np.int32),
        # A row too many matters more to a label that has few.
        weights=1 / counts,
        row_weights=matrix @ (1 / counts),
    )
    exact = counts[:, None] * shares
    # The excess of a fold without rows is -(share rounded down + share rounded up).
    even = np.floor(exact + ROUNDING) + np.ceil(exact - ROUNDING)
    fold = np.full(n_samples, kernels.NONE, dtype=np.int64)
    return labels, kernels.Spread(fold, -even.astype(np.int32))


def _plan_tolerances(counts: Indices, n_passes: int) -> Floats:
    """Return what a swap may cost at most in every pass.

    Nothing in the first pass, which is enough where rows have few labels, and in the last. Between
    them it falls from 4 / c of a median label with c rows to 2 / c of the most frequent one. Moving
    a row of an even label costs up to 2 / c, so that labels settle in the order from the rare to
    the frequent. Labels with one row are always even and say nothing about where to start.
    """
    tolerances = np.zeros(n_passes)
    if n_passes > 2 and counts.max() > 1:
        start, stop = 4 / np.median(counts[counts > 1]), 2 / counts.max()
        tolerances[1:-1] = np.geomspace(start, stop, n_passes - 2)
    return tolerances


def _swap_rows(labels: Labels, spread: Spread, tolerances: Floats) -> Indices:
    """Swap rows, one pass per tolerance, until all labels are even; return the best folds seen."""
    from rmls.kernels.cpu.imbalance import stratify as kernels

    n_folds = spread.excess.shape[1]
    waiting = np.full((n_folds, n_folds), kernels.NONE, dtype=np.int64)
    best, lowest = spread.fold.copy(), kernels.measure_unevenness(labels, spread)
    for tolerance in tolerances:
        if lowest == 0:
            break
        kernels.swap_rows(labels, spread, waiting, tolerance)
        unevenness = kernels.measure_unevenness(labels, spread)
        if unevenness < lowest:
            best, lowest = spread.fold.copy(), unevenness
    return best
