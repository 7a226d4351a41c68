"""Intervals and tests of figures from runs that share rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

LEVEL = 0.95
# What summing in another order changes is no difference.
NOISE = 1e-12


class Estimate(NamedTuple):
    """A mean with its interval and the probability of such a one, or a larger, where it is 0."""

    mean: float
    low: float
    high: float
    p_value: float

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return abs(self.mean) > NOISE and (self.low > 0 or self.high < 0)


def resampled_estimate(
    values: Sequence[float] | np.ndarray[Any, Any], test_ratio: float = 0.0
) -> Estimate | None:
    """Return the mean of some runs with the corrected resampled t interval at 95 %.

    Parameters
    ----------
    values : sequence of float
        A figure of every run, or the difference of two methods in every run.
    test_ratio : float, default=0.0
        Test rows per training row of a run; 0 for runs that share no rows.

    Returns
    -------
    Estimate or None
        None for fewer than two values.

    Notes
    -----
    Runs of cross-validation are trained on much the same rows: their mean varies more than that
    of independent runs would. Nadeau and Bengio (2003) put ``1/J + test rows / training rows`` for
    ``1/J`` in the variance of a mean of J runs.

    Examples
    --------
    >>> plain = resampled_estimate([1.0, 2.0, 3.0])
    >>> round(plain.low, 3), round(plain.high, 3)
    (-0.484, 4.484)
    >>> wider = resampled_estimate([1.0, 2.0, 3.0], test_ratio=0.5)
    >>> round(wider.low, 3), round(wider.p_value, 3)
    (-1.928, 0.16)
    """
    from scipy.stats import t

    found = np.asarray(values, dtype=np.float64)
    if len(found) < 2:
        return None
    mean, degrees = float(found.mean()), len(found) - 1
    error = float(found.std(ddof=1)) * math.sqrt(1 / len(found) + test_ratio)
    half = float(t.ppf((1 + LEVEL) / 2, degrees)) * error
    if error == 0:
        return Estimate(mean, mean, mean, float(abs(mean) <= NOISE))
    return Estimate(mean, mean - half, mean + half, float(2 * t.sf(abs(mean) / error, degrees)))
