"""A study: which methods are run on which data, how they are split, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

from rmls.bench.study.methods import Method
from rmls.core.errors import InputError
from rmls.core.options import check_choice, check_number, check_whole

FoldKind = Literal["shuffled", "stratified", "given"]
FOLD_KINDS: tuple[FoldKind, ...] = ("shuffled", "stratified", "given")
FEATURES = ("raw", "tfidf")


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
    min_label_rows : int
        Labels that fewer rows have are left out.
    """

    name: str
    source: str | None = None
    features: str = "raw"
    note: str = ""
    longtail: dict[str, Any] | None = None
    min_label_rows: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a data set is named by a text; got {self.name!r}.")
        check_choice(f"features of {self.name}", self.features, FEATURES)
        check_whole(f"min_label_rows of {self.name}", self.min_label_rows, 0)


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
    inner_folds : int
        Parts of the training rows on which methods with ``tune`` choose.
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
    inner_folds: int = 3

    def __post_init__(self) -> None:
        check_choice("folds", self.folds, FOLD_KINDS)
        check_whole("n_folds", self.n_folds, 2)
        check_whole("inner_folds", self.inner_folds, 2)
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
        # Seeds and folds are outside methods: stopped early, a study has whole folds of all.
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


class _Tuned(TypedDict, total=False):
    """What the configuration of a tuned method has besides: its grid, and the inner folds."""

    tune: dict[str, Any]
    inner_folds: int


class Config(_Tuned):
    """What was asked for; two results with the same configuration answer the same question.

    ``label`` is the name in tables and ``decision`` the rule that cut the scores into sets. One
    fit answers for all of its rules, each in a line of its own.
    """

    experiment: str
    dataset: str
    features: str
    label: str
    method: str
    preset: str | None
    params: dict[str, Any]
    decision: str
    folds: FoldKind
    n_folds: int
    fold: int
    seed: int
    threads: int


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
        # Only where something is tuned: other results keep their keys.
        method, more = self.method, _Tuned()
        if method.tune:
            more = _Tuned(tune=method.tune, inner_folds=self.study.inner_folds)
        return [
            Config(
                **more,
                experiment=self.experiment,
                dataset=self.dataset.name,
                features=self.dataset.features,
                label=self.method.label,
                method=self.method.method,
                preset=self.method.preset,
                params=self.params,
                decision=decision,
                folds=self.study.folds,
                # The given split is one fold whatever n_folds says; its key must not depend on it.
                n_folds=1 if self.study.folds == "given" else self.study.n_folds,
                fold=self.fold,
                seed=self.seed,
                threads=self.study.threads,
            )
            for decision in self.method.decisions
        ]

    @property
    def setting(self) -> str:
        """Data set, method and parameters in words, without fold and seed."""
        k = self.params.get("n_components")
        others = {name: v for name, v in self.params.items() if name != "n_components"}
        extra = [f"k={k}"] if k is not None else []
        extra += [f"{name}={value}" for name, value in others.items()]
        return " ".join([self.dataset.name, self.method.label, *extra])

    def __str__(self) -> str:
        where = f"fold {self.fold + 1}" + (f", seed {self.seed}" if self.seed else "")
        return f"{self.setting} {where}"


def _check_labels(methods: list[Method]) -> None:
    """Refuse one name for two methods: their results would be averaged."""
    found: dict[str, tuple[str, str | None, str]] = {}
    for method in methods:
        identity = (method.method, method.preset, repr(method.tune))
        # Results are averaged by label; two methods under one would be mixed.
        if found.setdefault(method.label, identity) != identity:
            raise InputError(f"two different methods are called {method.label!r}; label one.")


def field_names(kind: type) -> list[str]:
    """Return the fields a part of a study may have in a file."""
    return [item.name for item in fields(kind)]
