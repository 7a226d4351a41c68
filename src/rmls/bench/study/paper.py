"""The study of the paper, as a grid to run.

Li Li and Houfeng Wang, "Towards Label Imbalance in Multi-label Classification with Many Labels":
seven methods, four data sets, two numbers of components, five folds, and the sampling coefficient
from 1 to 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rmls.bench.study.grid import DataSource, Experiment, Study
from rmls.bench.study.methods import NO_RULE, Method
from rmls.core.errors import InputError

ALPHAS = tuple(range(1, 11))
ALPHA_DATA = "eurlex57k_4k"
EVERY_LABEL = 10**6
"""More irrelevant labels per relevant one than there are: all of them are taken."""

DATASETS = {
    "enron": DataSource("enron"),
    "delicious": DataSource("delicious"),
    "eurlex57k_4k": DataSource(
        "eurlex57k_4k",
        features="tfidf",
        note="stand-in for the paper's EUR-Lex: EU laws too, but other documents and labels",
    ),
    "debdeps": DataSource(
        "debdeps",
        features="tfidf",
        note="stand-in for the paper's Wiki: Debian packages and what they depend on",
    ),
}
UNAVAILABLE = {
    "eurlex_desc": "the paper's EUR-Lex (19,348 × 5,000, 3,993 labels): the Mulan page on "
    "multi-label data sets links to it; eurlex57k_4k stands in for it",
    "wiki": "the paper's Wiki (28,596 × 23,495, 50,341 labels): the training part of the LSHTC "
    "challenge on Kaggle, labels with at least five rows; debdeps stands in for it",
}
STAND_INS = {"eurlex_desc": "eurlex57k_4k", "wiki": "debdeps"}
# The paper's 25(0) and 50(0): Enron has 53 labels, so it gets a tenth.
COMPONENTS = {"enron": (25, 50)}
MORE_COMPONENTS = (250, 500)

PLAIN: dict[str, Any] = {"calibration": None}
"""The common rule needs no probabilities, and times are those of one fit."""

OWN_AND_COMMON = ("round", "cardinality")
METHODS = (
    Method("RMLS", "RMLS", preset="paper"),
    Method("PLST", "PLST", preset="paper", decisions=OWN_AND_COMMON),
    Method("FaIE", "FaIE", preset="paper", decisions=OWN_AND_COMMON),
    Method("CSSP", "ML-CSSP", preset="paper", decisions=OWN_AND_COMMON),
    Method("WSABIE", "WSABIE", preset="paper"),
    Method("LEML", "LEML", preset="paper"),
    Method("AllIrrelevant", "Baseline", preset="paper"),
    Method("RMLS", "RMLS, our defaults", params=PLAIN, decisions=("cardinality",)),
)
FULL_LOSS = (
    Method(
        "RMLS",
        "RMLS, every label",
        preset="paper",
        params={"negatives_per_positive": EVERY_LABEL, "replacement": "auto"},
    ),
    Method(
        "RMLS",
        "RMLS, every label, weighted",
        preset="paper",
        params={"negatives": "all", "replacement": "auto"},
    ),
)

# Four candidates for each, features scaled alike, one rule for all: every method has the same
# chance.
SAME_CHANCE: dict[str, Any] = {"normalize": "auto"}
RIDGES = {"ridge": [0.1, 1.0, 3.0, 10.0]}
TUNED = tuple(
    Method(name, f"{label}, tuned", params=params, tune=grid, decisions=("cardinality",))
    for name, label, params, grid in (
        (
            "RMLS",
            "RMLS",
            SAME_CHANCE | PLAIN,
            {"negatives_per_positive": [5, "auto"], "max_iter": [5, 10]},
        ),
        ("PLST", "PLST", SAME_CHANCE, RIDGES),
        ("FaIE", "FaIE", SAME_CHANCE, RIDGES),
        ("CSSP", "ML-CSSP", SAME_CHANCE, RIDGES),
        (
            "WSABIE",
            "WSABIE",
            SAME_CHANCE,
            {"learning_rate": [0.01, 0.03], "max_norm": [1.0, 2.0]},
        ),
        ("LEML", "LEML", SAME_CHANCE, {"l2": [0.1, 1.0, 3.0, 10.0]}),
    )
)


def paper_study(
    datasets: Sequence[str] = tuple(DATASETS),
    components: Sequence[int] = (),
    methods: Sequence[str] = (),
    alphas: Sequence[int] = ALPHAS,
    alpha_data: str | None = None,
    *,
    tuned: bool = True,
    min_label_rows: int = 0,
) -> Study:
    """Return the study of the paper for some of its data sets.

    Parameters
    ----------
    datasets : sequence of str
        Names of the study's data sets, or files of your own.
    components : sequence of int, optional
        By default 25 and 50 for enron, 250 and 500 for the others.
    methods : sequence of str, optional
        Names as in the tables; by default all.
    alphas : sequence of int, default 1 to 10
        Sampling coefficients of the second experiment; empty to leave it out.
    alpha_data : str, optional
        Its data set: by default the stand-in for EUR-Lex where it is among ``datasets``, as in the
        paper, else the last of them.
    tuned : bool, default=True
        Whether methods are also run with parameters that each run chooses on inner folds of its
        training rows.
    min_label_rows : int, default=0
        Leave out labels that fewer rows have; the paper has 5 for its Wiki.

    Examples
    --------
    >>> study = paper_study(["enron"], [25], ["RMLS", "PLST"], alphas=[])
    >>> [str(fit) for fit in study.fits()[:2]]
    ['enron RMLS k=25 fold 1', 'enron PLST k=25 fold 1']
    """
    if not datasets:
        raise InputError("the study needs at least one data set.")
    chosen = [one for one in _choose(methods) if tuned or one not in TUNED]
    experiments = [
        Experiment(
            "methods",
            (_source(name, min_label_rows),),
            tuple(_with_components(chosen, name, components)),
        )
        for name in dict.fromkeys(datasets)
    ]
    if alphas:
        name = alpha_data or (ALPHA_DATA if ALPHA_DATA in datasets else datasets[-1])
        source = _source(name, min_label_rows)
        experiments.append(_alpha_experiment(source, components, alphas))
    return Study("paper", tuple(experiments), "The study of the paper")


def unavailable(datasets: Sequence[str]) -> dict[str, str]:
    """Return what to say of the paper's data sets that some of those asked for stand in for."""
    return {name: said for name, said in UNAVAILABLE.items() if STAND_INS[name] in datasets}


def _source(name: str, min_label_rows: int) -> DataSource:
    source = DATASETS.get(name) or DataSource(name)
    if not min_label_rows:
        return source
    said = f"labels with at least {min_label_rows} rows"
    note = f"{source.note}; {said}" if source.note else said
    return replace(source, min_label_rows=min_label_rows, note=note)


def _choose(names: Sequence[str]) -> list[Method]:
    known = {method.label: method for method in (*METHODS, *FULL_LOSS, *TUNED)}
    for name in names:
        if name not in known:
            listed = "; ".join(known)
            raise InputError(f"the study has no method {name!r}; it has {listed}.")
    return [known[name] for name in names or known]


def _components_of(dataset: str, components: Sequence[int]) -> list[int]:
    return list(components) or list(COMPONENTS.get(dataset, MORE_COMPONENTS))


def _with_components(
    methods: Sequence[Method], dataset: str, components: Sequence[int]
) -> list[Method]:
    """Return the methods with their k; what is slow only with the first one.

    That is the full loss, and what is tuned, which takes some dozen fits.
    """
    ks = _components_of(dataset, components)
    found = []
    for method in methods:
        own = ks[:1] if method in (*FULL_LOSS, *TUNED) else ks
        # A method that takes no rule, the baseline, has no components either.
        grid = {} if method.decisions == (NO_RULE,) else {"n_components": own}
        found.append(replace(method, params={**grid, **method.params}))
    return found


def _alpha_experiment(
    source: DataSource, components: Sequence[int], alphas: Sequence[int]
) -> Experiment:
    # Only the first k: the figure of the paper is about alpha.
    params = {
        "n_components": _components_of(source.name, components)[0],
        "negatives_per_positive": list(alphas),
    }
    methods = (
        Method("RMLS", "RMLS", preset="paper", params=params),
        Method("RMLS", "RMLS, our defaults", params=PLAIN | params, decisions=("cardinality",)),
    )
    return Experiment("alpha", (source,), methods)
