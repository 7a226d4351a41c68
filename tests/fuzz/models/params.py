"""Values for the options of an estimator, inside and outside of what they may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from rmls.decide.rules import RULES
from rmls.imbalance import RESAMPLERS

from ..mutate import Draw
from .estimators import ESTIMATORS, SMALL, WRAPPERS

STRANGE: list[Any] = [
    *(
        None,
        "auto",
        "none",
        "",
        "junk",
        True,
        [],
        {},
        b"x",
        0,
        -1,
        1.5,
        -0.5,
        np.nan,
        np.inf,
        10**30,
    ),
    *(object, np.array([1.0, 2.0]), np.float32(0.5), np.int64(2), np.str_("auto"), 1j, "1", "nan"),
]
COUNTS: list[Any] = [1, 2, 3, 5, 17, np.int32(4)]
# Numbers that ask for memory or place, and so can be refused or bounded.
LARGE: list[Any] = [100, 1000, 10**6, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**63, 10**30]
NUMBERS: list[Any] = [
    0.0,
    1e-300,
    1e-12,
    1e-3,
    0.1,
    0.5,
    1,
    1.0,
    3,
    100.0,
    1e6,
    1e30,
    1e300,
    5e-324,
]
SHARES: list[Any] = [0.01, 0.1, 0.5, 0.9, 0.999, 1e-12]
# Large values of these ask for so much work, and get it.
WORK = ("max_iter", "n_estimators", "max_epochs", "n_models", "steps", "folds", "tries", "verbose")
SPECIAL: dict[str, list[Any]] = {
    "decision": [
        *RULES,
        "top_1",
        "top_3",
        "threshold=0.5",
        0.5,
        "top_99",
        "top_0",
        "f1",
        "top_" + "9" * 40,
    ],
    "resampler": [*RESAMPLERS, None],
    "class_weight": [
        "balanced",
        "propensity",
        None,
        {},
        {0: 2.0},
        {0: -1},
        [1.0, 2.0],
        {"a": np.nan},
    ],
    "validation_metric": [
        "example_f1",
        "p@1",
        "psp@3",
        "p@" + "9" * 30,
        "micro_f1",
        "ranking_loss",
    ],
    "random_state": [
        0,
        7,
        2**32,
        2**63 - 1,
        2**63,
        None,
        np.random.RandomState(3),
        np.random.default_rng(3),
    ],
    "n_jobs": [None, 1, 2, -1, -5, 0, 10**6],
    "device": ["cpu", "cuda", "gpu", None],
    "max_label_norm": [None, 1.0, [1.0, 2.0, 3.0], [], -1.0, [np.nan], "1"],
    "verbose": [0, False],
}


def draw_params(name: str, draw: Draw) -> dict[str, Any]:
    """Return small settings of an estimator with up to four odd ones."""
    cls = ESTIMATORS[name]
    options = cls.declared_options()  # type: ignore[attr-defined]
    params = {key: value for key, value in SMALL.items() if key in options}
    if name in WRAPPERS:
        params["estimator"] = draw_inner(draw)
    names = [each for each in options if each != "estimator" and each != "representation"]
    for each in draw.sample(names, min(len(names), draw.choice((0, 1, 1, 2, 4)))):
        params[each] = draw_value(each, options[each], draw)
    return params


def draw_inner(draw: Draw, depth: int = 0) -> Any:
    """Return what a wrapper is given: an estimator, its name, or nonsense."""
    if draw.random() < 0.1:
        return draw.choice((None, "RMLS", "junk", 3, object(), ESTIMATORS["RMLS"]))
    name = draw.choice([each for each in ESTIMATORS if each not in WRAPPERS or depth == 0])
    params: dict[str, Any] = {
        key: value
        for key, value in SMALL.items()
        if key in ESTIMATORS[name]().get_params(deep=False)
    }
    if name in WRAPPERS:
        params["estimator"] = draw_inner(draw, depth + 1)
    return ESTIMATORS[name](**params)


def draw_value(name: str, option: Any, draw: Draw) -> Any:
    """Return a value of an option: most often one that it accepts."""
    if draw.random() < 0.15:
        return draw.choice(STRANGE)
    if name in SPECIAL:
        return draw.choice(SPECIAL[name])
    if option.choices:
        return draw.choice(option.choices)
    if option.accepts(True) and option.accepts(False):
        return draw.choice((True, False))
    is_work = any(word in name for word in WORK)
    if "whole number" in option.kind:
        return draw.choice(COUNTS if is_work or draw.random() < 0.6 else LARGE)
    if "between 0 and 1" in option.kind:
        return draw.choice([*SHARES, 0, 1])
    return draw.choice(NUMBERS)
