"""Options declared once: checks, the command line, the reference and the archive read this.

An estimator names the kind of every constructor parameter in its class attribute ``_options``. The
default stands in the signature and the description in the docstring, each of them only there.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from rmls.core.documented import read_parameters
from rmls.core.errors import InputError

_WORDS = {"true": True, "false": False}

# Components that any number of labels may have, and those that each label brings.
FREE_COMPONENTS, COMPONENTS_A_LABEL = 1_000, 10


@dataclass(frozen=True)
class Option:
    """What one option may be.

    Attributes
    ----------
    kind : str
        In words, so that "must be " and the kind make a sentence.
    accepts : callable
        Tells whether a value is of that kind.
    choices : tuple of str
        The names to choose from, where these are all.
    auto, optional : bool
        Whether ``"auto"`` and None are values as well.

    Examples
    --------
    >>> whole(1).or_auto().check("max_iter", 0)
    Traceback (most recent call last):
    rmls.core.errors.InputError: max_iter must be a whole number of at least 1 or 'auto'; got 0.
    >>> whole(1).or_none().read("none"), number().read(".5"), choice("1", "2").read("1")
    (None, 0.5, '1')
    """

    kind: str
    accepts: Callable[[Any], bool]
    choices: tuple[str, ...] = ()
    auto: bool = False
    optional: bool = False

    def or_auto(self) -> Option:
        """Return the option that may also be ``"auto"``."""
        return replace(self, auto=True)

    def or_none(self) -> Option:
        """Return the option that may also be None."""
        return replace(self, optional=True)

    @property
    def words(self) -> str:
        """The kind, with ``'auto'`` and None where they are allowed."""
        both = ", or" if " or " in self.kind or ", " in self.kind else " or"
        return self.kind + f"{both} 'auto'" * self.auto + f"{both} None" * self.optional

    def check(self, name: str, value: Any) -> None:
        """Raise one sentence unless ``value`` is what the option may be."""
        if (self.optional and value is None) or (self.auto and is_auto(value)):
            return
        if not self.accepts(value):
            raise InputError(f"{name} must {_be(self.words)}; got {_shown(value)}.")
        # Arrays and kernels hold no more; Python's own whole numbers know no limit.
        if isinstance(value, Integral) and abs(int(value)) >= 2**63:
            raise InputError(f"{name} must be below 2**63; got {_shown(value)}.")

    def read(self, text: str) -> Any:
        """Return the value that a text of the command line stands for; it is not checked."""
        if self.optional and text.lower() == "none":
            return None
        # A name that looks like a number stays a name.
        return text if text in self.choices else _read_value(text)


def _read_value(text: str) -> Any:
    """Return what a text stands for: JSON, or a number or truth value as Python writes it."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    # float reads words such as "nan" too, which are names here.
    readers = (json.loads, int, float) if text[:1] in "+-.0123456789" else (json.loads,)
    for read in readers:
        with suppress(ValueError, RecursionError):
            return read(text)
    return text


def _be(words: str) -> str:
    return f"lie {words}" if words.startswith("between ") else f"be {words}"


def _shown(value: Any, limit: int = 100) -> str:
    try:
        text = repr(value)
    except ValueError:
        # Python writes no number of more than some thousand digits.
        text = f"a number of {value.bit_length():,} bits"
    return text if len(text) <= limit else text[:limit] + "…"


def is_auto(value: Any) -> bool:
    """Tell whether an option is left to the data."""
    return isinstance(value, str) and value == "auto"


def _is_number(value: Any) -> bool:
    # bool is a Real too; nan fails both comparisons below.
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return -math.inf < value < math.inf  # type: ignore[operator]


def whole(minimum: int) -> Option:
    """Return the option of a whole number of at least ``minimum``."""
    return Option(
        f"a whole number of at least {minimum}",
        lambda value: (
            isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= minimum
        ),
    )


def number() -> Option:
    """Return the option of a finite number that is not negative."""
    return Option("a non-negative number", lambda value: _is_number(value) and value >= 0)


def positive() -> Option:
    """Return the option of a finite number above 0."""
    return Option("a positive number", lambda value: _is_number(value) and value > 0)


_NUMBER, _POSITIVE = number(), positive()


def share(*, ends: bool = False) -> Option:
    """Return the option of a number between 0 and 1; ``ends`` includes both."""
    if ends:
        return Option("between 0 and 1", lambda value: _is_number(value) and 0 <= value <= 1)
    return Option("between 0 and 1", lambda value: _is_number(value) and 0 < value < 1)


def choice(*names: str) -> Option:
    """Return the option of one of some names."""
    listed = ", ".join(repr(name) for name in names)
    return Option(
        f"one of {listed}", lambda value: isinstance(value, str) and value in names, names
    )


def flag() -> Option:
    """Return the option of True or False."""
    return Option("True or False", lambda value: isinstance(value, (bool, np.bool_)))


def integer() -> Option:
    """Return the option of any whole number, True and False among them."""
    return Option("a whole number", lambda value: isinstance(value, Integral))


def seed() -> Option:
    """Return the option of scikit-learn's ``random_state``; see `read_seed`."""
    return Option(
        "a whole number of at least 0, a RandomState",
        lambda value: int(value) >= 0 if isinstance(value, Integral) else hasattr(value, "randint"),
    ).or_none()


def anything(kind: str) -> Option:
    """Return an option that its only user checks, such as a rule or an estimator."""
    return Option(kind, lambda value: True)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``choices``.

    Examples
    --------
    >>> check_choice("loss", "log", ["logistic", "squared"])
    Traceback (most recent call last):
    rmls.core.errors.InputError: loss must be one of 'logistic', 'squared'; got 'log'.
    """
    choice(*choices).check(name, value)


def check_components(n_components: int, n_labels: int) -> None:
    """Raise a sentence for far more components than labels: they tell nothing and take for ever."""
    most = max(FREE_COMPONENTS, COMPONENTS_A_LABEL * n_labels)
    if n_components > most:
        raise InputError(
            f"n_components must be at most {most} for {n_labels} labels; got {n_components}."
        )


def check_whole(name: str, value: Any, minimum: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``minimum``."""
    whole(minimum).check(name, value)


def check_number(name: str, value: Any, *, positive: bool) -> None:
    """Raise unless ``value`` is finite and positive, or at least not negative."""
    (_POSITIVE if positive else _NUMBER).check(name, value)


def check_numbers(name: str, values: Any, *, signed: bool = False) -> None:
    """Raise unless ``values`` is a list of finite numbers, none of them negative if not signed."""
    if not isinstance(values, list):
        raise InputError(f"{name} must be a list of numbers; got {_shown(values)}.")
    for value in values:
        check_number(name, abs(value) if signed and _is_number(value) else value, positive=False)


def check_share(name: str, value: Any) -> None:
    """Raise unless ``value`` lies strictly between 0 and 1."""
    share().check(name, value)


@dataclass(frozen=True)
class Described:
    """An option with its default and its description.

    Attributes
    ----------
    name : str
    option : Option
    default : object
    text : str
        From the docstring of the class, with its markup.
    """

    name: str
    option: Option
    default: Any
    text: str

    @property
    def plain_text(self) -> str:
        """The description without markup."""
        return self.text.replace("`", "")


def describe_options(cls: type, options: dict[str, Option]) -> list[Described]:
    """Return the options of a class in the order of its constructor."""
    documented = read_parameters(inspect.getdoc(cls) or "")
    texts = {name: entry.text for name, entry in documented.items()}
    parameters = inspect.signature(cls).parameters.values()
    return [
        Described(each.name, options[each.name], each.default, texts.get(each.name, ""))
        for each in parameters
        if each.name in options
    ]


def read_seed(random_state: Any) -> int:
    """Return an integer seed for any of scikit-learn's forms of ``random_state``.

    Examples
    --------
    >>> read_seed(7)
    7
    """
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        # An int64 holds no more.
        if int(random_state) >= 2**63:
            raise InputError(f"random_state must be below 2**63; got {random_state}.")
        return int(random_state)
    seed().check("random_state", random_state)
    from sklearn.utils import check_random_state

    # A draw moves the generator on, so that a second call gets another seed.
    return int(check_random_state(random_state).randint(2**31 - 1))


def store_params(estimator: Any, values: Mapping[str, Any]) -> None:
    """Set the constructor's parameters as attributes: ``store_params(self, locals())``.

    scikit-learn wants a constructor to do this and nothing else; parameters are checked by `fit`.
    """
    for name in estimator._get_param_names():
        setattr(estimator, name, values[name])
