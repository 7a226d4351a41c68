"""Two folders of results side by side: paired differences with their intervals."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rmls.bench.run.records import Record
from rmls.bench.tables.summary import (
    Setting,
    Summary,
    known_metric,
    run_of,
    setting_of,
    test_ratio,
)
from rmls.core.errors import InputError
from rmls.report.averages import Average
from rmls.report.intervals import NOISE, resampled_estimate
from rmls.report.numbers import MISSING

METRICS = ("example_f1", "hamming_loss", "macro_f1", "precision@5", "psp@5")
RATIOS = ("train_seconds", "predict_seconds", "peak_memory")
"""Costs that are compared by their ratio, whatever metrics are asked for."""

Pair = tuple[Record, Record]


class Change(NamedTuple):
    """A metric before and after, over the pairs of results that have it.

    ``difference`` is the mean of after minus before; ``interval`` covers it with 95 %, corrected
    for rows that runs share (`rmls.report.intervals`), None for a single pair. ``p_value`` is that
    of the same paired test. ``ratio`` is the median of after to before, None where a value before
    is 0.
    """

    before: Average
    after: Average
    difference: float
    interval: tuple[float, float] | None
    ratio: float | None
    p_value: float | None = None

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero; never for a single pair."""
        if self.interval is None or abs(self.difference) <= NOISE:
            return False
        return self.interval[0] > 0 or self.interval[1] < 0

    @classmethod
    def of(
        cls, before: Sequence[float], after: Sequence[float], test_ratio: float = 0.0
    ) -> Change | None:
        """Return the change between paired values, None where there are none.

        ``test_ratio`` are the test rows per training row of a run, 0 where runs share none.

        Examples
        --------
        >>> change = Change.of([0.50, 0.52, 0.51], [0.54, 0.55, 0.56])
        >>> round(change.difference, 3), change.excludes_zero
        (0.04, True)
        """
        first, second = Average.of(before), Average.of(after)
        if first is None or second is None:
            return None
        old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
        # The median: one run that waited for the disk must not move it.
        ratio = float(np.median(new / old)) if (old > 0).all() else None
        found = resampled_estimate(new - old, test_ratio)
        interval, p_value = (found.interval, found.p_value) if found else (None, None)
        return cls(first, second, float((new - old).mean()), interval, ratio, p_value)


@dataclass(frozen=True)
class SettingChange:
    """What changed in one setting: the metrics asked for, and times and memory."""

    setting: Setting
    n_pairs: int
    changes: dict[str, Change]


@dataclass(frozen=True)
class Comparison:
    """What two sets of results have in common and how they differ; see `compare`.

    Attributes
    ----------
    metrics : list of str
    settings : list of SettingChange
    counts : dict of str to (int, int)
        Results before and after: all of them, in both, only on one side, and failed among those
        in both.
    origins : dict of str to (str, str)
        Commit, versions, machine and threads where they differ.
    notes : list of str
        What must be known to read the differences.
    times_compare : bool
        Whether both sides ran on the same kind of machine, with the same threads and data.
    """

    metrics: list[str]
    settings: list[SettingChange]
    counts: dict[str, tuple[int, int]]
    origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    times_compare: bool = True


def compare(
    before: Iterable[Record], after: Iterable[Record], metrics: Sequence[str] = METRICS
) -> Comparison:
    """Compare the results that two studies have in common, setting by setting.

    Parameters
    ----------
    before, after : iterable of Record
    metrics : sequence of str
        Names of metrics or fields of `COSTS`.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        Where no configuration is on both sides, or none ended well on both.

    Notes
    -----
    Results are paired by their key, then by configuration apart from threads. The interval is
    the corrected resampled one of Nadeau and Bengio over the pairs of a setting, because folds
    share training rows; of twenty intervals over nothing, one excludes zero.

    Examples
    --------
    >>> compare([], [])
    Traceback (most recent call last):
    rmls.core.errors.InputError: the results have no configuration in common (0 before, 0 after);
    compare two runs of the same study.
    """
    names = list(dict.fromkeys(known_metric(name) for name in metrics))
    old, new = list(before), list(after)
    pairs = _pair(old, new)
    if not pairs:
        raise InputError(
            f"the results have no configuration in common ({len(old)} before, {len(new)} after); "
            "compare two runs of the same study."
        )
    good = [pair for pair in pairs if pair[0]["measured"] and pair[1]["measured"]]
    if not good:
        raise InputError(
            f"{len(pairs)} configurations are on both sides, but none ended well on both; "
            "see the failures of each study."
        )
    origins = _origins(pairs)
    data = _datasets_that_differ(pairs)
    return Comparison(
        metrics=names,
        settings=_setting_changes(good, names),
        counts=_counts(old, new, pairs),
        origins=origins,
        notes=_notes(origins, data),
        times_compare=not data and not _SAME_MACHINE & set(origins),
    )


# -- pairs -----------------------------------------------------------------------------------------


def _pair(before: list[Record], after: list[Record]) -> list[Pair]:
    """Return the results of the same configuration: those of one key, then of other threads."""
    old, new = _by_key(before), _by_key(after)
    partners = {key: new[key] for key in old if key in new}
    # What is left is paired by configuration without threads, few threads with few.
    unpaired = defaultdict(list)
    for record in sorted((new[key] for key in new if key not in old), key=_threads):
        unpaired[_without_threads(record)].append(record)
    for record in sorted((old[key] for key in old if key not in new), key=_threads):
        if unpaired[_without_threads(record)]:
            partners[record["key"]] = unpaired[_without_threads(record)].pop(0)
    return [(old[key], partners[key]) for key in old if key in partners]


def _by_key(records: list[Record]) -> dict[str, Record]:
    """Return results by key; of several with one key the first, as `read_results` does."""
    found: dict[str, Record] = {}
    for record in records:
        found.setdefault(record["key"], record)
    return found


def _threads(record: Record) -> int:
    return record["config"]["threads"]


def _without_threads(record: Record) -> str:
    return json.dumps({**record["config"], "threads": None}, sort_keys=True)


def _setting_changes(pairs: list[Pair], metrics: list[str]) -> list[SettingChange]:
    groups: dict[Setting, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(setting_of(pair[0]), []).append(pair)
    found = []
    for setting, some in groups.items():
        changes = {name: _change(some, name) for name in dict.fromkeys([*metrics, *RATIOS])}
        known = {name: change for name, change in changes.items() if change is not None}
        found.append(SettingChange(setting, len(some), known))
    return found


def _change(pairs: list[Pair], name: str) -> Change | None:
    # In the order of the runs, so that sums do not depend on the order of the lines.
    values = [(_value(old, name), _value(new, name)) for old, new in sorted(pairs, key=_run)]
    known = [(old, new) for old, new in values if old is not None and new is not None]
    ratio = test_ratio([old for old, _ in pairs])
    return Change.of([old for old, _ in known], [new for _, new in known], ratio)


def _run(pair: Pair) -> tuple[int, int, int]:
    return *run_of(pair[0]), _threads(pair[0])


def _value(record: Record, name: str) -> float | None:
    return next(iter(Summary(setting_of(record), [record]).values(name)), None)


def _counts(
    before: list[Record], after: list[Record], pairs: list[Pair]
) -> dict[str, tuple[int, int]]:
    sizes = len(_by_key(before)), len(_by_key(after))
    failed = [sum(pair[side]["status"] == "failed" for pair in pairs) for side in (0, 1)]
    return {
        "results": sizes,
        "in both": (len(pairs), len(pairs)),
        "only here": (sizes[0] - len(pairs), sizes[1] - len(pairs)),
        "failed, of those in both": (failed[0], failed[1]),
    }


# -- where the results come from -------------------------------------------------------------------

# Times compare only where these agree.
_SAME_MACHINE = frozenset({"cpu", "cores", "jobs", "threads"})


def _origins(pairs: list[Pair]) -> dict[str, tuple[str, str]]:
    """Return commit, threads, versions and machine of both sides, those that differ."""
    sides: list[dict[str, set[str]]] = [defaultdict(set), defaultdict(set)]
    for pair in pairs:
        for side, record in zip(sides, pair, strict=True):
            facts = {"commit": record["commit"], "threads": _threads(record)}
            for name, value in {**facts, **record["versions"], **record["machine"]}.items():
                side[name].add(str(value))
    names = dict.fromkeys([*sides[0], *sides[1]])
    texts = {name: (_listed(sides[0][name]), _listed(sides[1][name])) for name in names}
    return {name: both for name, both in texts.items() if both[0] != both[1]}


def _listed(values: set[str]) -> str:
    return ", ".join(sorted(values)) or MISSING


def _datasets_that_differ(pairs: list[Pair]) -> list[str]:
    found = {
        old["config"]["dataset"]
        for old, new in pairs
        if old["data"] and new["data"] and old["data"]["checksum"] != new["data"]["checksum"]
    }
    return sorted(found)


def _notes(origins: dict[str, tuple[str, str]], datasets: list[str]) -> list[str]:
    notes = []
    if datasets:
        notes.append(
            f"Other data under the same name: {', '.join(datasets)}; neither quality nor times "
            "compare there."
        )
    differing = [name for name in origins if name in _SAME_MACHINE]
    if differing:
        notes.append(f"Not run alike ({', '.join(differing)} differ): times do not compare.")
    rest = [name for name in origins if name not in {*_SAME_MACHINE, "commit", "rmls"}]
    if rest:
        notes.append(f"Times may differ because of {', '.join(rest)}.")
    return notes
