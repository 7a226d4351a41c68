"""Bytes and seconds in words, and sizes read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmls.core.errors import InputError
from rmls.core.words import duration, read_size, seconds, size


@pytest.mark.parametrize("value", ["", "8 bananas", "-1GB", "0", "GB"])
def test_a_size_without_sense_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="a size such as"):
        read_size("memory_limit", value)


@given(st.integers(1, 10**15))
def test_a_written_size_is_read_back_to_its_digits(n_bytes: int) -> None:
    assert read_size("x", size(n_bytes)) == pytest.approx(n_bytes, rel=0.06)


@pytest.mark.parametrize(("text", "n_bytes"), [("1kb", 1000), ("1 KiB", 1024), ("2TiB", 2 << 40)])
def test_decimal_and_binary_units_are_told_apart(text: str, n_bytes: int) -> None:
    assert read_size("x", text) == n_bytes


@given(st.floats(1e-6, 3599.0))
def test_a_time_below_an_hour_keeps_three_digits(time: float) -> None:
    assert float(seconds(time).removesuffix(" s")) == pytest.approx(time, rel=0.005)


@given(st.floats(0, 3e5))
def test_a_duration_is_told_to_its_second_or_minute(time: float) -> None:
    units = {"h": 3600, "min": 60, "s": 1}
    words = duration(time).split()
    told = sum(int(n) * units[unit] for n, unit in zip(words[::2], words[1::2], strict=True))
    assert 0 <= round(time) - told < (60 if "h" in words else 1)
