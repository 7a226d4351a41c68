"""Results of the folds and seeds of one configuration, brought together as mean ± deviation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rmls.bench.run.records import Measured, Record
from rmls.bench.study.methods import NO_RULE
from rmls.core.options import is_auto
from rmls.report.averages import Average

COSTS = {
    "train_seconds": "training s",
    "train_cpu_seconds": "training CPU s",
    "predict_seconds": "prediction s",
    "peak_memory": "peak memory",
    "model_bytes": "model size",
    "empty_rows": "empty rows",
}

# The one clock of all reports: that of the wall depends on what else the machine does.
CLOCK = "train_cpu_seconds"
CARDINALITY = "cardinality"

# Estimators whose ``decision`` is "round" by default.
ROUNDING = frozenset(
    {
        "BinaryRelevance",
        "COCOA",
        "CPLST",
        "CS",
        "CSSP",
        "FaIE",
        "IRUS",
        "MultiWindowKNN",
        "PLST",
        "ReverseMultiLabel",
    }
)


# Estimators whose ``decision`` is "f1" by default.
EXPECTING = frozenset({"AveragedRMLS", "Calibrated", "GFM", "RMLS", "RMLSRanker", "Resampled"})


class Setting(NamedTuple):
    """What the rows of a table differ in; folds and seeds are averaged over.

    ``n_components`` is None for methods without it. ``variant`` tells settings apart that differ
    in other parameters: it is empty, or a text such as ``"negatives_per_positive=5"``.
    """

    experiment: str
    dataset: str
    label: str
    n_components: int | None
    variant: str
    decision: str


@dataclass
class Summary:
    """All results of one setting.

    Attributes
    ----------
    setting : Setting
    records : list of Record
        Those that ended well, in the order of seeds and folds.
    failed : list of Record
    """

    setting: Setting
    records: list[Record] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)

    def values(self, name: str, group: str = "all") -> list[float]:
        """Return a metric, or a field of `COSTS`, of every result that has it."""
        read = self._reader(name, group)
        found = (read(record["measured"]) for record in self.records if record["measured"])
        return [value for value in found if value is not None]

    def average(self, name: str, group: str = "all") -> Average | None:
        """Return mean and deviation of a metric, or of a field of `COSTS`."""
        return Average.of(self.values(name, group))

    @staticmethod
    def _reader(name: str, group: str) -> Callable[[Measured], float | None]:
        if name in COSTS:
            return lambda measured: float(measured[name])  # type: ignore[literal-required]
        return lambda measured: measured["metrics"].get(group, {}).get(name)


def summarise(records: Iterable[Record]) -> list[Summary]:
    """Group results by what they differ in besides fold and seed, in the order of the first one.

    Examples
    --------
    >>> summarise([])
    []
    """
    found: dict[Setting, Summary] = {}
    for record in records:
        setting = setting_of(record)
        summary = found.setdefault(setting, Summary(setting))
        (summary.records if record["status"] == "ok" else summary.failed).append(record)
    for summary in found.values():
        # Runs finish in any order; means and tables must not depend on it.
        for part in (summary.records, summary.failed):
            part.sort(key=run_of)
    return list(found.values())


def run_of(record: Record) -> tuple[int, int]:
    """Return seed and fold of a result: what the results of one setting differ in."""
    return record["config"]["seed"], record["config"]["fold"]


def test_ratio(records: Iterable[Record]) -> float:
    """Return the test rows per training row of some runs, on average; 0 where no size is known."""
    sizes = [record["data"] for record in records if record["data"]]
    ratios = [one["n_test"] / one["n_train"] for one in sizes if one["n_train"]]
    return sum(ratios) / len(ratios) if ratios else 0.0


def setting_of(record: Record) -> Setting:
    """Return the setting a result belongs to."""
    config = record["config"]
    params = dict(config["params"])
    n_components = params.pop("n_components", None)
    # As if nothing had been said: the size is the method's own choice.
    if is_auto(n_components):
        n_components = None
    # What None switches off is not named: the label of the method says it.
    given = sorted(name for name, value in params.items() if value is not None)
    variant = ", ".join(f"{name}={params[name]}" for name in given)
    return Setting(
        config["experiment"],
        config["dataset"],
        config["label"],
        n_components,
        variant,
        config["decision"],
    )


def known_metric(name: str) -> str:
    """Return the full name of a metric; a field of `COSTS` is returned as it is.

    Examples
    --------
    >>> known_metric("f1"), known_metric("train_seconds")
    ('example_f1', 'train_seconds')
    """
    from rmls.metrics import get_metric

    return name if name in COSTS else get_metric(name).name


def greater_is_better(name: str) -> bool:
    """Return whether more of a metric is better; less is, of every field of `COSTS`.

    Examples
    --------
    >>> greater_is_better("example_f1"), greater_is_better("train_seconds")
    (True, False)
    """
    from rmls.metrics import get_metric

    return name not in COSTS and get_metric(name).greater_is_better


def main_experiment(summaries: Iterable[Summary]) -> str | None:
    """Return the experiment that compares methods: ``"methods"``, or else the first one."""
    names = [summary.setting.experiment for summary in summaries]
    return "methods" if "methods" in names else next(iter(names), None)


def own_rule(summary: Summary) -> str:
    """Return the rule a method decides by when nothing else is asked for.

    That is ``decision`` of its parameters, or else the default of its estimator or preset. A method
    that takes no rule has the one it was run with.
    """
    if summary.setting.decision == NO_RULE:
        return NO_RULE
    found = {_own_rule(record) for record in [*summary.records, *summary.failed]}
    return found.pop() if len(found) == 1 else CARDINALITY


def _own_rule(record: Record) -> str:
    config = record["config"]
    if "decision" in config["params"]:
        return str(config["params"]["decision"])
    # By estimator, not by label: a label is free text.
    method, preset = config["method"], config["preset"]
    if method in ROUNDING:
        return "round"
    return "f1" if method in EXPECTING and preset is None else CARDINALITY


def paper_rule(summary: Summary) -> str:
    """Return the rule the paper cuts by: codes are rounded, all others keep the cardinality.

    A method that takes no rule has the one it was run with.
    """
    if summary.setting.decision == NO_RULE:
        return NO_RULE
    methods = {record["config"]["method"] for record in [*summary.records, *summary.failed]}
    return "round" if methods and methods <= ROUNDING else CARDINALITY
