"""Which characters make words, and text brought to one form."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.cpu.text.words import ALONE, WORD

# Scripts whose words are not parted by spaces: Thai, Lao, Burmese, Khmer, kana, Han.
SPACELESS = (
    (0x0E01, 0x0E5B),
    (0x0E81, 0x0EDF),
    (0x1000, 0x109F),
    (0x1780, 0x17DD),
    (0x3041, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
# Above are no letters, only tags, variation selectors and private use.
LAST_LETTER = 0x323AF
# The first byte of longer characters, and the first code point that needs one.
LIMITS = ((0x80, 0x80), (0xE0, 0x800), (0xF0, 0x10000), (0x100, 0x110000))


def character_classes(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the class of every code point that a text in UTF-8 may hold."""
    # The largest first byte tells how many bytes the longest characters have.
    highest = int(text.max(initial=0))
    return _classes_below(next(limit for byte, limit in LIMITS if highest < byte))


@cache
def _classes_below(limit: int) -> NDArray[np.uint8]:
    """Return the class of the first code points: letters, digits and their marks make words."""
    classes = np.zeros(limit, np.uint8)
    for point in range(min(limit, LAST_LETTER + 1)):
        if unicodedata.category(chr(point))[0] in "LNM":
            classes[point] = WORD
    for first, last in SPACELESS:
        classes[first : last + 1][classes[first : last + 1] == WORD] = ALONE
    return classes


def plain(text: str) -> str:
    """Return the text in one Unicode form and in small letters.

    Examples
    --------
    >>> plain("Ｆｕｌｌ width, ﬁne")
    'full width, fine'
    """
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return text.lower()


def encode_pieces(pieces: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return texts as one array of UTF-8 bytes, and where each begins and ends."""
    # Half of a surrogate pair has no bytes; it becomes a question mark, which parts words.
    encoded = [piece.encode("utf-8", "replace") for piece in pieces]
    bounds = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(piece) for piece in encoded], out=bounds[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), bounds
