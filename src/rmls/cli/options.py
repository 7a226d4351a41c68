"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.decide import Rule


class Part(str, Enum):
    """Rows of a data set that is split into training and test rows."""

    ALL = "all"
    TRAIN = "train"
    TEST = "test"


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A data file, or the name of a data set.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a trained model.")]
PartOption = Annotated[
    Part | None, typer.Option("--part", metavar="PART", help="all, train or test rows.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FORMAT", help="Format of DATA, if its ending is misleading."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what stands there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
Decision = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="f1, cardinality, top_3, threshold=SCORE, macro_f1, psp@5, tail@5=0.3, …",
        show_default="that of the model",
    ),
]


def read_decision(text: str) -> str | Rule:
    """Return a decision rule from its text on the command line.

    Examples
    --------
    >>> read_decision("threshold=0.5")
    Threshold(value=0.5, metric='example_f1')
    >>> read_decision("top_3")
    TopK(k=3)
    """
    from rmls.decide import Threshold, make_rule

    name, equals, value = text.partition("=")
    if equals and name == "threshold":
        return Threshold(read_number("--decision threshold", value))
    return make_rule(text)


def decision_for(model: Any, text: str | None) -> str | Rule | None:
    """Return the rule to predict with: None is the one the model was trained with."""
    from rmls.decide import make_rule

    if text is None:
        return None
    wanted = read_decision(text)
    own = make_rule(model.decision)
    # A tuned threshold is kept with the metric it was tuned for, which the name does not tell.
    return None if text == own.name == "threshold" else wanted


def read_number(option: str, text: str) -> float:
    """Return a finite number, or raise a sentence that names the option."""
    from math import isfinite

    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise InputError(f"{option} must be a number; got {text!r}.")
    return number


def read_list(option: str, text: str) -> list[str]:
    """Return the parts of a list with commas.

    Examples
    --------
    >>> read_list("--metrics", "f1, p@1")
    ['f1', 'p@1']
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{option} is a list such as a,b,c; got {text!r}.")
    return parts
