"""From the sampling options of RMLS to the sampler of the kernel, and its rates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.options import check_choice, check_number
from rmls.kernels import cpu
from rmls.models.rmls.sgd import count_visits

SAMPLERS = ("uniform", "frequency", "mixture", "in_batch")
LEAST_SHARE = 1e-4


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
    def of(cls, Y: sparse.csr_matrix, weights: NDArray[np.float64]) -> Totals:
        """Sum up the rows of ``Y``."""
        weight = float(weights.sum())
        cardinality = float(weights @ np.diff(Y.indptr)) / weight
        times = count_visits(weights).astype(np.float64)
        return cls(weight, cardinality, np.asarray(weights @ Y), (times @ Y) / times.sum())


def check_sampling(model: Any) -> None:
    """Raise a sentence for the first sampling option of ``model`` that has no meaning."""
    check_choice("sampler", model.sampler, SAMPLERS)
    check_number("sampler_power", model.sampler_power, positive=False)
    check_number("sampler_mix", model.sampler_mix, positive=False)
    if model.sampler_mix > 1:
        raise InputError(f"sampler_mix must lie between 0 and 1; got {model.sampler_mix!r}.")
    if model.replacement != "auto" and not isinstance(model.replacement, (bool, np.bool_)):
        raise InputError(f"replacement must be 'auto', True or False; got {model.replacement!r}.")
    if not isinstance(model.log_q, (bool, np.bool_)):
        raise InputError(f"log_q must be True or False; got {model.log_q!r}.")
    if model.log_q and model.loss != "logistic":
        raise InputError(f"log_q=True needs loss='logistic'; got loss={model.loss!r}.")
    if model.sampler == "in_batch" and model.batch_size < 2:
        raise InputError(
            "sampler='in_batch' takes irrelevant labels from the other rows of a batch and needs "
            f"batch_size of at least 2; got {model.batch_size!r}."
        )
    if model.negatives == "all" and (model.sampler != "uniform" or model.replacement is True):
        raise InputError(
            "negatives='all' draws nothing; leave sampler='uniform' and replacement='auto', or "
            "use negatives='sampled'."
        )


def make_sampler(model: Any, totals: Totals, single: bool) -> cpu.Sampler:
    """Return the kernel's sampler.

    Parameters
    ----------
    model : RMLS
    totals : Totals
    single : bool
        Whether every row has exactly one label, so that its rate does not depend on which.
    """
    auto = model.replacement == "auto"
    distinct = model.sampler == "uniform" if auto else not model.replacement
    kind = cpu.WEIGHTED
    if model.sampler == "in_batch":
        kind = cpu.IN_BATCH
    elif model.sampler == "uniform" and distinct:
        kind, distinct = cpu.UNIFORM, False
    shares = draw_shares(model, totals)
    known = kind != cpu.UNIFORM or model.log_q
    drawn = kind == cpu.WEIGHTED
    return cpu.Sampler(
        kind=kind,
        distinct=bool(distinct),
        log_q=bool(model.log_q),
        leave_out=0 if single else 1,
        label_shift=(np.log(shares) if known else np.zeros(0)).astype(np.float32),
        alias=cpu.build_alias(shares) if drawn else np.zeros((0, 2), np.uint32),
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
    powers = (counts / counts.max()) ** model.sampler_power
    shares = powers / powers.sum()
    if model.sampler == "mixture":
        shares = model.sampler_mix * shares + (1 - model.sampler_mix) / m
    shares = np.maximum(shares, LEAST_SHARE / m)
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
    misses = np.log1p(-np.minimum(shares, 1 - 1e-12))
    grid = np.concatenate([np.arange(64.0), np.geomspace(64.0, cpu.MAX_TRIES * (m + 1), 100)])
    found = np.array([-np.expm1(t * misses).sum() for t in grid])
    wanted = np.arange(m + 1)
    tries = np.ceil(np.interp(wanted, found, grid))
    return np.asarray(np.minimum(tries, cpu.MAX_TRIES * wanted), dtype=np.int64)


def mean_rate(
    objective: cpu.Objective, totals: Totals, batch_size: int
) -> float | NDArray[np.float32]:
    """Return the mean rate at which irrelevant labels enter the loss (r in the logit shift).

    One number where all labels have the same rate, otherwise one for each.
    """
    n_labels, cardinality = len(totals.positives), totals.cardinality
    wanted = max(objective.negatives_per_positive * cardinality, objective.min_negatives)
    sampler = objective.sampler
    if sampler.kind == cpu.UNIFORM:
        return float(min(1.0, wanted / max(n_labels - cardinality, 1.0)))
    shares = np.exp(sampler.label_shift.astype(np.float64))
    if sampler.kind == cpu.IN_BATCH:
        tries = float(batch_size - 1)
    else:
        wanted = min(wanted, n_labels - cardinality)
        rest = max(1.0 - float(shares @ totals.positives) / totals.weight, 1e-9)
        needed = wanted
        if sampler.distinct:
            needed = float(np.interp(wanted, np.arange(n_labels + 1), sampler.tries))
        tries = min(needed / rest, cpu.MAX_TRIES * wanted)
    rates = -np.expm1(tries * np.log1p(-np.minimum(shares, 1 - 1e-9)))
    return np.asarray(rates if sampler.distinct else tries * shares, dtype=np.float32)
