"""Numbers and averages as text: what is written is read back, to the digits it shows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmls.report.averages import Average, best_of, format_amount, format_average
from rmls.report.numbers import MISSING, format_difference, format_number, format_ratio


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_a_written_number_is_read_back_to_its_decimals(value: float, decimals: int) -> None:
    text = format_number(value, decimals)
    assert float(text.replace(",", "")) == pytest.approx(value, abs=0.5000001 * 10**-decimals)
    assert text != f"-{format_number(0, decimals)}"
    assert float(format_difference(value, decimals).replace(",", "")) == float(
        text.replace(",", "")
    )


@given(st.floats(1e-7, 0.99))
def test_small_means_keep_two_digits(mean: float) -> None:
    text = format_average(Average(mean, None, 1))
    assert float(text) == pytest.approx(mean, rel=0.06)


@given(st.floats(1e-2, 1e5))
def test_amounts_keep_three_digits(mean: float) -> None:
    text = format_amount(Average(mean, None, 1)).replace(",", "")
    assert float(text) == pytest.approx(mean, rel=0.006)


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_number_is_a_dash(value: float | None) -> None:
    written = (format_number(value), format_difference(value), format_ratio(value))
    assert written == (MISSING,) * 3


def test_the_best_is_marked_in_the_direction_of_the_metric() -> None:
    averages = [Average(0.1, None, 1), None, Average(0.3, None, 1), Average(0.1, None, 1)]
    assert best_of(averages, greater=True) == [False, False, True, False]
    assert best_of(averages, greater=False) == [True, False, False, True]
    assert best_of([averages[0]] * 3, greater=True) == [False] * 3
