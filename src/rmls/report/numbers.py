"""Numbers as text: short, and with the digits that matter."""

from __future__ import annotations

import math

MISSING = "–"
# Smaller values are written as zeros rather than as ever longer texts.
MAX_DECIMALS = 8


def decimals_of(value: float, digits: int = 3, significant: int = 2) -> int:
    """Return the decimals that show a value: ``digits``, more where it is small.

    Examples
    --------
    >>> decimals_of(0.52), decimals_of(0.0014), decimals_of(0.00049), decimals_of(0.0)
    (3, 4, 5, 3)
    """
    if not math.isfinite(value) or value == 0:
        return digits
    # 0.00049 = 4.9e-4: the first significant digit is decimal 4, the second one decimal 5.
    needed = significant - 1 - math.floor(math.log10(abs(value)))
    return min(max(digits, needed), max(digits, MAX_DECIMALS))


def format_number(value: float | None, decimals: int = 3) -> str:
    """Return a number with a fixed number of decimals; a dash where there is none.

    Examples
    --------
    >>> format_number(0.0004, 3), format_number(-0.0004, 3), format_number(15173.62, 0)
    ('0.000', '0.000', '15,174')
    >>> format_number(None), format_number(float("nan"))
    ('–', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{decimals}f}"
    # Rounded to zero, a number has no sign.
    return text.lstrip("-") if not text.strip("-0.,") else text


def format_value(value: float | None) -> str:
    """Return a number without its deviation, with three digits that count.

    Examples
    --------
    >>> format_value(0.6163), format_value(0.001428), format_value(0.0)
    ('0.616', '0.00143', '0.000')
    >>> format_value(5e8), format_value(None)
    ('5e+08', '–')
    """
    if value is not None and 1000 <= abs(value) < math.inf:
        return f"{value:.3g}"
    return format_number(value, 3 if value is None else decimals_of(value, 3, 3))


def format_difference(value: float | None, decimals: int = 3) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> format_difference(0.0171), format_difference(-0.0171), format_difference(0.0)
    ('+0.017', '-0.017', '0.000')
    """
    text = format_number(value, decimals)
    return text if text == MISSING or text[0] == "-" or not text.strip("0.,") else f"+{text}"


def format_interval(interval: tuple[float, float] | None, decimals: int = 3) -> str:
    """Return both ends of an interval with their signs.

    Examples
    --------
    >>> format_interval((-0.0012, 0.034)), format_interval(None)
    ('[-0.001, +0.034]', '–')
    """
    if interval is None:
        return MISSING
    low, high = (format_difference(end, decimals) for end in interval)
    return f"[{low}, {high}]"


def format_ratio(value: float | None) -> str:
    """Return a ratio to two significant digits.

    Examples
    --------
    >>> format_ratio(0.0614), format_ratio(1.02), format_ratio(12.3), format_ratio(None)
    ('×0.061', '×1.02', '×12', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    # ×0.95 and ×1.02 must not both become ×1.0.
    decimals = 2 if 0.1 <= value < 10 else decimals_of(value, 0)
    return f"×{format_number(value, decimals)}"


def format_p(value: float) -> str:
    """Return a probability of a test.

    Examples
    --------
    >>> format_p(0.0312), format_p(1e-9), format_p(1.0)
    ('0.031', '< 0.0001', '1.000')
    """
    return "< 0.0001" if value < 1e-4 else format_number(value, decimals_of(value))


def format_percent(share: float | None) -> str:
    """Return a share of the whole in percent.

    Examples
    --------
    >>> format_percent(0.0566), format_percent(0.5), format_percent(0.0001)
    ('5.7%', '50%', '<0.1%')
    """
    if share is None or not math.isfinite(share):
        return MISSING
    # A share that would be rounded to zero is told from none at all.
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.0f}%" if share >= 0.1 or share == 0 else f"{100 * share:.1f}%"


def format_power(value: float) -> str:
    """Return a mark of a logarithmic axis.

    Examples
    --------
    >>> format_power(10000.0), format_power(0.001), format_power(1e6), format_power(1e-5)
    ('10,000', '0.001', '10⁶', '10⁻⁵')
    """
    if 1e-3 <= value < 1e5:
        return f"{value:,g}"
    exponent = str(round(math.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
