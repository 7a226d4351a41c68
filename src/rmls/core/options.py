"""Checks of constructor options, each one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rmls.core.errors import InputError


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``choices``.

    Examples
    --------
    >>> check_choice("loss", "log", ["logistic", "squared"])
    Traceback (most recent call last):
    rmls.core.errors.InputError: loss must be one of 'logistic', 'squared'; got 'log'.
    """
    if not isinstance(value, str) or value not in choices:
        wanted = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {wanted}; got {value!r}.")


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def check_number(name: str, value: Any, *, positive: bool) -> None:
    """Raise unless ``value`` is finite and positive, or at least not negative."""
    wanted = "positive" if positive else "non-negative"
    good = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < 0 or (positive and value == 0):
        raise InputError(f"{name} must be a {wanted} number; got {value!r}.")


def check_share(name: str, value: Any) -> None:
    """Raise unless ``value`` lies strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise InputError(f"{name} must lie between 0 and 1; got {value!r}.")


def read_seed(random_state: Any) -> int:
    """Return an integer seed for any of scikit-learn's forms of ``random_state``.

    Examples
    --------
    >>> read_seed(7)
    7
    """
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        if int(random_state) >= 2**63:
            raise InputError(f"random_state must be below 2**63; got {random_state}.")
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
