"""Quality on held-out rows by head, torso and tail, with intervals, beside a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
# What can be asked for: P, PSP and nDCG at any k, and these two.
OF_SETS = ("example F", "macro F")
# Of more rows, groups are drawn: sums of groups spread as those of their rows do.
MAX_DRAWN = 20_000

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


class _Group(NamedTuple):
    """Labels that count, all or some of them, and what a hit on each weighs for PSP."""

    name: str
    mask: NDArray[np.bool_]
    weights: Floats

    def rows(self, touched: NDArray[np.bool_]) -> Floats:
        """Return the rows to average over: without such a label one only says how rare it is.

        In the total all rows count, as in `evaluate`.
        """
        return np.ones(len(touched)) if self.name == "all" else touched.astype(float)


def measure_quality(
    Y: sparse.csr_matrix,
    predictions: list[Prediction],
    counts: NDArray[np.int64],
    n_train: int,
    seed: int = 0,
    metrics: Sequence[str] = METRICS,
    level: int = LEVEL,
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
    metrics : sequence of str
        ``"P@k"``, ``"PSP@k"`` and ``"nDCG@k"`` for any k, ``"example F"`` and ``"macro F"``.
    level : int, default=95
        Percent of the draws that lie in an interval.

    Notes
    -----
    Intervals are percentiles of 300 draws of the held-out rows, with replacement, moved to the
    figure where the mean of the draws is another: they say how much a figure depends on which rows
    were held out, not how much it would change with another model. Beyond 20,000 rows, random
    groups of rows are drawn instead of rows, so that memory does not grow with them.
    Macro F is over the labels that the held-out rows have. Figures are those of `rmls.evaluate`.
    """
    labels = _label_groups(counts, 1 / propensities(counts, n_train))
    parts = _row_parts(Y.shape[0], seed)
    draws = list(_draws(parts.shape[0], seed))
    drawn: dict[tuple[str, str, str], Floats] = {}
    for prediction in predictions:
        for metric, group, shares in _row_figures(Y, prediction, labels, metrics):
            if shares.below.sum() > 0:
                sums = _Shares(parts @ shares.above, parts @ shares.below)
                drawn[prediction.name, metric, group] = _quotients(sums, draws)
        if "macro F" in metrics:
            for group, figures in _macro_figures(Y, prediction.sets, labels, parts, draws):
                drawn[prediction.name, "macro F", group] = figures
    names = tuple(prediction.name for prediction in predictions)
    values = {key: _estimate(figures, level) for key, figures in drawn.items()}
    return Quality(names, int(Y.shape[0]), values, _differences(names, drawn, metrics, level))


def values_at(matrix: sparse.csr_matrix, rows: NDArray[np.int64], labels: NDArray[Any]) -> Floats:
    """Return the entries of a sparse matrix at pairs of a row and a label.

    Examples
    --------
    >>> values_at(sparse.csr_matrix([[0, 2], [3, 0]]), np.array([0, 1]), np.array([1, 1])).tolist()
    [2.0, 0.0]
    """
    # Without any pair scipy returns a matrix.
    return np.asarray(matrix[rows, labels], float).ravel() if len(rows) else np.zeros(0)


def _label_groups(counts: NDArray[np.int64], weights: Floats) -> list[_Group]:
    groups = group_labels(counts)
    masks = [
        np.ones(len(counts), np.bool_),
        *(groups == place for place in range(len(GROUP_NAMES))),
    ]
    return [_Group(name, mask, weights) for name, mask in zip(GROUPS, masks, strict=True)]


def _row_parts(n_rows: int, seed: int) -> sparse.csr_matrix:
    """Return a 0/1 matrix of parts by rows: each row is a part of its own where they are few."""
    if n_rows <= MAX_DRAWN:
        return sparse.csr_matrix(sparse.identity(n_rows))
    part_of = np.random.default_rng(seed).permutation(n_rows) % MAX_DRAWN
    return sparse.csr_matrix((np.ones(n_rows), (part_of, np.arange(n_rows))))


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
    Y: sparse.csr_matrix, prediction: Prediction, labels: list[_Group], metrics: Sequence[str]
) -> Iterator[tuple[str, str, _Shares]]:
    named = [metric.rpartition("@") for metric in metrics if metric not in OF_SETS]
    ranked = [(kind, int(k)) for kind, _, k in named]
    top = prediction.ranking.top(max((k for _, k in ranked), default=0))
    found = _Hits(top.rows, top.labels, top.positions)
    hits = found.where(values_at(Y, found.rows, found.labels) > 0)
    both = Y.multiply(prediction.sets).tocsr()
    for group in labels:
        inside = hits.where(group.mask[hits.labels])
        for kind, k in ranked:
            best = inside.where(inside.places < k)
            yield f"{kind}@{k}", group.name, RANKED[kind](Y, best, group, k)
        if "example F" in metrics:
            yield "example F", group.name, _example_f(Y, prediction.sets, both, group)


class _Hits(NamedTuple):
    """Labels among the best: their rows, numbers and places."""

    rows: NDArray[np.int64]
    labels: NDArray[Any]
    places: NDArray[np.int64]

    def where(self, keep: NDArray[np.bool_]) -> _Hits:
        return _Hits(self.rows[keep], self.labels[keep], self.places[keep])


def _precision(Y: sparse.csr_matrix, hits: _Hits, group: _Group, k: int) -> _Shares:
    n_rows = Y.shape[0]
    found = np.bincount(hits.rows, minlength=n_rows) / k
    return _Shares(found, np.full(n_rows, float(group.mask.any())))


def _weighted_precision(Y: sparse.csr_matrix, hits: _Hits, group: _Group, k: int) -> _Shares:
    gained = np.bincount(hits.rows, group.weights[hits.labels], Y.shape[0]).astype(float)
    return _Shares(gained, _attainable(Y, group.weights * group.mask, k))


def _discounted_gain(Y: sparse.csr_matrix, hits: _Hits, group: _Group, k: int) -> _Shares:
    n_rows = Y.shape[0]
    discounts = 1 / np.log2(np.arange(k) + 2)
    gained = np.bincount(hits.rows, discounts[hits.places], n_rows)
    n_true = (Y @ group.mask.astype(float)).astype(np.int64)
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(n_true, k)]
    share = np.divide(gained, ideal, out=np.zeros(n_rows), where=n_true > 0)
    return _Shares(share, group.rows(n_true > 0))


RANKED = {"P": _precision, "PSP": _weighted_precision, "nDCG": _discounted_gain}


def _example_f(
    Y: sparse.csr_matrix, sets: sparse.csr_matrix, both: sparse.csr_matrix, group: _Group
) -> _Shares:
    true, predicted, shared = (matrix @ group.mask.astype(float) for matrix in (Y, sets, both))
    touched = (true + predicted) > 0
    F = np.divide(2 * shared, true + predicted, out=np.zeros(len(true)), where=touched)
    return _Shares(F, group.rows(touched))


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
    labels: list[_Group],
    parts: sparse.csr_matrix,
    draws: list[Floats],
) -> Iterator[tuple[str, Floats]]:
    occurring = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    true, predicted = (matrix.tocsc()[:, occurring].T.tocsr() for matrix in (Y, sets))
    shared = true.multiply(predicted).tocsr()
    # Labels by parts of the rows: how many rows of the part have the label.
    true, predicted, shared = (matrix @ parts.T for matrix in (true, predicted, shared))
    sums: dict[str, list[Floats]] = {group.name: [] for group in labels}
    for draw in draws:
        step = max(1, BLOCK_NUMBERS // max(len(occurring), 1))
        for block in (draw[start : start + step] for start in range(0, len(draw), step)):
            n_true, n_predicted, n_both = (matrix @ block.T for matrix in (true, predicted, shared))
            F = np.divide(2 * n_both, n_true + n_predicted, out=0 * n_true, where=n_true > 0)
            # A label none of whose rows was drawn is not in that draw's mean.
            drawn = n_true > 0
            for group in labels:
                chosen = group.mask[occurring]
                n_labels = drawn[chosen].sum(axis=0)
                total = (F * drawn)[chosen].sum(axis=0)
                sums[group.name].append(
                    np.divide(total, n_labels, out=np.zeros(len(total)), where=n_labels > 0)
                )
    for group in labels:
        if group.mask[occurring].any():
            yield group.name, np.concatenate(sums[group.name])


def _estimate(figures: Floats, level: int) -> Estimate:
    """Return the first figure, that of the rows as they are, and the interval of the others."""
    edge = (100 - level) / 2
    value = float(figures[0])
    # Draws of macro F lie too high: rare labels, which are rarely found, drop out of them.
    shift = value - float(figures[1:].mean())
    low, high = np.percentile(figures[1:], [edge, 100 - edge]) + shift
    return Estimate(value, float(low), float(high))


def _differences(
    names: tuple[str, ...],
    drawn: dict[tuple[str, str, str], Floats],
    metrics: Sequence[str],
    level: int,
) -> dict[tuple[str, str], Estimate]:
    if len(names) < 2:
        return {}
    return {
        (metric, group): _estimate(
            drawn[names[0], metric, group] - drawn[names[1], metric, group], level
        )
        for metric in metrics
        for group in GROUPS
        if all((name, metric, group) in drawn for name in names[:2])
    }
