"""The set with the best expected F for any joint distribution of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError

Floats = NDArray[np.float64]


def maximize_f(
    joint: ArrayLike, sizes: ArrayLike | None = None, empty: float = 0.0
) -> tuple[NDArray[np.int64], float]:
    """Return the labels of the set with the best expected F, and that F.

    ``E F(S) = Σ_(j in S) Σ_s P(y_j = 1, |y| = s) 2 / (s + |S|)``, whatever the dependence of the
    labels: for every size k of S its best labels are those with the largest inner sums, so that
    k sorts find the best of all 2^m sets (Dembczyński, Waegeman, Cheng and Hüllermeier, "An exact
    algorithm for F-measure maximization", NIPS 2011; Waegeman et al., JMLR 15, 2014).

    Parameters
    ----------
    joint : array-like of shape (n_labels, n_sizes)
        ``P(y_j = 1, |y| = sizes[b])``; what is not known counts 0.
    sizes : array-like of shape (n_sizes,), optional
        By default 1, 2, …
    empty : float, default=0.0
        Expected F of the empty set: the probability of no label at all where a truth without
        labels counts 1, or 0 where it counts 0 as in `rmls.metrics`.

    Notes
    -----
    The empty set is returned only where ``empty`` is better than every other set, or no label is
    possible. Ties go to the smaller set and the lower labels. O(m² (S + log m)) for S sizes.

    Examples
    --------
    Two truths of one half each, {0, 1} and {2}: as one set they promise 0.65, alone less.

    >>> labels, value = maximize_f([[0.0, 0.5], [0.0, 0.5], [0.5, 0.0]])
    >>> labels.tolist(), round(value, 3)
    ([0, 1, 2], 0.65)
    """
    table, steps = _read_joint(joint, sizes)
    chosen, values = _choose(np.array([0, len(table)]), table, steps)
    if empty > 0 and empty >= values[0]:
        return np.zeros(0, np.int64), float(empty)
    return np.flatnonzero(chosen), float(values[0])


def choose_f_sets(indptr: NDArray[np.int64], joint: Floats, sizes: ArrayLike) -> NDArray[np.bool_]:
    """Return which entries of many rows are in the best sets; row i owns a slice as in CSR.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_rows + 1,)
    joint : ndarray of float64, shape (n_entries, n_sizes)
        As for `maximize_f`, of the labels that are considered.
    sizes : array-like of shape (n_sizes,)
    """
    return _choose(indptr, joint, np.asarray(sizes, np.float64))[0]


def _choose(
    indptr: NDArray[np.int64], joint: Floats, sizes: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    from rmls.kernels.cpu.decide.gfm import choose_sets

    chosen, values = np.zeros(len(joint), dtype=bool), np.zeros(len(indptr) - 1)
    choose_sets(indptr, joint, sizes, chosen, values)
    return chosen, values


def _read_joint(joint: ArrayLike, sizes: ArrayLike | None) -> tuple[Floats, Floats]:
    table: Any = np.ascontiguousarray(joint, dtype=np.float64)
    if table.ndim != 2:
        raise InputError(f"joint must be 2-d (labels × sizes); got {table.ndim} dimension(s).")
    if not ((table >= 0) & (table <= 1)).all():
        raise InputError("joint must hold probabilities between 0 and 1.")
    steps = np.arange(1.0, table.shape[1] + 1) if sizes is None else np.asarray(sizes, np.float64)
    if steps.shape != (table.shape[1],) or not (steps > 0).all():
        raise InputError(f"sizes must be {table.shape[1]} positive numbers, one a column of joint.")
    return table, steps
