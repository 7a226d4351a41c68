"""Independent readers of the formats with rows ``l1,l2 f:v f:v``, slow and strict."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

INT32_MAX = 2**31 - 1
NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
WHOLE = re.compile(rb"\d+")
SPACES = re.compile(rb"[ \t\r]+")
XMC_HEAD = re.compile(rb"[ \t]*(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*\r?")
NOTE = re.compile(rb"# rmls((?: \w+=\d+)+)[ \t\r]*")
NOTED = ("n_features", "n_labels", "n_train")
# More columns may be refused for the memory that they would take later.
MANY_COLUMNS = 10**6


class Refused(Exception):
    """The file breaks its format."""


class Ambiguous(Exception):
    """Programs read this differently; any answer will do, but no crash."""


class Expected(NamedTuple):
    """What a file holds. ``unsure`` names what a reader may also refuse.

    Without label columns the labels of the rows are not known.
    """

    n_features: int
    n_labels: int
    features: list[dict[int, np.float32]]
    labels: list[set[int]]
    n_train: int | None = None
    feature_names: list[str] | None = None
    label_names: list[str] | None = None
    unsure: str = ""


def plain_text(content: bytes) -> bytes:
    """Return text without its byte order mark."""
    if not content.strip():
        raise Refused("empty")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise Refused("not text")
    return content.removeprefix(b"\xef\xbb\xbf")


def whole(token: bytes, limit: int = INT32_MAX) -> int:
    """Return a number below ``limit``; of any length, which `int` would not read."""
    if not WHOLE.fullmatch(token):
        raise Refused(f"not a whole number: {token[:20]!r}")
    digits = token.lstrip(b"0")
    if len(digits) > 20 or int(digits or b"0") >= limit:
        raise Refused("out of range")
    return int(digits or b"0")


def number(token: bytes) -> np.float32:
    if not NUMBER.fullmatch(token):
        raise Refused(f"not a number: {token[:20]!r}")
    with np.errstate(over="ignore"):
        value = np.float32(float(token))
    if not np.isfinite(value):
        raise Refused("too large")
    return value


def parse_row(
    line: bytes, d: int, m: int, comments: bool
) -> tuple[set[int], dict[int, np.float32]]:
    """Parse one line; a space in front means that there are no labels."""
    labels: set[int] = set()
    tokens = [token for token in SPACES.split(line) if token]
    if line and line[:1] not in b" \t\r" and not re.match(rb"\d*:", line):
        labels = {whole(label, m) for label in tokens.pop(0).split(b",")}
    features: dict[int, np.float32] = {}
    for token in tokens:
        if comments and token.startswith(b"#"):
            break
        if comments and token.startswith(b"qid:"):
            continue
        index, colon, value = token.partition(b":")
        if not colon:
            raise Refused(f"no pair: {token[:20]!r}")
        feature = whole(index, d)
        if feature in features:
            raise Refused("a feature twice")
        features[feature] = number(value)
    return labels, features


def expected(
    d: int, m: int, rows: list[tuple[set[int], dict[int, np.float32]]], n_train: int | None = None
) -> Expected:
    features = [{at: value for at, value in row.items() if value != 0} for _, row in rows]
    unsure = "many columns" if max(d, m) > MANY_COLUMNS else ""
    return Expected(d, m, features, [labels for labels, _ in rows], n_train, unsure=unsure)


def split_lines(text: bytes) -> list[bytes]:
    """Return the lines; the last one may lack its end."""
    if not text:
        raise Refused("empty")
    lines = text.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def parse_xmc(content: bytes) -> Expected:
    head, *lines = split_lines(plain_text(content))
    found = XMC_HEAD.fullmatch(head)
    if found is None:
        raise Refused("no header")
    d, m = (whole(size, INT32_MAX + 1) for size in found.groups()[1:])
    n = whole(found[1], 2**62)
    if d < 1:
        raise Refused("no columns")
    # Blank lines behind the announced rows are no rows.
    while len(lines) > n and not lines[-1].strip(b" \t\r"):
        lines.pop()
    if len(lines) != n:
        raise Refused("rows")
    return expected(d, m, [parse_row(line, d, m, False) for line in lines])


def parse_authors(content: bytes) -> Expected:
    head, *lines = split_lines(plain_text(content))
    if not re.match(rb"[ \t]*#", head):
        raise Refused("no header")
    sizes = []
    for key in (rb"num_feature", rb"num_label"):
        found = re.search(key + rb"s?\s*[=:]\s*(\d+)(?![\w.])", head, re.IGNORECASE)
        if found is None:
            raise Refused("no size")
        sizes.append(whole(found[1], INT32_MAX + 1))
    d, m = sizes
    if d < 1:
        raise Refused("no columns")
    # An entirely empty line is no row, a line of blanks is.
    rows = [parse_row(line, d, m, False) for line in lines if line not in (b"", b"\r")]
    return expected(d, m, rows)


def parse_svmlight(content: bytes) -> Expected:
    text = plain_text(content)
    lines = split_lines(text)
    is_noted = NOTE.fullmatch(lines[0]) is not None
    note = _parse_note(lines[0])
    held = [line for line in lines if line.strip(b" \t\r")]
    held = [line for line in held if not line.lstrip(b" \t\r").startswith(b"#")]
    rows = [parse_row(line, INT32_MAX, INT32_MAX, True) for line in held]
    if not rows:
        raise Refused("no rows")
    label_rows = [labels for labels, _ in rows]
    feature_rows = [set(features) for _, features in rows]
    shift_y, m = _columns(label_rows, note, "n_labels", is_noted)
    if not note.get("n_labels") and not any(label_rows):
        m = 0
    shift_x, d = _columns(feature_rows, note, "n_features", is_noted)
    n_train = note.get("n_train")
    if n_train is not None and n_train > len(rows):
        raise Refused("split")
    shifted = [
        ({at - shift_y for at in labels}, {at - shift_x: v for at, v in features.items()})
        for labels, features in rows
    ]
    return expected(d, m, shifted, n_train)


def _parse_note(line: bytes) -> dict[str, int]:
    note = NOTE.fullmatch(line)
    if note is None:
        return {}
    # The last one counts where a key is there twice.
    last = dict(pair.decode().split("=") for pair in note[1].split())
    return {key: whole(last[key].encode(), INT32_MAX + 1) for key in NOTED if key in last}


def _columns(
    rows: list[set[int]], note: dict[str, int], key: str, is_noted: bool
) -> tuple[int, int]:
    """Return how far indices are moved down, and the number of columns."""
    used = set().union(*rows)
    shift = 0 if is_noted else int(0 not in used)
    columns = note.get(key, max(1, max(used, default=0) + 1 - shift))
    if (columns < 1 and key == "n_features") or (used and max(used) - shift >= columns):
        raise Refused("out of range")
    return shift, columns
