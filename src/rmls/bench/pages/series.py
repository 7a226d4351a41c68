"""Results in the order and under the names that all charts share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rmls.bench.run.records import Record
from rmls.bench.tables.names import method_names
from rmls.bench.tables.summary import Setting, Summary, summarise

ALPHA = "alpha"
PARAMETER = "negatives_per_positive"
METRIC_NAMES = {
    "example_f1": "F",
    "example_accuracy": "accuracy",
    "hamming_loss": "Hamming loss",
    "macro_f1": "macro F",
    "macro_recall": "macro recall",
}
LOWER_IS_BETTER = frozenset({"hamming_loss"})


@dataclass
class Series:
    """A method with one decision rule on one data set, over its numbers of components.

    Attributes
    ----------
    name : str
    position : int
        The same in every chart of a report; gives colour and shape.
    members : list of Summary
        From few components to many.
    """

    name: str
    position: int
    members: list[Summary] = field(default_factory=list)

    @property
    def largest(self) -> Summary:
        """The results with the most components."""
        return self.members[-1]


@dataclass
class Results:
    """All results of a study, by setting."""

    records: list[Record]
    study: dict[str, Any]
    summaries: list[Summary] = field(init=False)
    names: dict[Setting, str] = field(init=False)
    positions: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.summaries = summarise(self.records)
        self.names = display_names([summary.setting for summary in self.compared])
        labels = {s.setting: s.setting.label for s in self.summaries}
        self.names = labels | self.names
        # Compared methods get the first colours, whatever the study ran before them.
        every = [*(self.names[s.setting] for s in self.compared), *self.names.values()]
        self.positions = {name: i for i, name in enumerate(dict.fromkeys(every))}

    @property
    def compared(self) -> list[Summary]:
        """Results of methods set against each other: all but those of the alpha figure."""
        return [s for s in self.summaries if alpha_of(s) is None]

    @property
    def sampled(self) -> list[Summary]:
        """Results of the alpha figure."""
        return [s for s in self.summaries if alpha_of(s) is not None]

    def blocks(self) -> list[tuple[str, str]]:
        """Return each experiment and data set in which methods are compared."""
        found = [(s.setting.experiment, s.setting.dataset) for s in self.compared]
        return list(dict.fromkeys(found))

    def block_name(self, experiment: str, dataset: str) -> str:
        """Return the data set, and the experiment where there are several."""
        several = len({name for name, _ in self.blocks()}) > 1
        return f"{dataset}, experiment {experiment}" if several else dataset

    def note(self, dataset: str) -> str:
        """Return what must be said wherever a data set is named, empty if nothing."""
        return str(self.study.get("datasets", {}).get(dataset, {}).get("note") or "")

    def block_title(self, experiment: str, dataset: str) -> str:
        """Return the name of a block with the note of its data set."""
        name, note = self.block_name(experiment, dataset), self.note(dataset)
        return f"{name} ({note})" if note else name

    def series(self, experiment: str, dataset: str) -> list[Series]:
        """Return the methods of an experiment on a data set, in the order of the study."""
        found: dict[str, Series] = {}
        for summary in self.summaries:
            setting = summary.setting
            if (setting.experiment, setting.dataset) == (experiment, dataset):
                name = self.names[setting]
                series = found.setdefault(name, Series(name, self.positions[name]))
                series.members.append(summary)
        for series in found.values():
            series.members.sort(key=lambda summary: summary.setting.n_components or 0)
        return list(found.values())


def display_names(settings: Iterable[Setting]) -> dict[Setting, str]:
    """Name every setting by its method, and by what else it takes to tell it from others.

    Folds, seeds and the number of components are not part of a name.

    Examples
    --------
    >>> rules = [Setting("m", "enron", "PLST", 25, "", rule) for rule in ("round", "cardinality")]
    >>> list(display_names([*rules, Setting("m", "enron", "RMLS", 25, "l2=1", "top")]).values())
    ['PLST · round', 'PLST · cardinality', 'RMLS']
    """
    settings = list(settings)
    # Several rules for one method on one data set: then its rule is part of its name.
    rules: dict[tuple[str, str, str], set[str]] = {}
    for s in settings:
        rules.setdefault((s.experiment, s.dataset, s.label), set()).add(s.decision)
    told_by_rule = {(e, label) for (e, _, label), found in rules.items() if len(found) > 1}
    return {
        s: f"{name} · {s.decision}" if (s.experiment, s.label) in told_by_rule else name
        for s, name in method_names(settings).items()
    }


def metric_title(metric: str) -> str:
    """Return the name of a metric as a title, with the direction where lower is better.

    Examples
    --------
    >>> metric_title("macro_f1"), metric_title("hamming_loss")
    ('Macro F', 'Hamming loss, lower is better')
    """
    name = METRIC_NAMES[metric]
    return name[0].upper() + name[1:] + (", lower is better" if metric in LOWER_IS_BETTER else "")


def alpha_of(summary: Summary) -> float | None:
    """Return the irrelevant labels drawn for each relevant one; None outside that experiment."""
    if summary.setting.experiment != ALPHA:
        return None
    for record in [*summary.records, *summary.failed]:
        value = record["config"]["params"].get(PARAMETER)
        if isinstance(value, int | float):
            return float(value)
    return None


def components(setting: Setting) -> str:
    """Return the number of components as text, empty for methods without.

    Examples
    --------
    >>> components(Setting("m", "enron", "PLST", 25, "", "round"))
    '25'
    """
    return "" if setting.n_components is None else str(setting.n_components)


def why_missing(summary: Summary) -> str:
    """Return a few words on why a setting has no figures."""
    reasons = [record["failure"]["reason"] for record in summary.failed if record["failure"]]
    names = {
        "time": "ran out of time",
        "memory": "ran out of memory",
        "error": "failed",
        "crash": "crashed",
    }
    return names.get(reasons[0], "failed") if reasons else "no value"
