"""Mean ranks of methods over data sets, with Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.bench.tables.names import method_names, name_with_rule
from rmls.bench.tables.summary import (
    COSTS,
    Setting,
    Summary,
    greater_is_better,
    known_metric,
    main_experiment,
    own_rule,
    run_of,
)

ALPHA = 0.05

Block = tuple[str, int | None]


@dataclass(frozen=True)
class RankReport:
    """Mean ranks of methods, and which of them the results cannot tell apart; see `rank_methods`.

    Attributes
    ----------
    metric : str
    names : list of str
        ``label · decision rule``, best first; only the label where rules make no difference.
    ranks : list of float
        Mean rank of each name; 1 is best.
    n_blocks, n_datasets : int
        Blocks ranked, and the data sets they come from.
    statistic, p_value : float
        Friedman's chi-square, corrected for ties.
    critical_difference : float
        Nemenyi's, at 0.05: mean ranks closer than this are not told apart.
    groups : list of (int, int)
        First and last position, both included, of each longest run of names that are not told
        apart; runs of a single name are left out.
    dropped_methods, dropped_blocks : list of str
        What was left out because results are missing.
    """

    metric: str
    names: list[str]
    ranks: list[float]
    n_blocks: int
    n_datasets: int
    statistic: float
    p_value: float
    critical_difference: float
    groups: list[tuple[int, int]]
    dropped_methods: list[str] = field(default_factory=list)
    dropped_blocks: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        """Sentences that say what was ranked, what was left out and how far to trust it."""
        sentences = [
            f"{len(self.names)} methods ranked on {self.n_blocks} blocks, each a data set with a "
            f"number of components ({self.n_datasets} data sets); folds and seeds are averaged "
            "first."
        ]
        if self.n_blocks > self.n_datasets:
            sentences.append(
                "Blocks of one data set are not independent, so the test is too sure of itself."
            )
        if self.dropped_methods:
            sentences.append(f"Left out, results missing: {'; '.join(self.dropped_methods)}.")
        if self.dropped_blocks:
            sentences.append(f"Blocks left out: {'; '.join(self.dropped_blocks)}.")
        return " ".join(sentences)


class _Values(NamedTuple):
    """Means over folds; ``table`` has a row per method, a column per block, nan where missing."""

    names: list[str]
    blocks: list[Block]
    table: NDArray[np.float64]


def rank_methods(
    summaries: list[Summary], metric: str, experiment: str | None = None
) -> RankReport | None:
    """Rank methods on every data set and test whether their mean ranks differ.

    Parameters
    ----------
    summaries : list of Summary
    metric : str
        A metric, or a field of `COSTS`. Where less is better, the least gets rank 1.
    experiment : str, optional
        Whose results to rank; ``"methods"`` unless told, or the first one without that.

    Returns
    -------
    RankReport or None
        None where fewer than two methods, or fewer than two blocks, are complete.

    Notes
    -----
    A method is a label with a decision rule; for metrics of rankings and for costs, which no rule
    changes, it is the label with its own rule. A block is a data set with a number of components;
    methods without components take part in every block of their data set. Folds share most of
    their training rows and are no independent evidence (Demšar 2006), so they and the seeds are
    averaged first and never counted as blocks. Data sets alone would be the cleanest blocks, but
    studies have few of them; taking the best number of components per method would choose it on
    test rows. Blocks that share a data set are correlated: with few data sets the test and the
    critical difference are optimistic, which `RankReport.note` says.

    A method counts in a block when it has the folds and seeds that the block's other methods
    have. Where results are missing, blocks or methods are dropped, whichever leaves more results
    (methods, in case of a tie, stay). Ties get the mean of their ranks.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006).

    Examples
    --------
    >>> rank_methods([], "example_f1") is None
    True
    """
    metric = known_metric(metric)
    experiment = main_experiment(summaries) if experiment is None else experiment
    ours = [summary for summary in summaries if summary.setting.experiment == experiment]
    values = _values_of(ours, metric)
    kept = _complete_part(values)
    if kept is None:
        return None
    ranks = _rank_columns(kept.table, greater_is_better(metric))
    mean = ranks.mean(axis=1)
    order = sorted(range(len(mean)), key=lambda row: (mean[row], kept.names[row]))
    names, n_blocks = [kept.names[row] for row in order], len(kept.blocks)
    difference = critical_difference(len(names), n_blocks)
    statistic, p_value = _friedman(ranks)
    return RankReport(
        metric=metric,
        names=names,
        ranks=[float(mean[row]) for row in order],
        n_blocks=n_blocks,
        n_datasets=len({dataset for dataset, _ in kept.blocks}),
        statistic=statistic,
        p_value=p_value,
        critical_difference=difference,
        groups=indistinct_groups([float(mean[row]) for row in order], difference),
        dropped_methods=[name for name in values.names if name not in kept.names],
        dropped_blocks=[_block_name(block) for block in values.blocks if block not in kept.blocks],
    )


def critical_difference(n_methods: int, n_blocks: int) -> float:
    """Return the least difference of mean ranks that Nemenyi's test tells apart at 0.05.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    # CD = q √(k (k + 1) / 6N), for k methods on N blocks; Demšar 2006, section 3.2.2.
    return _quantile(n_methods) * math.sqrt(n_methods * (n_methods + 1) / (6 * n_blocks))


@lru_cache(maxsize=64)
def _quantile(n_methods: int) -> float:
    from scipy.stats import studentized_range

    # q: the studentized range with infinite degrees of freedom, divided by √2.
    return float(studentized_range.ppf(1 - ALPHA, n_methods, np.inf)) / math.sqrt(2)


def indistinct_groups(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of sorted mean ranks that span less than the critical difference.

    Examples
    --------
    >>> indistinct_groups([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    groups: list[tuple[int, int]] = []
    # From every rank as far down as the difference reaches; what an earlier run covers is no new
    # group, because runs that begin later never end earlier.
    for first, best in enumerate(ranks):
        last = max(place for place, rank in enumerate(ranks) if rank - best < difference)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _rules_matter(metric: str) -> bool:
    from rmls.metrics import get_metric

    return metric == "empty_rows" or (metric not in COSTS and get_metric(metric).needs == "sets")


def _one_rule_each(summaries: list[Summary]) -> list[Summary]:
    """Return the results of every method under one rule, its own where it was run."""
    found: dict[Setting, Summary] = {}
    for summary in sorted(summaries, key=_own_rule_first):
        found.setdefault(summary.setting._replace(decision=""), summary)
    return list(found.values())


def _own_rule_first(summary: Summary) -> tuple[bool, str]:
    return summary.setting.decision != own_rule(summary), summary.setting.decision


def _values_of(summaries: list[Summary], metric: str) -> _Values:
    """Return the mean of every method in every block, in an order that records do not change."""
    names = method_names(summary.setting for summary in summaries)
    if _rules_matter(metric):
        names = {setting: name_with_rule(name, setting) for setting, name in names.items()}
    else:
        summaries = _one_rule_each(summaries)
    rows = sorted(set(names.values()))
    blocks = _blocks(summary.setting for summary in summaries)
    table = np.full((len(rows), len(blocks)), np.nan)
    for column, block in enumerate(blocks):
        inside = [summary for summary in summaries if _takes_part(summary.setting, block)]
        # Means over different folds do not compare: a method with fewer has a gap here.
        wanted = set().union(*(_runs(summary) for summary in inside))
        for summary in inside:
            values = summary.values(metric)
            if _runs(summary) == wanted and len(values) == len(summary.records) > 0:
                table[rows.index(names[summary.setting]), column] = float(np.mean(values))
    return _Values(rows, blocks, table)


def _blocks(settings: Iterable[Setting]) -> list[Block]:
    """Return every data set with each of its numbers of components, None where it has none."""
    components: dict[str, set[int]] = {}
    for setting in settings:
        ks = components.setdefault(setting.dataset, set())
        if setting.n_components is not None:
            ks.add(setting.n_components)
    blocks: list[Block] = []
    for name in sorted(components):
        blocks += [(name, k) for k in sorted(components[name])] or [(name, None)]
    return blocks


def _takes_part(setting: Setting, block: Block) -> bool:
    dataset, k = block
    return setting.dataset == dataset and setting.n_components in (k, None)


def _runs(summary: Summary) -> set[tuple[int, int]]:
    """Return seed and fold of the results that ended well."""
    return {run_of(record) for record in summary.records}


def _block_name(block: Block) -> str:
    dataset, k = block
    return dataset if k is None else f"{dataset}, k = {k}"


def _complete_part(values: _Values) -> _Values | None:
    """Return methods and blocks without gaps, as many results as can be kept.

    The blocks with most gaps are dropped first: none of them, one, two and so on, each time with
    the methods that still have a gap.
    """
    gaps = np.isnan(values.table)
    # A stable sort keeps the order of names among equals.
    order = np.argsort(-gaps.sum(axis=0), kind="stable")
    best: tuple[tuple[int, int], NDArray[np.bool_], NDArray[np.bool_]] | None = None
    for n_dropped in range(len(order) + 1):
        columns = np.ones(len(order), dtype=bool)
        columns[order[:n_dropped]] = False
        rows = np.logical_not(gaps[:, columns].any(axis=1))
        n_rows, n_columns = int(rows.sum()), int(columns.sum())
        if min(n_rows, n_columns) < 2:
            continue
        score = (n_rows * n_columns, n_rows)
        if best is None or score > best[0]:
            best = score, rows, columns
    if best is None:
        return None
    _, rows, columns = best
    return _Values(
        [name for name, kept in zip(values.names, rows, strict=True) if kept],
        [block for block, kept in zip(values.blocks, columns, strict=True) if kept],
        values.table[np.ix_(rows, columns)],
    )


def _rank_columns(table: NDArray[np.float64], greater: bool) -> NDArray[np.float64]:
    from scipy.stats import rankdata

    return np.asarray(rankdata(-table if greater else table, axis=0), dtype=np.float64)


def _friedman(ranks: NDArray[np.float64]) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p value; (0, 1) if all tie."""
    from scipy.stats import chi2

    # χ² = (k - 1) Σᵢ (Rᵢ - N r̄)² / Σᵢⱼ (rᵢⱼ - r̄)², where r̄ = (k + 1) / 2, Rᵢ sums the ranks of
    # method i over the N blocks, and χ² has k - 1 degrees of freedom. Without ties it is
    # Friedman's 12 / (N k (k + 1)) Σ Rᵢ² - 3 N (k + 1); ties make the denominator smaller.
    n_methods, n_blocks = ranks.shape
    mean = (n_methods + 1) / 2
    between = float(((ranks.sum(axis=1) - n_blocks * mean) ** 2).sum())
    total = float(((ranks - mean) ** 2).sum())
    if total == 0:
        return 0.0, 1.0
    statistic = (n_methods - 1) * between / total
    return statistic, float(chi2.sf(statistic, n_methods - 1))
