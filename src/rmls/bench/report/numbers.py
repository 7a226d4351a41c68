"""Figures as text: short, and with the digits that matter."""

from __future__ import annotations

import math

from rmls.bench.formatting import MISSING, decimals_of, format_number


def value(number: float | None) -> str:
    """Write a figure without its deviation, with three digits that count.

    Examples
    --------
    >>> value(0.6163), value(0.001428), value(0.0), value(5e8), value(None)
    ('0.616', '0.00143', '0.000', '5e+08', '–')
    """
    if number is not None and 1000 <= abs(number) < math.inf:
        return f"{number:.3g}"
    return format_number(number, 3 if number is None else decimals_of(number, 3, 3))


def seconds(time: float | None) -> str:
    """Write a time.

    Examples
    --------
    >>> seconds(0.0213), seconds(12.34), seconds(754), seconds(9000)
    ('0.0213 s', '12.3 s', '754 s', '2.50 h')
    """
    if time is None or not math.isfinite(time):
        return MISSING
    return f"{time:#.3g} s".replace(". s", " s") if time < 3600 else f"{time / 3600:.2f} h"


def size(n_bytes: float | None) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(512), size(3.4e8), size(25e9)
    ('512 B', '340 MB', '25.0 GB')
    """
    if n_bytes is None or not math.isfinite(n_bytes):
        return MISSING
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000 or unit == "GB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.1f} {unit}" if unit == "GB" else f"{n_bytes:.0f} {unit}"


def count(number: float | None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(28596)
    '28,596'
    """
    return format_number(number, 0)


def percent(share: float | None) -> str:
    """Write a share of the whole in percent.

    Examples
    --------
    >>> percent(0.0566), percent(0.5), percent(0.0001)
    ('5.7%', '50%', '<0.1%')
    """
    if share is None or not math.isfinite(share):
        return MISSING
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.0f}%" if share >= 0.1 or share == 0 else f"{100 * share:.1f}%"


def power(number: float) -> str:
    """Write a mark of a logarithmic axis.

    Examples
    --------
    >>> power(10000.0), power(0.001), power(1e6), power(1e-5)
    ('10,000', '0.001', '10⁶', '10⁻⁵')
    """
    if 1e-3 <= number < 1e5:
        return f"{number:,g}"
    exponent = str(round(math.log10(number)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
