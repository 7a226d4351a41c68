"""Quality on held-out rows by head, torso and tail, with intervals, beside a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.frequency import GROUP_NAMES, group_labels, propensities
from rmls.core.ranking import Ranking

N_DRAWS = 300
LEVEL = 95
# Numbers of one block of draws: 32 MB.
BLOCK_NUMBERS = 4_000_000
GROUPS = ("all", *GROUP_NAMES)
METRICS = ("P@1", "P@5", "PSP@5", "example F", "macro F")

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure with its 95% interval, by resampling of the held-out rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """What a method says about held-out rows."""

    name: str
    ranking: Ranking
    sets: sparse.csr_matrix


@dataclass(frozen=True)
class Quality:
    """Figures of a model and of a baseline on the same rows.

    Attributes
    ----------
    methods : tuple of str
        The model, and the baseline where there is one.
    n_rows : int
    values : dict of (method, metric, group) to Estimate
        Groups are all, head, torso and tail; one without labels has no entry.
    differences : dict of (metric, group) to Estimate
        The model minus the baseline, on the same draws of rows.
    """

    methods: tuple[str, ...]
    n_rows: int
    values: dict[tuple[str, str, str], Estimate]
    differences: dict[tuple[str, str], Estimate]


class _Shares(NamedTuple):
    """A figure as a quotient of sums over rows: resampling rows is then a product."""

    above: Floats
    below: Floats


def measure_quality(
    Y: sparse.csr_matrix,
    predictions: list[Prediction],
    counts: NDArray[np.int64],
    n_train: int,
    seed: int = 0,
) -> Quality:
    """Return the figures of one or two methods.

    Parameters
    ----------
    Y : CSR matrix of 0/1, shape (n_rows, n_labels)
    predictions : list of Prediction
        The model, then the baseline.
    counts : ndarray of int64, shape (n_labels,)
        Training rows of every label, which head, torso and tail are told by.
    n_train : int
    seed : int, default=0

    Notes
    -----
    Intervals are percentiles of 300 draws of the held-out rows, with replacement, moved to the
    figure where the mean of the draws is another: they say how much a figure depends on which rows
    were held out, not how much it would change with another model.
    Macro F is over the labels that the held-out rows have. Figures are those of `rmls.evaluate`.
    """
    masks = _masks(counts)
    draws = list(_draws(Y.shape[0], seed))
    drawn: dict[tuple[str, str, str], Floats] = {}
    values = {}
    weights = 1 / propensities(counts, n_train)
    for prediction in predictions:
        for metric, group, shares in _row_figures(Y, prediction, masks, weights):
            key = (prediction.name, metric, group)
            if shares.below.sum() > 0:
                figures = _quotients(shares, draws)
                values[key], drawn[key] = _estimate(figures), figures
        for group, figures in _macro_figures(Y, prediction.sets, masks, draws):
            key = (prediction.name, "macro F", group)
            values[key], drawn[key] = _estimate(figures), figures
    names = tuple(prediction.name for prediction in predictions)
    return Quality(names, int(Y.shape[0]), values, _differences(names, drawn))


def values_at(matrix: sparse.csr_matrix, rows: NDArray[np.int64], labels: NDArray[Any]) -> Floats:
    """Return the entries of a sparse matrix at pairs of a row and a label.

    Examples
    --------
    >>> values_at(sparse.csr_matrix([[0, 2], [3, 0]]), np.array([0, 1]), np.array([1, 1])).tolist()
    [2.0, 0.0]
    """
    # Without any pair scipy returns a matrix.
    return np.asarray(matrix[rows, labels], float).ravel() if len(rows) else np.zeros(0)


def _masks(counts: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    groups = group_labels(counts)
    masks = {name: groups == place for place, name in enumerate(GROUP_NAMES)}
    return {"all": np.ones(len(counts), np.bool_), **masks}


def _draws(n_rows: int, seed: int) -> Iterator[Floats]:
    """Yield how often every row is drawn, some draws at a time; the first draw is the rows."""
    generator = np.random.default_rng(seed)
    yield np.ones((1, n_rows))
    size = max(1, BLOCK_NUMBERS // max(n_rows, 1))
    for start in range(0, N_DRAWS, size):
        shape = (min(size, N_DRAWS - start), n_rows)
        picked = generator.integers(n_rows, size=shape)
        flat = picked + n_rows * np.arange(shape[0])[:, None]
        yield np.bincount(flat.ravel(), minlength=shape[0] * n_rows).reshape(shape).astype(float)


def _row_figures(
    Y: sparse.csr_matrix,
    prediction: Prediction,
    masks: dict[str, NDArray[np.bool_]],
    weights: Floats,
) -> Iterator[tuple[str, str, _Shares]]:
    n_rows = Y.shape[0]
    top = prediction.ranking.top(5)
    rows, positions = top.rows, top.positions
    hit = values_at(Y, rows, top.labels) > 0
    both = Y.multiply(prediction.sets).tocsr()
    for group, mask in masks.items():
        inside = hit & mask[top.labels]
        for k in (1, 5):
            hits = np.bincount(rows[inside & (positions < k)], minlength=n_rows)
            yield f"P@{k}", group, _Shares(hits / k, np.full(n_rows, float(mask.any())))
        gained = np.bincount(rows[inside], weights[top.labels[inside]], n_rows).astype(float)
        yield "PSP@5", group, _Shares(gained, _attainable(Y, weights * mask, 5))
        true, predicted, shared = (
            matrix @ mask.astype(float) for matrix in (Y, prediction.sets, both)
        )
        touched = (true + predicted) > 0
        F = np.divide(2 * shared, true + predicted, out=np.zeros(n_rows), where=touched)
        # The rows without such a label would only say how rare the group is; in the total they
        # count, as in `evaluate`.
        below = np.ones(n_rows) if group == "all" else touched.astype(float)
        yield "example F", group, _Shares(F, below)


def _attainable(Y: sparse.csr_matrix, weights: Floats, k: int) -> Floats:
    """Return the sum of the ``k`` largest weights among the labels of every row."""
    values = weights[Y.indices]
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    order = np.lexsort((-values, rows))
    place = np.arange(len(order)) - np.repeat(Y.indptr[:-1], np.diff(Y.indptr))
    best = order[place < k]
    return np.bincount(rows[best], values[best], Y.shape[0]).astype(float)


def _quotients(shares: _Shares, draws: list[Floats]) -> Floats:
    above, below = (np.concatenate([draw @ part for draw in draws]) for part in shares)
    figures: Floats = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return figures


def _macro_figures(
    Y: sparse.csr_matrix,
    sets: sparse.csr_matrix,
    masks: dict[str, NDArray[np.bool_]],
    draws: list[Floats],
) -> Iterator[tuple[str, Floats]]:
    occurring = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    true, predicted = (matrix.tocsc()[:, occurring].T.tocsr() for matrix in (Y, sets))
    shared = true.multiply(predicted).tocsr()
    sums: dict[str, list[Floats]] = {group: [] for group in masks}
    for draw in draws:
        step = max(1, BLOCK_NUMBERS // max(len(occurring), 1))
        for part in (draw[start : start + step] for start in range(0, len(draw), step)):
            n_true, n_predicted, n_both = (matrix @ part.T for matrix in (true, predicted, shared))
            F = np.divide(2 * n_both, n_true + n_predicted, out=0 * n_true, where=n_true > 0)
            # A label none of whose rows was drawn is not in that draw's mean.
            drawn = n_true > 0
            for group, mask in masks.items():
                chosen = mask[occurring]
                n_labels = drawn[chosen].sum(axis=0)
                total = (F * drawn)[chosen].sum(axis=0)
                sums[group].append(
                    np.divide(total, n_labels, out=np.zeros(len(total)), where=n_labels > 0)
                )
    for group, mask in masks.items():
        if mask[occurring].any():
            yield group, np.concatenate(sums[group])


def _estimate(figures: Floats) -> Estimate:
    """Return the first figure, that of the rows as they are, and the interval of the others."""
    edge = (100 - LEVEL) / 2
    value = float(figures[0])
    # Draws of macro F lie too high: rare labels, which are rarely found, drop out of them.
    shift = value - float(figures[1:].mean())
    low, high = np.percentile(figures[1:], [edge, 100 - edge]) + shift
    return Estimate(value, float(low), float(high))


def _differences(
    names: tuple[str, ...], drawn: dict[tuple[str, str, str], Floats]
) -> dict[tuple[str, str], Estimate]:
    if len(names) < 2:
        return {}
    return {
        (metric, group): _estimate(drawn[names[0], metric, group] - drawn[names[1], metric, group])
        for metric in METRICS
        for group in GROUPS
        if all((name, metric, group) in drawn for name in names[:2])
    }
