"""What is tried: few parameters that matter, and what can be changed after a training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rmls.core.errors import InputError
from rmls.metrics import get_metric
from rmls.models.ranker.label_index import SHORT
from rmls.models.ranker.ranker import RMLSRanker
from rmls.models.text.text_ranker import TextRanker

# Metrics of the registry, and what the figures with intervals call them.
FIGURES = {"precision": "P", "psp": "PSP", "ndcg": "nDCG"}
OF_SETS = {"example_f1": "example F", "macro_f1": "macro F"}
TAILS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
RULES = {"example F": ("f1", "cardinality"), "macro F": ("macro_f1", "f1")}


class Option(NamedTuple):
    """What a fitted model can be asked for without another training."""

    name: str = ""
    tail: float | None = None
    decision: str | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The same as parameters of the estimator."""
        given = {"tail": self.tail, "decision": self.decision}
        return {name: value for name, value in given.items() if value is not None}


AS_IT_IS = Option()


@dataclass(frozen=True)
class Arm:
    """A change of the defaults that needs a training of its own.

    Attributes
    ----------
    params : dict
        Parameters of the model; none of them for the defaults.
    cost : float
        Training time against that of the defaults, before it is measured.
    """

    params: dict[str, Any]
    cost: float = 1.0

    @property
    def name(self) -> str:
        """The parameters in words."""
        return in_words(self.params)

    @property
    def key(self) -> str:
        """The parameters as text, for files."""
        return json.dumps(self.params, sort_keys=True, default=str)


DEFAULTS = Arm({})

# What gained something on some set (docs/tune.md), the most promising for its time first.
OF_TEXTS = (
    Arm({"pairs": True}, 1.3),
    Arm({"characters": (3, 5)}, 2.0),
)
OF_RANKER = (
    Arm({"n_models": 3}, 1.5),
    Arm({"C": 0.5}),
    Arm({"prune": 0.01}, 1.2),
    Arm({"loss": "logistic"}, 1.8),
)
LONGER = Arm({"shortlist_size": 500}, 1.5)


def list_arms(
    model: Any, n_labels: int, space: Mapping[str, Sequence[Any]] | None = None
) -> list[Arm]:
    """Return the changes to try, one parameter each."""
    if space is not None:
        known = model.get_params()
        for name in space:
            if name not in known:
                raise InputError(f"{type(model).__name__} has no parameter {name!r} to tune.")
        return [Arm({name: value}) for name, values in space.items() for value in values]
    # Longer lists are no others where there are no more labels.
    of_ranker = OF_RANKER if n_labels <= SHORT else (*OF_RANKER, LONGER)
    if isinstance(model, TextRanker):
        own = of_ranker if isinstance(model.estimator, RMLSRanker) else ()
        inside = [
            Arm({f"estimator__{name}": value for name, value in arm.params.items()}, arm.cost)
            for arm in own
        ]
        arms = [*OF_TEXTS, *inside]
    elif isinstance(model, RMLSRanker):
        arms = [*of_ranker]
    else:
        raise InputError(
            f"give the values to try for {type(model).__name__}: space={{'parameter': [values]}}."
        )
    params = model.get_params()
    return [arm for arm in arms if any(params[name] != new for name, new in arm.params.items())]


def list_options(model: Any, figure: str) -> list[Option]:
    """Return what a fitted model is asked for: first as it is, then otherwise."""
    inner = model.estimator if isinstance(model, TextRanker) else model
    if figure in RULES:
        rules = (rule for rule in RULES[figure] if rule != getattr(inner, "decision", None))
        return [AS_IT_IS, *(Option(f"decision={rule}", decision=rule) for rule in rules)]
    if not isinstance(inner, RMLSRanker):
        return [AS_IT_IS]
    return [
        AS_IT_IS,
        *(Option(f"tail={tail:g}", tail=tail) for tail in TAILS if tail != inner.tail),
    ]


def combined(arms: Sequence[Arm]) -> Arm | None:
    """Return all changes together, the first of each parameter; None where that is no new one."""
    params: dict[str, Any] = {}
    cost = 1.0
    for arm in arms:
        if not params.keys() & arm.params.keys():
            params |= arm.params
            cost *= arm.cost
    return Arm(params, cost) if len(params) > 1 and len(arms) > 1 else None


def read_figure(metric: str) -> str:
    """Return what the figures with intervals call a metric.

    Examples
    --------
    >>> read_figure("psp@5"), read_figure("p@1"), read_figure("macro_f1")
    ('PSP@5', 'P@1', 'macro F')
    """
    found = get_metric(metric)
    stem = found.name.partition("@")[0]
    if found.name in OF_SETS:
        return OF_SETS[found.name]
    if stem not in FIGURES:
        raise InputError(
            f"{metric} cannot be tuned for; take precision@k, psp@k, ndcg@k, f1 or macro_f1."
        )
    if found.k is None:
        raise InputError(f"{metric} needs a number for k, such as {metric.partition('@')[0]}@5.")
    return f"{FIGURES[stem]}@{found.k}"


def in_words(params: Mapping[str, Any]) -> str:
    """Return parameters as they are given on the command line.

    Examples
    --------
    >>> in_words({"estimator__C": 0.5, "characters": (3, 5)}), in_words({})
    ('C=0.5, characters=[3, 5]', 'the defaults')
    """
    if not params:
        return "the defaults"
    return ", ".join(f"{name.rpartition('__')[2]}={written(v)}" for name, v in params.items())


def written(value: Any) -> str:
    """Return a value as ``--set`` reads it."""
    if isinstance(value, str):
        return value
    return json.dumps(list(value) if isinstance(value, tuple) else value, default=str)
