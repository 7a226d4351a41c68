"""What a pass does: the rows it visits, at which rates, and the irrelevant labels it draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.core.options import is_auto
from rmls.kernels.arrays import IN_BATCH, MAX_TRIES, UNIFORM, WEIGHTED, Objective, Sampler, Visits
from rmls.kernels.backend import Backend
from rmls.models.shared.training_set import TrainingSet

DEFAULT_PASSES = 10
MAX_PASSES = 20
# Visits that small sets aim at: what 1,000 rows make in ten passes.
VISITED_ROWS = 10_000
# Bounds a pass where a row has a huge weight: visits beyond become heavier instead of more.
MAX_VISITS = 16
# The loss is only reported: a sample of the visits is measured.
MEASURED_VISITS = 2048
# Of a uniform share: keeps log q finite for labels that are hardly ever drawn.
MIN_SHARE = 1e-4


class Totals(NamedTuple):
    """What sampling knows of the training rows.

    Attributes
    ----------
    weight, cardinality : float
        Weight of all rows, and their weighted mean number of labels.
    positives : ndarray of shape (n_labels,)
        Weight of the rows that have each label.
    visited : ndarray of shape (n_labels,)
        Share of the visits of a pass whose row has the label; a row of great weight has fewer
        visits than its weight.
    """

    weight: float
    cardinality: float
    positives: NDArray[np.float64]
    visited: NDArray[np.float64]

    @classmethod
    def of(cls, data: TrainingSet) -> Totals:
        """Sum up the rows of a training set."""
        Y, weights = data.labels, data.weights
        weight = float(weights.sum())
        cardinality = float(weights @ np.diff(Y.indptr)) / weight
        times = count_visits(weights).astype(np.float64)
        return cls(weight, cardinality, np.asarray(weights @ Y), (times @ Y) / times.sum())


def make_sampler(model: Any, totals: Totals, single: bool, backend: Backend) -> Sampler:
    """Return the kernel's sampler.

    Parameters
    ----------
    model : RMLS
    totals : Totals
    single : bool
        Whether every row has exactly one label, so that its rate does not depend on which.
    backend : Backend
    """
    auto, union = model.replacement == "auto", model.replacement == "union"
    distinct = model.sampler == "uniform" if auto else not model.replacement
    kind = WEIGHTED
    if model.sampler == "in_batch":
        # The labels of a batch are what they are; a union keeps each of them once.
        kind, distinct, union = IN_BATCH, distinct or union, False
    # Equal shares without replacement have a sampler of their own, which needs no table.
    elif model.sampler == "uniform" and distinct:
        kind, distinct = UNIFORM, False
    shares = draw_shares(model, totals)
    known = kind != UNIFORM or model.log_q
    drawn = kind == WEIGHTED
    return Sampler(
        kind=kind,
        distinct=bool(distinct),
        union=union,
        log_q=bool(model.log_q),
        leave_out=0 if single else 1,
        # log q_j: the part of the logit shift that differs from label to label.
        label_shift=(np.log(shares) if known else np.zeros(0)).astype(np.float32),
        alias=backend.build_alias(shares) if drawn else np.zeros((0, 2), np.uint32),
        tries=count_tries(shares) if drawn and distinct else np.zeros(0, np.int64),
    )


def draw_shares(model: Any, totals: Totals) -> NDArray[np.float64]:
    """Return the share q of every label in the draws; for ``"in_batch"``, its share of the visits.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> options = SimpleNamespace(sampler="frequency", sampler_power=0.5)
    >>> counts = np.array([16.0, 4.0, 4.0])
    >>> draw_shares(options, Totals(20.0, 1.2, counts, counts / 20)).tolist()
    [0.5, 0.25, 0.25]
    """
    m = len(totals.positives)
    if model.sampler == "uniform":
        return np.full(m, 1.0 / m)
    if model.sampler == "in_batch":
        return floored_counts(totals.visited)
    counts = floored_counts(totals.positives)
    # Ratios to the largest count: large powers cannot overflow.
    powers = (counts / counts.max()) ** model.sampler_power
    shares = powers / powers.sum()
    if model.sampler == "mixture":
        shares = model.sampler_mix * shares + (1 - model.sampler_mix) / m
    shares = np.maximum(shares, MIN_SHARE / m)
    return np.asarray(shares / shares.sum())


def floored_counts(positives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the counts, with half of the smallest positive one for labels without positives."""
    used = positives > 0
    least = 0.5 * float(positives[used].min()) if used.any() else 1.0
    return np.where(used, positives, least)


def count_tries(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many draws find n different labels on average, for n = 0 to all of them.

    ``t`` draws find ``sum_j 1 - (1 - q_j)^t`` different labels; that is inverted on a grid of t. No
    more than `MAX_TRIES` draws a label are ever made.
    """
    m = len(shares)
    # log(1 - q_j): (1 - q)^t as exp(t log(1 - q)) keeps its digits for tiny shares.
    misses = np.log1p(-np.minimum(shares, 1 - 1e-12))
    # Every t while few draws are made, then 100 in geometric steps: the curve is smooth there.
    grid = np.concatenate([np.arange(64.0), np.geomspace(64.0, MAX_TRIES * (m + 1), 100)])
    found = np.array([-np.expm1(t * misses).sum() for t in grid])
    wanted = np.arange(m + 1)
    tries = np.ceil(np.interp(wanted, found, grid))
    return np.asarray(np.minimum(tries, MAX_TRIES * wanted), dtype=np.int64)


def mean_rate(objective: Objective, totals: Totals, batch_size: int) -> float | NDArray[np.float32]:
    """Return the mean rate at which irrelevant labels enter the loss (r in the logit shift).

    One number where all labels have the same rate, otherwise one for each.
    """
    n_labels, cardinality = len(totals.positives), totals.cardinality
    # The rate of the mean row, r = alpha |P| / |N|, stands for the rates of all rows.
    wanted = max(objective.negatives_per_positive * cardinality, objective.min_negatives)
    sampler = objective.sampler
    if sampler.kind == UNIFORM:
        return float(min(1.0, wanted / max(n_labels - cardinality, 1.0)))
    shares = np.exp(sampler.label_shift.astype(np.float64))
    if sampler.kind == IN_BATCH:
        # Every other row of the batch brings label j with the probability of its share of the
        # visits.
        tries = float(batch_size - 1)
    else:
        if not sampler.union:
            wanted = min(wanted, n_labels - cardinality)
        # Share of the draws that do not hit a relevant label of the row; the others are thrown
        # away.
        rest = max(1.0 - float(shares @ totals.positives) / totals.weight, 1e-9)
        needed = wanted
        if sampler.distinct:
            needed = float(np.interp(wanted, np.arange(n_labels + 1), sampler.tries))
        tries = min(needed / rest, MAX_TRIES * wanted)
        if sampler.union:
            # Relevant labels are drawn again: the draws are as many as wanted, of larger shares.
            tries, shares = wanted, shares / rest
    # Distinct labels enter with 1 - (1 - q)^t; with replacement t q is how often they do.
    rates = -np.expm1(tries * np.log1p(-np.minimum(shares, 1 - 1e-9)))
    rates = rates if sampler.distinct or sampler.union else tries * shares
    # A class that all rows have is never drawn; its logarithm is taken all the same.
    return np.asarray(np.maximum(rates, 1e-9), dtype=np.float32)


def count_passes(max_iter: int | str, n_rows: int) -> int:
    """Return the passes to make over ``n_rows`` rows; ``"auto"`` makes more of them over few.

    Examples
    --------
    >>> [count_passes("auto", n_rows) for n_rows in (300, 700, 1000, 100_000)]
    [20, 15, 10, 10]
    >>> count_passes(7, 300)
    7
    """
    if is_auto(max_iter):
        return min(max(-(-VISITED_ROWS // n_rows), DEFAULT_PASSES), MAX_PASSES)
    return int(max_iter)


def count_rows(weights: NDArray[np.float64]) -> int:
    """Return how many rows distinct rows of these weights stand for; a fraction is one row.

    Examples
    --------
    >>> count_rows(np.array([1.0, 3.0, 0.2]))
    5
    """
    return int(np.ceil(weights).sum())


def learning_rates(rate: float, schedule: str, number: int, total: int) -> tuple[float, float]:
    """Return the learning rate at both ends of a pass.

    Examples
    --------
    >>> learning_rates(0.1, "linear", 0, 2), learning_rates(0.1, "constant", 0, 2)
    ((0.1, 0.05), (0.1, 0.1))
    """
    if schedule == "constant":
        return rate, rate
    return rate * (1 - number / total), rate * (1 - (number + 1) / total)


def count_visits(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how often a pass visits rows of these weights."""
    return np.clip(np.ceil(weights), 1, MAX_VISITS).astype(np.int64)


def bound_batch(batch_size: int, data: TrainingSet) -> int:
    """Return the size of the batches of a pass: that of the pass where it has fewer visits.

    Examples
    --------
    >>> from scipy import sparse
    >>> empty = sparse.csr_matrix((5, 1))
    >>> data = TrainingSet(empty, empty, np.arange(5), np.ones(5))
    >>> bound_batch(2**40, data), bound_batch(2, data)
    (5, 2)
    """
    # One visit at a time would be no batch, and moves at once.
    visits = max(2, int(count_visits(data.weights).sum()))
    return min(int(batch_size), visits)


def plan_visits(
    data: TrainingSet,
    seed: int,
    number: int,
    rates: tuple[float, float],
    batch_size: int,
    *,
    redraw: bool = True,
) -> Visits:
    """Lay out one pass: a row of weight w is visited ceil(w) times (at most 16) with equal weight.

    An integer weight is thus the same as repeating the row. Without ``redraw`` every row has the
    keys of its own in all passes, and so the same draws.
    """
    times = count_visits(data.weights)
    repeated = np.repeat(np.arange(len(times)), times)
    # Keyed by (seed, pass): a training that is taken up again makes the same draws.
    rng = np.random.Generator(np.random.Philox(key=[seed, number]))
    order = rng.permutation(len(repeated))
    # A key for each visit: its draws do not depend on the thread that makes it.
    keys = rng.integers(0, 2**64, size=len(repeated), dtype=np.uint64)
    if not redraw:
        # Beyond the keys of all passes and of the first parameters.
        fixed = np.random.Generator(np.random.Philox(key=[seed, 2**33]))
        keys = fixed.integers(0, 2**64, size=len(repeated), dtype=np.uint64)[order]
    visited = repeated[order]
    weights = (data.weights / times)[visited].astype(np.float32)
    first_rate, last_rate = (float(rate) for rate in rates)
    stride = max(1, len(visited) // MEASURED_VISITS)
    return Visits(data.rows[visited], weights, keys, first_rate, last_rate, batch_size, stride)
