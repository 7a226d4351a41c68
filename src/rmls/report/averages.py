"""Values of repeated runs brought together: their mean and deviation, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from rmls.report.numbers import MISSING, decimals_of, format_number

# Of seconds: tenths of a millisecond.
MAX_AMOUNT_DECIMALS = 4


@dataclass(frozen=True)
class Average:
    """Mean, sample deviation and number of some values.

    ``deviation`` is None for a single value.

    Examples
    --------
    >>> Average.of([0.5, 0.7])
    Average(mean=0.6, deviation=0.141..., count=2)
    >>> Average.of([0.5]).deviation is None
    True
    """

    mean: float
    deviation: float | None
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Average | None:
        """Return the average of some values, None where there are none."""
        array = np.asarray(list(values), dtype=np.float64)
        if not len(array):
            return None
        # s² = Σ (x - x̄)² / (n - 1): folds are a sample, not all there is.
        deviation = float(array.std(ddof=1)) if len(array) > 1 else None
        return cls(float(array.mean()), deviation, len(array))

    @property
    def span(self) -> tuple[float, float]:
        """The mean less and plus a deviation; twice the mean where none is known."""
        deviation = self.deviation if self.deviation and math.isfinite(self.deviation) else 0.0
        return self.mean - deviation, self.mean + deviation


def is_finite(average: Average | None) -> TypeGuard[Average]:
    """Tell whether there is a mean that can be drawn or compared."""
    return average is not None and math.isfinite(average.mean)


def scaled(average: Average | None, factor: float) -> Average | None:
    """Return an average in another unit.

    Examples
    --------
    >>> scaled(Average(3e6, 1e6, 5), 1e-6)
    Average(mean=3.0, deviation=1.0, count=5)
    """
    if average is None:
        return None
    deviation = None if average.deviation is None else average.deviation * factor
    return Average(average.mean * factor, deviation, average.count)


def best_of(averages: Sequence[Average | None], greater: bool) -> list[bool]:
    """Return which averages have the best mean; none has where all have the same.

    Examples
    --------
    >>> best_of([Average(0.2, None, 1), None, Average(0.3, 0.1, 2)], greater=True)
    [False, False, True]
    >>> best_of([Average(0.2, None, 1), None], greater=False)
    [False, False]
    """
    means = [one.mean for one in averages if is_finite(one)]
    if len(set(means)) < 2:
        return [False] * len(averages)
    best = max(means) if greater else min(means)
    return [one is not None and one.mean == best for one in averages]


def format_average(average: Average | None, digits: int = 3) -> str:
    """Return mean ± deviation with the same decimals; only the mean of a single value.

    Examples
    --------
    >>> format_average(Average(0.6042, 0.0098, 5)), format_average(Average(0.00049, 0.00001, 5))
    ('0.604 ± 0.010', '0.00049 ± 0.00001')
    >>> format_average(Average(0.6042, None, 1)), format_average(None)
    ('0.604', '–')
    """
    if average is None:
        return MISSING
    return format_to_decimals(average, decimals_of(average.mean, digits))


def format_amount(average: Average | None, significant: int = 3) -> str:
    """Return mean ± deviation of seconds or sizes, by the significant digits of the mean.

    Examples
    --------
    >>> format_amount(Average(0.02134, 0.0011, 5)), format_amount(Average(1226.5, 34.51, 5))
    ('0.0213 ± 0.0011', '1,226 ± 35')
    """
    if average is None:
        return MISSING
    decimals = decimals_of(average.mean, 0, significant)
    return format_to_decimals(average, min(decimals, MAX_AMOUNT_DECIMALS))


def format_to_decimals(average: Average, decimals: int) -> str:
    """Return mean ± deviation with a fixed number of decimals."""
    mean = format_number(average.mean, decimals)
    if average.deviation is None:
        return mean
    return f"{mean} ± {format_number(average.deviation, decimals)}"
