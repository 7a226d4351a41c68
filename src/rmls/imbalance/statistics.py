"""How unequal the labels of a data set are, in the measures of the literature.

References
----------
Charte, Rivera, del Jesus and Herrera, "Addressing imbalance in multilabel classification:
measures and random resampling algorithms", Neurocomputing 163, 2015 (IRLbl, MeanIR, CVIR).

Charte, Rivera, del Jesus and Herrera, "Concurrence among imbalanced labels and its influence
on multilabel resampling algorithms", HAIS 2014 (SCUMBLE).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.sparse import as_label_csr, label_counts

Floats = NDArray[np.float64]


def imbalance_ratio(Y: Any) -> Floats:
    """Return, for every label, the rows without it divided by the rows with it.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        ``inf`` for labels that no row has.

    Examples
    --------
    >>> imbalance_ratio([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]]).tolist()
    [0.3333333333333333, 3.0, inf]
    """
    matrix = _check(Y)
    counts = label_counts(matrix)
    return _divide(matrix.shape[0] - counts, counts)


def mean_imbalance_ratio(Y: Any) -> float:
    """Return the mean of `imbalance_ratio` over the labels that occur.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Returns
    -------
    float
        ``nan`` where no label occurs.

    Examples
    --------
    >>> mean_imbalance_ratio([[1, 0], [1, 1], [1, 0], [1, 0]])
    1.5
    """
    return _mean_finite(imbalance_ratio(Y))


def irlbl(Y: Any) -> Floats:
    """Return, for every label, the count of the most frequent label divided by its own.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        1 for the most frequent label, ``inf`` for labels that no row has.

    Examples
    --------
    >>> irlbl([[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 0, 0]]).tolist()
    [1.0, 2.0, inf]
    """
    counts = label_counts(_check(Y))
    return _divide(np.full_like(counts, counts.max()), counts)


def mean_ir(Y: Any) -> float:
    """Return MeanIR, the mean of `irlbl` over the labels that occur.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Returns
    -------
    float
        At least 1; ``nan`` where no label occurs.

    Examples
    --------
    >>> mean_ir([[1, 0], [1, 1], [1, 0], [1, 0]])
    2.5
    """
    return _mean_finite(irlbl(Y))


def cvir(Y: Any) -> float:
    """Return CVIR, the coefficient of variation of `irlbl` over the labels that occur.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Returns
    -------
    float
        0 where a single label occurs, ``nan`` where none does.

    Notes
    -----
    The standard deviation divides by the number of labels less one, as published.

    Examples
    --------
    >>> round(cvir([[1, 0], [1, 1], [1, 0], [1, 0]]), 4)
    0.8485
    """
    ratios = irlbl(Y)
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios) < 2:
        return 0.0 if len(ratios) else float("nan")
    return float(ratios.std(ddof=1) / ratios.mean())


def scumble_per_row(Y: Any) -> Floats:
    """Return, for every row, how much it mixes frequent and rare labels.

    ``1 - geometric mean / arithmetic mean`` of `irlbl` over the labels of the row.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        From 0 (all labels of the row equally frequent) to below 1.

    Notes
    -----
    The paper prints the geometric mean over all labels of the data set, with 0 for those the
    row lacks; read literally that is 0 for every row. Both means are therefore taken over the
    row's own labels, which is the paper's stated intent.
    Rows with fewer than two labels score 0.

    Examples
    --------
    >>> scumble_per_row([[1, 1], [1, 0], [1, 0], [1, 0]]).round(3).tolist()
    [0.2, 0.0, 0.0, 0.0]
    """
    matrix = _check(Y)
    sizes = np.diff(matrix.indptr)
    several = sizes > 1
    ratios = irlbl(matrix)[matrix.indices]
    rows = np.repeat(np.arange(len(sizes)), sizes)
    sums = np.bincount(rows, ratios, minlength=len(sizes))
    # The geometric mean is exp(Σ log r / n), which cannot overflow.
    logs = np.bincount(rows, np.log(ratios), minlength=len(sizes))
    result = np.zeros(len(sizes))
    n_active = sizes[several]
    result[several] = 1 - np.exp(logs[several] / n_active) / (sums[several] / n_active)
    # Equal ratios may leave a rounding error below 0.
    return np.maximum(result, 0.0)


def scumble(Y: Any) -> float:
    """Return SCUMBLE, the mean of `scumble_per_row`.

    High values mean that rare labels appear together with frequent ones, so that resampling
    rows cannot separate them.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Examples
    --------
    >>> round(scumble([[1, 1], [1, 0], [1, 0], [1, 0]]), 3)
    0.05
    """
    return float(scumble_per_row(Y).mean())


def cardinality(Y: Any) -> float:
    """Return the mean number of labels per row.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Examples
    --------
    >>> cardinality([[1, 1, 0], [1, 0, 0]])
    1.5
    """
    matrix = _check(Y)
    return float(matrix.nnz / matrix.shape[0])


def density(Y: Any) -> float:
    """Return the cardinality divided by the number of labels.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Examples
    --------
    >>> density([[1, 1, 0], [1, 0, 0]])
    0.5
    """
    matrix = _check(Y)
    return float(matrix.nnz / matrix.shape[0] / matrix.shape[1])


def count_label_sets(Y: Any) -> int:
    """Count the distinct label sets; the empty set is one of them where a row has no label.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)

    Examples
    --------
    >>> count_label_sets([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]])
    3
    """
    matrix = _check(Y)
    bounds = pairwise(matrix.indptr.tolist())
    return len({matrix.indices[start:stop].tobytes() for start, stop in bounds})


def _check(Y: Any) -> Any:
    matrix = as_label_csr(Y)
    if 0 in matrix.shape:
        missing = "rows" if matrix.shape[0] == 0 else "labels"
        raise InputError(f"Y has no {missing}; statistics need at least one.")
    return matrix


def _divide(numerator: NDArray[np.int64], denominator: NDArray[np.int64]) -> Floats:
    result = np.full(len(denominator), np.inf)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def _mean_finite(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
