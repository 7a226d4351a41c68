"""What the words of a label say about the arm of a study, and what an arm comes down to on data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from rmls import RMLS
from rmls.bench.run.measure import make_model
from rmls.bench.study.grid import Fit
from rmls.kernels.backend import get_backend
from rmls.kernels.cpu.sgd.sampler import wanted_labels
from rmls.models import __all__ as MODELS
from rmls.models.rmls.objective import make_objective
from rmls.models.rmls.sampling import Totals, count_passes

# Labels of a large problem, more than a row draws by default, and of a small one, fewer.
LARGE, SMALL = 5_000, 50
# So few that "auto" makes more passes than studies ask for.
ROWS = 500
# Relevant labels of rows that arms are compared on.
SIZES = range(40)
NAMES = {name: name for name in MODELS} | {"ML-CSSP": "CSSP", "Baseline": "AllIrrelevant"}

Meaning = dict[str, Any]


# What a label may say, part by part, and the parameters it thereby names: values, or what accepts
# them. A label with other words has to be explained here first.
WORDS: dict[str, Callable[[re.Match[str]], Meaning]] = {
    r"uniform": lambda _: {"sampler": "uniform"},
    r"frequency": lambda _: {"sampler": "frequency", "sampler_power": 1.0},
    r"frequency \*\* ([0-9.]+)": lambda found: {
        "sampler": "frequency",
        "sampler_power": float(found[1]),
    },
    r"mixture ([0-9.]+)": lambda found: {"sampler": "mixture", "sampler_mix": float(found[1])},
    r"in batch": lambda _: {"sampler": "in_batch", "batch_size": lambda size: size > 1},
    r"alpha ([0-9.]+)": lambda found: {"negatives_per_positive": float(found[1])},
    r"all labels": lambda _: {"negatives_per_positive": takes_all, "negatives": "sampled"},
    r"every label": lambda _: {
        "negatives_per_positive": anything,
        "negatives": anything,
        "replacement": "auto",
    },
    r"weighted": lambda _: {"negatives": "all"},
    r"calibrated": lambda _: {"calibration": "auto"},
    r"not calibrated|own probabilities": lambda _: {"calibration": None},
    r"our defaults": lambda _: {"calibration": None},
    r"tuned": lambda _: {"normalize": "auto", "calibration": None},
}


def anything(value: Any) -> bool:
    return True


def takes_all(ratio: Any) -> bool:
    return ratio != "auto" and int(wanted_labels(1, LARGE, float(ratio), 0)) == LARGE - 1


def meaning(label: str) -> Meaning:
    """Return the parameters that a label names; refuses words that it does not know."""
    named: Meaning = {}
    for part in label.split(", "):
        if part in NAMES:
            continue
        found = [(re.fullmatch(words, part), says) for words, says in WORDS.items()]
        said = [says(match) for match, says in found if match]
        assert said, f"nobody says what {part!r} in the label {label!r} means"
        named |= said[0]
    return named


def check_label(fit: Fit, arms: Iterable[Fit]) -> None:
    """Refuse a label that says something else than its arm does, or not all that it does."""
    method, named = fit.method, meaning(fit.method.label)
    parts = method.label.split(", ")
    called = [NAMES[part] for part in parts if part in NAMES]
    assert called in ([], [method.method]), f"{fit} is {method.method}"
    assert bool(method.tune) == ("tuned" in parts), f"{fit} has the grid {method.tune}"
    published = bool(called) and not {"tuned", "our defaults"} & set(parts)
    assert (method.preset == "paper") == published, f"{fit} has the preset {method.preset}"
    params, usual = make_model(fit).get_params(), method.make({}).get_params()
    for name, wanted in named.items():
        value = params.get(name)
        agrees = wanted(value) if callable(wanted) else value == wanted
        assert agrees or name not in params, f"{fit}: {name} is {value!r}, not what it says"
    if "every label" in parts:
        assert params["negatives"] == "all" or takes_all(params["negatives_per_positive"])
    alike = [make_model(one).get_params() for one in arms if one.method.method == method.method]
    for name in params.keys() - named.keys() - method.tune.keys():
        # Said by the columns of a table, or the same in all arms, or what nobody has to say.
        listed = name == "n_components" or isinstance(method.params.get(name), list)
        shared = all(one[name] == params[name] for one in alike)
        assert listed or shared or params[name] == usual[name], (
            f"{fit}: {name} is {params[name]!r}, and the label does not say so"
        )


def check_no_inert_value(fit: Fit) -> None:
    """Refuse a value that makes no difference, such as the power of a sampler that has none."""
    usual, found = fit.method.make({}).get_params(), effective(make_model(fit), LARGE)
    for name, value in fit.params.items():
        if value != usual[name]:
            without = make_model(fit, **{name: usual[name]})
            assert effective(without, LARGE) != found, f"{fit}: {name} makes no difference"


def effective(model: Any, n_labels: int) -> str:
    """Return what the parameters of a model come down to on a problem with so many labels."""
    if not isinstance(model, RMLS):
        return repr((type(model).__name__, sorted(model.get_params().items())))
    counts = np.maximum(ROWS // np.arange(1, n_labels + 1), 1).astype(np.float64)
    totals = Totals(float(ROWS), float(counts.sum() / ROWS), counts, counts / ROWS)
    space: Any = SimpleNamespace(n_labels=n_labels, is_single=False, names=range(n_labels))
    objective = make_objective(model, space, totals, get_backend("cpu"))
    ratio, least = objective.negatives_per_positive, objective.min_negatives
    drawn: Any = [int(wanted_labels(n, n_labels, ratio, least)) for n in SIZES]
    if objective.all_negatives:
        # Weighted to the total of a sample.
        drawn = ("weighted to", drawn)
    if model.sampler == "in_batch":
        drawn = ("of the batch", model.batch_size)
    resolved = objective._replace(negatives_per_positive=0.0, min_negatives=0)
    inside = {"negatives_per_positive", "min_negatives", "sampler", "sampler_power", "sampler_mix"}
    inside |= {"negatives", "replacement", "log_q", "loss", "activation", "l2", "class_weight"}
    rest = {name: v for name, v in model.get_params().items() if name not in inside}
    rest["max_iter"] = count_passes(model.max_iter, ROWS)
    return repr((drawn, _plain(resolved), sorted(rest.items())))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
