"""A study: which methods are run on which data, how they are split, and within which limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

from rmls.bench.records import Config, FoldKind
from rmls.core.errors import InputError
from rmls.core.options import check_choice, check_number, check_whole

FOLD_KINDS: tuple[FoldKind, ...] = ("shuffled", "stratified", "given")
FEATURES = ("raw", "tfidf")
PRESETS = (None, "paper")
NO_RULE = "none"


@dataclass(frozen=True)
class DataSource:
    """A data set of a study.

    Attributes
    ----------
    name : str
        Its name in tables.
    source : str or None
        File or registered name, by default ``name``.
    features : {"raw", "tfidf"}
        ``"tfidf"`` weighs counts by sublinear tf-idf fitted on the training rows.
    note : str
        What a reader must know wherever the data set is named, such as what it stands in for.
    longtail : dict or None
        Arguments of `rmls.datasets.make_longtail`, for generated data instead of a file.
    """

    name: str
    source: str | None = None
    features: str = "raw"
    note: str = ""
    longtail: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a data set is named by a text; got {self.name!r}.")
        check_choice(f"features of {self.name}", self.features, FEATURES)


@dataclass(frozen=True)
class Method:
    """A method of a study with its grid of parameters.

    Attributes
    ----------
    method : str
        Name of an estimator of `rmls.models`.
    label : str
        Its name in tables, by default ``method``.
    preset : {None, "paper"}
        ``"paper"`` starts from ``RMLS.paper()``.
    params : dict
        Parameters; a list is a choice of values, and every combination is run.
    decisions : tuple of str
        Decision rules; one fit serves all of them. By default the estimator's own, which is
        ``"none"`` where it has no choice.
    """

    method: str
    label: str = ""
    preset: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    decisions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.method)
        own = _check_method(self)
        object.__setattr__(self, "decisions", self.decisions or (own.get("decision", NO_RULE),))

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the parameters.

        Examples
        --------
        >>> list(Method("RMLS", params={"n_components": [5, 9], "l2": 0.1}).grid())
        [{'n_components': 5, 'l2': 0.1}, {'n_components': 9, 'l2': 0.1}]
        """
        choices = [v if isinstance(v, list) else [v] for v in self.params.values()]
        for values in product(*choices):
            yield dict(zip(self.params, values, strict=True))


@dataclass(frozen=True)
class Experiment:
    """Data sets and methods that are run against each other."""

    name: str
    datasets: tuple[DataSource, ...]
    methods: tuple[Method, ...]


@dataclass(frozen=True)
class Study:
    """A grid of runs.

    Attributes
    ----------
    name, title : str
    experiments : tuple of Experiment
    folds : {"shuffled", "stratified", "given"}
        ``"given"`` is the split of the data set itself, a single one.
    n_folds : int
    only_folds : tuple of int or None
        Run only these of the ``n_folds``.
    seeds : tuple of int
        Every seed splits and trains anew.
    threads : int
        Threads of one run.
    time_limit : float or None
        Seconds after which a run is ended and marked as failed.
    memory_limit : int or None
        Bytes of resident memory beyond which a run is ended and marked as failed.
    """

    name: str
    experiments: tuple[Experiment, ...]
    title: str = ""
    folds: FoldKind = "shuffled"
    n_folds: int = 5
    only_folds: tuple[int, ...] | None = None
    seeds: tuple[int, ...] = (0,)
    threads: int = 1
    time_limit: float | None = 1800.0
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        check_choice("folds", self.folds, FOLD_KINDS)
        check_whole("n_folds", self.n_folds, 2)
        check_whole("threads", self.threads, 1)
        for limit in ("time_limit", "memory_limit"):
            if getattr(self, limit) is not None:
                check_number(limit, getattr(self, limit), positive=True)
        for seed in self.seeds:
            check_whole("every seed", seed, 0)
        for fold in self.only_folds or ():
            if fold not in range(self.n_folds):
                raise InputError(f"fold {fold} is not one of 0 to {self.n_folds - 1}.")
        if not self.experiments or not self.seeds:
            raise InputError(f"the study {self.name!r} has no experiment or no seed.")

        _check_labels([m for experiment in self.experiments for m in experiment.methods])

    @property
    def protocol(self) -> str:
        """How every run is made; figures made differently cannot be averaged."""
        folds = "given split" if self.folds == "given" else f"{self.n_folds} {self.folds} folds"
        return f"{folds}, threads {self.threads}"

    @property
    def datasets(self) -> list[DataSource]:
        """Every data set once; two of the same name must be the same."""
        found: dict[str, DataSource] = {}
        for dataset in (d for experiment in self.experiments for d in experiment.datasets):
            if found.setdefault(dataset.name, dataset) != dataset:
                raise InputError(f"the study has two different data sets called {dataset.name!r}.")
        return list(found.values())

    def fits(self) -> list[Fit]:
        """Return every fit once, a fold of all methods before the next fold."""
        numbers = [0] if self.folds == "given" else self.only_folds or range(self.n_folds)
        found = [
            Fit(experiment.name, dataset, method, params, self, fold, seed)
            for experiment in self.experiments
            for dataset in experiment.datasets
            for seed in self.seeds
            for fold in numbers
            for method in experiment.methods
            for params in method.grid()
        ]
        if not found:
            raise InputError(f"the study {self.name!r} has nothing to run.")
        return found


@dataclass(frozen=True)
class Fit:
    """One training with all its decision rules: what one process does."""

    experiment: str
    dataset: DataSource
    method: Method
    params: dict[str, Any]
    study: Study
    fold: int
    seed: int

    def configs(self) -> list[Config]:
        """Return the configuration of every result, one for each decision rule."""
        return [
            Config(
                experiment=self.experiment,
                dataset=self.dataset.name,
                features=self.dataset.features,
                label=self.method.label,
                method=self.method.method,
                preset=self.method.preset,
                params=self.params,
                decision=decision,
                folds=self.study.folds,
                n_folds=1 if self.study.folds == "given" else self.study.n_folds,
                fold=self.fold,
                seed=self.seed,
                threads=self.study.threads,
            )
            for decision in self.method.decisions
        ]

    def __str__(self) -> str:
        k = self.params.get("n_components")
        others = {name: v for name, v in self.params.items() if name != "n_components"}
        extra = [f"k={k}"] if k is not None else []
        extra += [f"{name}={value}" for name, value in others.items()]
        where = f"fold {self.fold + 1}" + (f", seed {self.seed}" if self.seed else "")
        return " ".join([self.dataset.name, self.method.label, *extra, where])


def _check_labels(methods: list[Method]) -> None:
    """Refuse one name for two methods: their results would be averaged."""
    found: dict[str, tuple[str, str | None]] = {}
    for method in methods:
        identity = (method.method, method.preset)
        if found.setdefault(method.label, identity) != identity:
            raise InputError(f"two different methods are called {method.label!r}; label one.")


def _check_method(method: Method) -> dict[str, Any]:
    """Refuse unknown estimators, parameters and rules; returns the estimator's own parameters."""
    from rmls import models
    from rmls.decide import make_rule

    if method.method not in models.__all__:
        known = ", ".join(models.__all__)
        raise InputError(f"unknown method {method.method!r}; known are {known}.")
    if method.preset not in PRESETS or (method.preset and method.method != "RMLS"):
        raise InputError(f"{method.label}: preset must be 'paper', and only RMLS has it.")
    estimator = getattr(models, method.method)
    own = estimator.paper() if method.preset else estimator()
    known_params: dict[str, Any] = own.get_params(deep=False)
    for name in method.params:
        if name not in known_params:
            raise InputError(
                f"{method.label}: {method.method} has no parameter {name!r}; "
                f"it has {', '.join(sorted(known_params))}."
            )
    for decision in method.decisions:
        if decision != NO_RULE:
            make_rule(decision)
    return known_params


def field_names(kind: type) -> list[str]:
    """Return the fields a part of a study may have in a file."""
    return [item.name for item in fields(kind)]
