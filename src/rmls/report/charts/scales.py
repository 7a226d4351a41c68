"""From values to places on an axis."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rmls.report.numbers import format_power

# Decades below which a logarithmic axis also marks values between the powers of ten.
SHORT = 2.3
# 0.3 / 0.1 is 2.9999999999999996: a value this close to a round one is taken for it.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Scale(ABC):
    """An axis from ``low`` at ``start`` to ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; values outside the axis stand at its ends."""
        inside = min(max(value, self.low), self.high)
        return self.start + self._part(inside) * (self.end - self.start)

    @abstractmethod
    def _part(self, value: float) -> float:
        """Return how far along the axis a value stands, 0 at ``low`` and 1 at ``high``."""

    @abstractmethod
    def ticks(self) -> list[float]:
        """Return the values that are marked."""

    @abstractmethod
    def text(self, value: float) -> str:
        """Return what is written at a mark."""


@dataclass(frozen=True)
class Linear(Scale):
    """An axis on which equal differences have equal lengths.

    Examples
    --------
    >>> axis = Linear(0, 2, 100, 300)
    >>> axis(1), axis(99), axis.ticks()
    (200.0, 300.0, [0.0, 0.5, 1.0, 1.5, 2.0])
    """

    step: float | None = None

    def _part(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return round values on the axis."""
        step = self.step or round_step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - TOLERANCE)
        last = math.floor(self.high / step + TOLERANCE)
        return [_tidy(position * step) for position in range(first, last + 1)]

    def text(self, value: float) -> str:
        """Return what is written at a mark."""
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.6g}"


@dataclass(frozen=True)
class Log(Scale):
    """An axis on which equal ratios have equal lengths; zero and less stand at its low end.

    Examples
    --------
    >>> axis = Log(0.01, 100, 0, 100)
    >>> axis(1), axis(0), axis.ticks()
    (50.0, 0.0, [0.01, 0.1, 1.0, 10.0, 100.0])
    >>> Log(0.3, 6, 0, 100).ticks()
    [0.5, 1.0, 2.0, 5.0]
    """

    n_ticks: int = 5

    def _part(self, value: float) -> float:
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Return powers of ten on the axis, also twice and five times them on a short one."""
        low, high = math.log10(self.low) - TOLERANCE, math.log10(self.high) + TOLERANCE
        if high - low < SHORT:
            powers = range(math.floor(low), math.ceil(high) + 1)
            fine = [_tidy(factor * 10.0**power) for power in powers for factor in (1, 2, 5)]
            return [tick for tick in fine if low <= math.log10(tick) <= high]
        # A long axis marks every second or third power, so that texts do not touch.
        step = max(1, math.ceil((high - low) / self.n_ticks))
        return [10.0**power for power in range(math.ceil(low), math.floor(high) + 1, step)]

    def text(self, value: float) -> str:
        """Return what is written at a mark."""
        return format_power(value)


def from_zero(values: Iterable[float], start: float, end: float, n_ticks: int = 4) -> Linear:
    """Return a linear axis from 0 to a round value that holds all of ``values``.

    Examples
    --------
    >>> from_zero([0.2, 0.61], 0, 100).high, from_zero([], 0, 100).high, from_zero([0], 0, 1).high
    (0.8, 1.0, 1.0)
    """
    top = max((value for value in values if math.isfinite(value)), default=0.0)
    if top <= 0:
        return Linear(0.0, 1.0, start, end)
    # The axis ends at a multiple of its step, so that its last mark is at its end.
    step = round_step(top / n_ticks)
    return Linear(0.0, _tidy(step * math.ceil(top / step - TOLERANCE)), start, end, step)


def around(values: Iterable[float], start: float, end: float, n_ticks: int = 4) -> Linear:
    """Return a linear axis just wide enough for ``values``, between round values.

    Examples
    --------
    >>> axis = around([0.41, 0.52], 0, 100)
    >>> axis.low, axis.high
    (0.4, 0.55)
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return Linear(0.0, 1.0, start, end)
    low, high = min(finite), max(finite)
    step = round_step((high - low) / n_ticks if high > low else abs(high) or 1.0)
    bottom = step * math.floor(low / step + TOLERANCE)
    top = step * math.ceil(high / step - TOLERANCE)
    # All values are the same round number: it stands in the middle.
    if top <= bottom:
        bottom, top = bottom - step, bottom + step
    return Linear(_tidy(bottom), _tidy(top), start, end, step)


def decades(values: Iterable[float], start: float, end: float, room: float | None = None) -> Log:
    """Return a logarithmic axis over whole decades; values that are not above 0 do not count.

    With ``room`` the axis ends that share of a decade beyond the values instead.

    Examples
    --------
    >>> axis = decades([0.02, 0.0, 30], 0, 100)
    >>> axis.low, axis.high
    (0.01, 100.0)
    """
    logs = [math.log10(value) for value in values if value > 0 and math.isfinite(value)]
    if not logs:
        return Log(0.1, 10.0, start, end)
    if room is not None:
        return Log(10.0 ** (min(logs) - room), 10.0 ** (max(logs) + room), start, end)
    first, last = math.floor(min(logs) + TOLERANCE), math.ceil(max(logs) - TOLERANCE)
    return Log(10.0**first, 10.0 ** max(last, first + 1), start, end)


def round_step(rough: float) -> float:
    """Return the least of 1, 2, 2.5, 5 times a power of ten that is not below ``rough``.

    Examples
    --------
    >>> [round_step(rough) for rough in (0.1525, 0.21, 3, 7)]
    [0.2, 0.25, 5.0, 10.0]
    """
    # The power of ten at or below rough; one of the choices times it is not below.
    unit = 10.0 ** math.floor(math.log10(rough))
    choices: Sequence[float] = (1, 2, 2.5, 5, 10)
    return next(_tidy(c * unit) for c in choices if c * unit >= rough * (1 - TOLERANCE))


def _tidy(value: float) -> float:
    """Remove what floating point adds to a sum of round steps."""
    return float(f"{value:.10g}")
