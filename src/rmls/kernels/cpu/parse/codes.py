"""What the parsers report, and names for bytes."""

from __future__ import annotations

# The outcome of a line. HARD_VALUE and ROW_END are passed between kernels and never reported.
OK, BAD_LABEL, NO_COLON, BAD_VALUE, TOO_LARGE, FEATURE_RANGE, LABEL_RANGE = range(7)
NEGATIVE, HARD_VALUE, BAD_INDEX, NOT_FINITE, UNCLOSED, WIDTH, NO_COMMA, ROW_END = range(7, 15)

# Of a number: its float32 is certain, Python must round it, there is none.
SURE, HARD, NO_NUMBER = range(3)
# Which lines are no rows: none, those without a byte, those of blanks and comments too.
SKIP_NONE, SKIP_EMPTY, SKIP_BLANK = range(3)

TAB, NEWLINE, RETURN, SPACE, QUOTE2, HASH, PERCENT = 9, 10, 13, 32, 34, 35, 37
QUOTE1, PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON = 39, 43, 44, 45, 46, 48, 57, 58
UPPER_E, BACKSLASH, LOWER_D, LOWER_E, LOWER_I, LOWER_Q = 69, 92, 100, 101, 105, 113
OPEN, CLOSE = 123, 125
