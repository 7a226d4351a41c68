"""Arguments and options that several commands share, and the estimators that they name."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import Enum
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from math import inf, isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from rmls.cli.shared.console import plain_failures, plain_warnings
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.core.options import Described
    from rmls.decide import Rule

# Counts that a user can mean; what they need in memory is asked for elsewhere.
LARGEST = 999_999_999
LARGEST_SEED = 2**63 - 1
Number = TypeVar("Number", int, float)
RULES = "f1, cardinality, top_3, threshold=SCORE, macro_f1, psp@5, tail@5=0.3, …"
Command = Callable[..., None]
REFERENCE = re.compile(r"As for `(\w+)`\.")
# Folders of rmls.models in the order they are shown.
FAMILIES = {
    "rmls": "RMLS",
    "ranker": "RMLS",
    "text": "Texts",
    "lsdr": "Label space reduction",
    "embedding": "Embeddings",
    "ensembles": "Ensembles for imbalance",
    "neighbours": "Nearest neighbours",
    "baselines": "Baselines",
    "wrappers": "Around another estimator",
}


class Part(str, Enum):
    """Rows of a data set that is split into training and test rows."""

    ALL = "all"
    TRAIN = "train"
    TEST = "test"


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A data file, - for stdin, or a data set's name.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a trained model.")]
PartOption = Annotated[
    Part | None, typer.Option("--part", metavar="PART", help="all, train or test rows.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FORMAT", help="Format of the data, if its ending misleads."),
]
IndexBase = Annotated[
    int | None,
    typer.Option(
        "--index-base",
        metavar="0|1",
        min=0,
        max=1,
        help="The first index of svmlight text.",
        show_default="that of the model, or guessed",
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="FORMAT", help="Format of OUT.", show_default="by its ending"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Spread the work: the address of a Ray cluster, auto for that of this machine, or "
        "local:4 for threads.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what stands there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
Decision = Annotated[
    str | None, typer.Option(metavar="RULE", help=RULES, show_default="that of the model")
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


def read_number(option: str, text: str, minimum: float = -inf, maximum: float = inf) -> float:
    """Return a finite number, or raise a sentence that names the option."""
    try:
        value = float(text)
    except ValueError:
        value = nan
    if isfinite(value) and minimum <= value <= maximum:
        return value
    bounded = isfinite(minimum)
    wanted = f"a number from {minimum:,} to {maximum:,}" if bounded else "a number"
    raise InputError(f"{option} must be {wanted}; got {shorten(text)!r}.")


def read_whole(option: str, text: str, minimum: int, maximum: int = LARGEST) -> int:
    """Return a whole number, or raise a sentence that names the option.

    Examples
    --------
    >>> read_whole("--worst", "20", 1)
    20
    >>> read_whole("--worst", "0", 1)
    Traceback (most recent call last):
    rmls.core.errors.InputError: --worst must be a whole number from 1 to 999,999,999; got '0'.
    """
    digits = text.strip()
    # int takes underscores and other scripts too, and refuses thousands of digits in its own words.
    is_plain = digits.isascii() and digits.removeprefix("-").isdigit() and len(digits) < 30
    if not is_plain or not minimum <= int(digits) <= maximum:
        wanted = f"a whole number from {minimum:,} to {maximum:,}"
        raise InputError(f"{option} must be {wanted}; got {shorten(text)!r}.")
    return int(digits)


def whole(minimum: int, maximum: int = LARGEST) -> Callable[[Any], int]:
    """Return what typer reads a whole number with: ``typer.Option(parser=whole(1))``."""

    def parse(value: Any) -> int:
        return _in_words_of_typer(lambda: read_whole("it", str(value), minimum, maximum))

    return parse


def number(minimum: float = -LARGEST, maximum: float = LARGEST) -> Callable[[Any], float]:
    """Return what typer reads a number with: ``typer.Option(parser=number(0))``."""

    def parse(value: Any) -> float:
        return _in_words_of_typer(lambda: read_number("it", str(value), minimum, maximum))

    return parse


def _in_words_of_typer(read: Callable[[], Number]) -> Number:
    try:
        return read()
    except InputError as error:
        # typer puts the name of the option in front.
        raise typer.BadParameter(str(error)) from error


def shorten(text: str, limit: int = 50) -> str:
    """Return the beginning of a long text.

    Examples
    --------
    >>> shorten("9" * 5000, 5)
    '99999…'
    """
    return text if len(text) <= limit else text[:limit] + "…"


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


def takes(
    name: str, options: Sequence[Parameter], pack: Callable[..., Any] = dict
) -> Callable[[Command], Command]:
    """Return a decorator: the command gets ``name=pack(**values)`` and offers ``options`` for it.

    Parameters
    ----------
    name : str
        The argument of the command; the options stand in its place in the help.
    options : sequence of inspect.Parameter
        With the annotations that typer reads.
    pack : callable, default=dict
        Makes the argument from the values of the options, by name.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def call(**values: Any) -> None:
            packed = pack(**{option.name: values.pop(option.name) for option in options})
            command(**{name: packed}, **values)

        # Annotations are texts in these modules; typer wants what they stand for.
        own = signature(command, eval_str=True).parameters.values()
        # typer makes an option of every parameter: a group stands in the place of its argument.
        listed = [
            each.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in own
            for each in (options if parameter.name == name else [parameter])
        ]
        # typer reads the signature, and the annotations beside it.
        call.__signature__ = Signature(listed)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in listed}
        return call

    return decorate


def option(name: str, annotation: Any, default: Any = None) -> Parameter:
    """Return one option of a group."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def fields_of(cls: type) -> list[Parameter]:
    """Return the parameters of a dataclass whose annotations typer reads."""
    return list(signature(cls, eval_str=True).parameters.values())


def find_estimator(name: str) -> Any:
    """Return the class of an estimator; case does not matter."""
    from rmls import models

    for known, home in models.HOMES.items():
        if known.lower() == name.lower():
            return getattr(import_module(f"rmls.models.{home}"), known)
    listed = ", ".join(models.__all__)
    raise InputError(f"unknown method {name!r}; known are {listed}{suggest(name, models.__all__)}")


def list_families() -> dict[str, list[Any]]:
    """Return the classes of all estimators by the name of their family."""
    from rmls import models

    found: dict[str, list[Any]] = {title: [] for title in FAMILIES.values()}
    for name in models.__all__:
        estimator = getattr(models, name)
        # rmls.models.<folder>.<module>
        folder = estimator.__module__.split(".")[2]
        found[FAMILIES[folder]].append(estimator)
    return found


def summarize(estimator: Any) -> str:
    """Return what an estimator does, in one line."""
    return (inspect.getdoc(estimator) or "").partition("\n")[0]


def describe(estimator: Any) -> list[Described]:
    """Return the options of an estimator, in the order of its constructor.

    Where a docstring refers to another estimator, the text is the one of that estimator.
    """
    from rmls.core.options import describe_options

    found = describe_options(estimator, estimator.declared_options())
    return [
        replace(each, text=_text_of(reference[1], each.name)) if reference else each
        for each in found
        for reference in [REFERENCE.fullmatch(each.text)]
    ]


def _text_of(estimator: str, option: str) -> str:
    return {each.name: each.text for each in describe(find_estimator(estimator))}[option]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: the known name that is near, if there is one.

    Examples
    --------
    >>> suggest("cocao", ["COCOA", "KNN"]), suggest("x", ["COCOA"])
    ('; did you mean COCOA?', '.')
    """
    by_key = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_key, n=1)
    return f"; did you mean {by_key[near[0]]}?" if near else "."


def spreads(command: Any) -> Any:
    """Decorate a command: with --cluster the parts that are finished outlive a killed process."""

    @wraps(command)
    def run(**given: Any) -> None:
        if given["shortcuts"]["cluster"] is None:
            command(**given)
            return
        from rmls.cli.shared.clusters import parts_of

        with parts_of(given["output"], resume=given["resume"], quiet=given["quiet"]):
            command(**{**given, "resume": False})

    return run


class PlainFailures(TyperGroup):
    """A group of commands whose errors and warnings are single lines."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Parse and run, then exit; the code is 2 for errors and 130 for Ctrl-C."""
        # In its own mode click prints errors by itself and exits.
        kwargs["standalone_mode"] = False
        with plain_failures():
            code = super().main(*args, **kwargs)
        sys.exit(code or 0)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; ``help COMMAND`` is the help of that command."""
        asks_help = args[:1] == ["help"]
        return super().parse_args(ctx, [*args[1:], "--help"] if asks_help else args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        # Typer ends a broken pipe and Ctrl-C in its own way further up.
        with plain_failures(), plain_warnings():
            result = super().invoke(ctx)
            # Inside the block: that a reader has left shows only when text is flushed.
            sys.stdout.flush()
        return result


def show_help_without_command(context: typer.Context) -> None:
    """Print the help of the group and end, unless one of its commands follows."""
    if context.invoked_subcommand is None:
        # With rich the help is printed while it is made, and the text comes back empty.
        text = context.get_help().strip()
        if text:
            typer.echo(text)
        raise typer.Exit
