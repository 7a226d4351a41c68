"""How many passes RMLS makes over its rows, and at which learning rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.options import check_whole

USUAL_PASSES = 10
MOST_PASSES = 20
VISITED_ROWS = 10_000


def is_auto(value: Any) -> bool:
    """Tell whether an option is left to the data."""
    return isinstance(value, str) and value == "auto"


def check_passes(max_iter: Any) -> None:
    """Raise unless ``max_iter`` is ``"auto"`` or a whole number of at least 1."""
    if not isinstance(max_iter, str):
        check_whole("max_iter", max_iter, 1)
    elif not is_auto(max_iter):
        raise InputError(f"max_iter must be a whole number or 'auto'; got {max_iter!r}.")


def count_passes(max_iter: int | str, n_rows: int) -> int:
    """Return the passes to make over ``n_rows`` rows; ``"auto"`` makes more of them over few.

    Examples
    --------
    >>> [count_passes("auto", n_rows) for n_rows in (300, 700, 1000, 100_000)]
    [20, 15, 10, 10]
    >>> count_passes(7, 300)
    7
    """
    check_passes(max_iter)
    if is_auto(max_iter):
        return min(max(-(-VISITED_ROWS // n_rows), USUAL_PASSES), MOST_PASSES)
    return int(max_iter)


def count_rows(weights: NDArray[np.float64]) -> int:
    """Return how many rows distinct rows of these weights stand for; a fraction is one row.

    Examples
    --------
    >>> count_rows(np.array([1.0, 3.0, 0.2]))
    5
    """
    return int(np.ceil(weights).sum())


def learning_rates(rate: float, schedule: str, number: int, total: int) -> tuple[float, float]:
    """Return the learning rate at both ends of a pass.

    Examples
    --------
    >>> learning_rates(0.1, "linear", 0, 2), learning_rates(0.1, "constant", 0, 2)
    ((0.1, 0.05), (0.1, 0.1))
    """
    if schedule == "constant":
        return rate, rate
    return rate * (1 - number / total), rate * (1 - (number + 1) / total)
