"""Spaces, whole numbers and decimal numbers of a text, byte by byte.

A text ends with a newline, which stops every loop here.
"""

from __future__ import annotations

import math

import numpy as np

from rmls.kernels.cpu.parse.codes import (
    HARD,
    LOWER_E,
    MINUS,
    NEWLINE,
    NINE,
    NO_NUMBER,
    PLUS,
    POINT,
    RETURN,
    SPACE,
    SURE,
    TAB,
    UPPER_E,
    ZERO,
)
from rmls.kernels.jit import njit

INDEX_LIMIT = 2**31 - 1
# Below it an int64 has room for one more digit.
MANTISSA_LIMIT = (2**63 - 10) // 10
# Halfway from the largest float32 to 2**128: rounding gives inf from here on.
FLOAT32_OVERFLOW = float.fromhex("0x1.ffffffp+127")
# Smaller numbers have fewer bits in float32, so that `_scaled` cannot judge them.
FLOAT32_NORMAL = float.fromhex("0x1p-126")
# Exact up to 10**22, the others rounded correctly.
POWERS = np.array([float(f"1e{power}") for power in range(309)])


@njit(cache=True, nogil=True)
def is_space(byte):
    """Tell whether a byte parts two tokens of a line."""
    return byte in (SPACE, TAB, RETURN)


@njit(cache=True, nogil=True)
def ends_token(byte):
    """Tell whether a byte ends a token: a space or the end of the line."""
    return byte in (SPACE, NEWLINE, TAB, RETURN)


@njit(cache=True, nogil=True)
def skip_spaces(text, position):
    """Return the position of the next byte that is no space."""
    while is_space(text[position]):
        position += 1
    return position


@njit(cache=True, nogil=True)
def next_line(text, position):
    """Return the position behind the end of the line."""
    while text[position] != NEWLINE:
        position += 1
    return position + 1


@njit(cache=True, nogil=True)
def read_index(text, position):
    """Read digits; return (number, position behind them), number -1 when there are none."""
    start = position
    number = 0
    # Digits beyond the limit are read over: what is too large stays too large and cannot overflow.
    while ZERO <= text[position] <= NINE:
        if number <= INDEX_LIMIT:
            number = number * 10 + (int(text[position]) - ZERO)
        position += 1
    return (number if position > start else -1), position


@njit(cache=True, nogil=True)
def read_number(text, position):
    """Read a decimal number; return (value, position behind it, SURE, HARD or NO_NUMBER)."""
    negative = text[position] == MINUS
    if negative or text[position] == PLUS:
        position += 1
    # The number is mantissa · 10**scale. Digits that an int64 has no room for only count in scale.
    mantissa, scale, digits, fraction = 0, 0, 0, 0
    while True:
        digit = int(text[position]) - ZERO
        if 0 <= digit <= 9:
            digits += 1
            if mantissa < MANTISSA_LIMIT:
                mantissa = mantissa * 10 + digit
                scale -= fraction
            else:
                scale += 1 - fraction
        elif digit == POINT - ZERO and fraction == 0:
            fraction = 1
        else:
            break
        position += 1
    if digits == 0:
        return 0.0, position, NO_NUMBER
    if text[position] == LOWER_E or text[position] == UPPER_E:
        down = text[position + 1] == MINUS
        position += 2 if down or text[position + 1] == PLUS else 1
        exponent, position = read_index(text, position)
        if exponent < 0:
            return 0.0, position, NO_NUMBER
        scale += -exponent if down else exponent
    value, status = _scaled(mantissa, scale)
    return (-value if negative else value), position, status


@njit(cache=True, nogil=True)
def _scaled(mantissa, scale):
    """Return mantissa · 10**scale, and whether its rounding to float32 is certain."""
    if mantissa == 0:
        return 0.0, SURE
    if scale > 308 or scale < -308:
        return 0.0, HARD
    value = np.float64(mantissa)
    value = value * POWERS[scale] if scale >= 0 else value / POWERS[-scale]
    # Both are doubles without error, so that the one operation rounds correctly (Clinger, 1990).
    if mantissa < 2**53 and -22 <= scale <= 22:
        return value, SURE
    if not FLOAT32_NORMAL <= value < FLOAT32_OVERFLOW:
        return value, HARD
    # Three roundings err by less than 2 units of the last double place; float32 drops 29 bits.
    fraction, _ = math.frexp(value)
    dropped = np.int64(fraction * 2.0**53) & (2**29 - 1)
    return value, (HARD if abs(dropped - 2**28) <= 4 else SURE)


@njit(cache=True, nogil=True)
def note_hard(hard, n_hard, slot, start, end):
    """List a slot with its bytes for Python; return the (possibly grown) list."""
    if n_hard == len(hard):
        # Doubled, so that noting a number takes constant time on average.
        grown = np.empty((2 * len(hard), 3), dtype=np.int64)
        grown[:n_hard] = hard
        hard = grown
    hard[n_hard, 0] = slot
    hard[n_hard, 1] = start
    hard[n_hard, 2] = end
    return hard, n_hard + 1
