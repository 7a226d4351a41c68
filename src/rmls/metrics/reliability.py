"""How honest probabilities are: calibration error, Brier score, reliability curve.

Pairs of a row and a label are looked at, those with the same probability together, so that
neither the order of rows nor that of labels matters.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rmls.core.errors import InputError
from rmls.core.resources import on_one_thread
from rmls.metrics._inputs import Floats, Ints
from rmls.metrics._pairs import ListedPairs, list_pairs

Bins = int | Literal["sweep"]

# Bounds the sweep: 1,000 tries of at most 1,000 bins, whatever the number of pairs.
MAX_BINS = 1000


class ReliabilityCurve(NamedTuple):
    """Observed against predicted, bin by bin from small probabilities to large ones.

    Attributes
    ----------
    predicted : ndarray of float64, shape (n_bins,)
        Mean probability of the pairs of a bin.
    observed : ndarray of float64, shape (n_bins,)
        Share of the pairs whose label is there.
    pairs : ndarray of int64, shape (n_bins,)
        Number of pairs.
    """

    predicted: Floats
    observed: Floats
    pairs: Ints


@on_one_thread
def expected_calibration_error(
    Y_true: Any, probabilities: Any, *, bins: Bins = "sweep", labels: ArrayLike | None = None
) -> float:
    """Return how far probabilities are from observed frequencies, on average over the pairs.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    probabilities : Ranking, sparse matrix or array, shape (n_samples, n_labels)
        Pairs that a ranking or a sparse matrix does not list are not looked at: give those of
        the predicted labels to learn how far *they* can be believed.
    bins : int or "sweep", default "sweep"
        Number of bins with equally many pairs; ``"sweep"`` takes as many as the pairs bear, see
        `reliability_curve`.
    labels : array-like of bool, shape (n_labels,), or of int, optional
        Look at these labels only, such as the rare ones.

    Returns
    -------
    float
        The mean of ``|predicted - observed|`` of the bins, weighted by pairs; 0 is best, and
        NaN stands where there is no pair.

    Notes
    -----
    Frequencies of small bins scatter, and the scatter counts as error. Pairs whose probabilities
    are drawn evenly from 0 to 1 and perfectly right have, on average:

    ========  =======  =========
    pairs     15 bins  ``sweep``
    ========  =======  =========
    100       0.125    0.065
    1,000     0.038    0.028
    10,000    0.012    0.013
    ========  =======  =========

    Examples
    --------
    >>> Y, P = [[1, 0], [1, 0], [1, 1], [0, 0]], [[0.9, 0.1]] * 4
    >>> round(expected_calibration_error(Y, P), 3)
    0.15
    >>> round(expected_calibration_error(Y, P, labels=[1]), 3)
    0.15
    """
    curve = reliability_curve(Y_true, probabilities, bins=bins, labels=labels)
    if not len(curve.pairs):
        return float("nan")
    return float(np.abs(curve.predicted - curve.observed) @ curve.pairs / curve.pairs.sum())


@on_one_thread
def brier_score(Y_true: Any, probabilities: Any, *, labels: ArrayLike | None = None) -> float:
    """Return the mean squared difference of probability and 0/1 over all rows and labels.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    probabilities : Ranking, sparse matrix or array, shape (n_samples, n_labels)
        Pairs that a ranking or a sparse matrix does not list have probability 0.
    labels : array-like of bool, shape (n_labels,), or of int, optional
        Look at these labels only.

    Returns
    -------
    float
        0 is best; NaN where ``labels`` names none.

    Notes
    -----
    The mean is over rows × labels, listed or not, in time of those listed.

    Examples
    --------
    >>> from scipy import sparse
    >>> brier_score([[1, 0], [0, 1]], [[1.0, 0.5], [0.0, 1.0]])
    0.0625
    >>> brier_score([[1, 0], [0, 1]], sparse.csr_matrix([[1.0, 0.5], [0.0, 0.0]]))
    0.3125
    """
    pairs = list_pairs(Y_true, probabilities).restrict(labels)
    n_pairs = pairs.n_samples * pairs.n_labels
    if not n_pairs:
        return float("nan")
    differences = pairs.probabilities - pairs.outcomes
    # An unlisted true label has probability 0 and adds 1; an unlisted wrong one adds 0.
    return float((differences @ differences + pairs.n_unlisted) / n_pairs)


@on_one_thread
def reliability_curve(
    Y_true: Any, probabilities: Any, *, bins: Bins = "sweep", labels: ArrayLike | None = None
) -> ReliabilityCurve:
    """Return observed frequency against predicted probability, in bins of equally many pairs.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    probabilities : Ranking, sparse matrix or array, shape (n_samples, n_labels)
        Pairs that a ranking or a sparse matrix does not list are not looked at.
    bins : int or "sweep", default "sweep"
        Number of bins. ``"sweep"`` (Roelofs et al., 2022) tries 2, 3, ... bins and stops before
        observed frequencies fall from one bin to the next, at 1,000 at the latest.
    labels : array-like of bool, shape (n_labels,), or of int, optional
        Look at these labels only.

    Returns
    -------
    ReliabilityCurve
        Bins without pairs are left out; no bins where there is no pair.

    Notes
    -----
    Pairs of the same probability stay together, in the bin in which the middle one of them
    falls; many equal probabilities make bins uneven, and fewer.

    The sweep presumes that labels come true the more often, the higher their probability. Where
    that is wrong it takes few bins, in which opposite errors cancel: give a number of bins to see
    them.

    Examples
    --------
    >>> P = [[0.1, 0.2, 0.6, 0.7]]
    >>> curve = reliability_curve([[0, 0, 1, 1]], P, bins=2)
    >>> curve.predicted.round(2).tolist(), curve.observed.tolist(), curve.pairs.tolist()
    ([0.15, 0.65], [0.0, 1.0], [2, 2])
    >>> reliability_curve([[0, 1, 0, 1]], P).observed.tolist()
    [0.0, 0.5, 1.0]
    """
    _check_bins(bins)
    pairs = list_pairs(Y_true, probabilities).restrict(labels)
    if not len(pairs.probabilities):
        return ReliabilityCurve(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
    # Sorted once; every trial of the sweep then works on running totals.
    levels = _pool(pairs)
    starts = _sweep(levels) if bins == "sweep" else _cut(levels, int(bins))
    counts, positives = (_sums(part, starts) for part in (levels.pairs, levels.positives))
    weights = np.diff(levels.pairs)
    predicted = np.add.reduceat(levels.values * weights, starts) / counts
    return ReliabilityCurve(predicted, positives / counts, counts)


class _Levels(NamedTuple):
    """Distinct probabilities, rising, with running totals of pairs and of true ones from 0 on.

    ``middles`` are twice the numbers of the pairs in the middle of each level, to stay whole.
    """

    values: Floats
    pairs: Ints
    positives: Ints
    middles: Ints


def _pool(pairs: ListedPairs) -> _Levels:
    order = np.argsort(pairs.probabilities)
    values = pairs.probabilities[order]
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    positives = np.concatenate([[0], np.cumsum(pairs.outcomes[order])])
    bounds = np.append(first, len(values))
    return _Levels(values[first], bounds, positives[bounds], bounds[:-1] + bounds[1:])


def _cut(levels: _Levels, n_bins: int) -> Ints:
    """Return the first level of each bin that has any; with a bin for each pair, of each level."""
    n_pairs = int(levels.pairs[-1])
    n_bins = min(n_bins, n_pairs)
    # The bounds of bins, rounded up and twice as large as the middles are.
    bounds = -(-2 * n_pairs * np.arange(n_bins) // n_bins)
    starts = np.unique(np.searchsorted(levels.middles, bounds))
    return starts[starts < len(levels.values)]


def _sweep(levels: _Levels) -> Ints:
    """Return the bins before those whose frequencies fall somewhere."""
    starts = _cut(levels, 1)
    for n_bins in range(2, min(int(levels.pairs[-1]), MAX_BINS) + 1):
        finer = _cut(levels, n_bins)
        counts, positives = (_sums(part, finer) for part in (levels.pairs, levels.positives))
        # Shares compared by cross products of whole numbers: no rounding decides.
        if (positives[1:] * counts[:-1] < positives[:-1] * counts[1:]).any():
            break
        starts = finer
    return starts


def _sums(running: Ints, starts: Ints) -> Ints:
    bounds = np.append(starts, len(running) - 1)
    return np.asarray(np.diff(running[bounds]))


def _check_bins(bins: Any) -> None:
    whole = isinstance(bins, int | np.integer) and not isinstance(bins, bool) and bins >= 1
    if not whole and not (isinstance(bins, str) and bins == "sweep"):
        raise InputError(f"bins must be 'sweep' or a whole number of at least 1; got {bins!r}.")
