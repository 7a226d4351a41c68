"""Words of UTF-8 text: found, told apart by a hash of 64 bits, and numbered.

A word is a run of letters and digits. In scripts that put no spaces between words every character
is a word, and so is every pair of neighbours.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.cpu.linalg.rows import copy_front
from rmls.kernels.jit import njit

# Classes of characters; the tables that `scan_words` gets hold them for every code point.
BREAK, WORD, ALONE = 0, 1, 2
# What is longer is data in text form, not a word: keys, addresses, encoded files.
MAX_BYTES = 64

# FNV-1a, and the last step of splitmix64, which spreads it over all bits.
OFFSET = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
FIRST_SLOTS = 1 << 12


@njit(cache=True, nogil=True, inline="always")
def _spread(code):
    code = (code ^ (code >> np.uint64(30))) * MIX_1
    code = (code ^ (code >> np.uint64(27))) * MIX_2
    return code ^ (code >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_piece(text, start, stop):
    """Return the hash of the bytes from ``start`` to ``stop``."""
    code = OFFSET
    for place in range(start, stop):
        code = (code ^ np.uint64(text[place])) * PRIME
    return _spread(code)


@njit(cache=True, nogil=True)
def hash_pieces(text, bounds):
    """Return the hash of every piece between two bounds."""
    codes = np.empty(len(bounds) - 1, np.uint64)
    for number in range(len(codes)):
        codes[number] = hash_piece(text, bounds[number], bounds[number + 1])
    return codes


def hash_together(text, bounds):
    """Return what `hash_pieces` does, byte by byte of all pieces: many of them, not compiled."""
    lengths = np.diff(bounds)
    # Long ones first: those that have a byte at a place are then the first so many.
    order = np.argsort(-lengths, kind="stable")
    starts, ascending = bounds[order], lengths[order][::-1]
    codes = np.full(len(order), OFFSET)
    for place in range(ascending[-1] if len(order) else 0):
        some = slice(len(order) - np.searchsorted(ascending, place, side="right"))
        codes[some] = (codes[some] ^ text[starts[some] + place]) * PRIME
    spread = np.empty_like(codes)
    spread[order] = _spread(codes)
    return spread


@njit(cache=True, nogil=True)
def make_slots(codes, n_codes, size):
    """Return a table of ``size`` slots, a power of two, that finds the numbers of codes."""
    slots = np.full(size, -1, np.int32)
    for number in range(n_codes):
        slots[_slot(slots, codes, codes[number])] = number
    return slots


@njit(cache=True, nogil=True, inline="always")
def _slot(slots, codes, code):
    """Return the slot of a code: where it stands, or the free one where it belongs."""
    mask = len(slots) - 1
    place = np.int64(code & np.uint64(mask))
    while slots[place] >= 0 and codes[slots[place]] != code:
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def find_codes(slots, codes, wanted):
    """Return the number of every wanted code, -1 for those that are not there."""
    found = np.empty(len(wanted), np.int32)
    for number in range(len(wanted)):
        found[number] = slots[_slot(slots, codes, wanted[number])]
    return found


@njit(cache=True, nogil=True)
def add_codes(slots, codes, n_codes, wanted):
    """Number the wanted codes, new ones after those that are there.

    Returns
    -------
    found : ndarray of int32
    slots, codes, n_codes
        The table with the new codes; it may have moved to larger arrays.
    """
    found = np.empty(len(wanted), np.int32)
    for number in range(len(wanted)):
        slots, codes = _make_room(slots, codes, n_codes)
        place = _slot(slots, codes, wanted[number])
        if slots[place] < 0:
            slots[place] = n_codes
            codes[n_codes] = wanted[number]
            n_codes += 1
        found[number] = slots[place]
    return found, slots, codes, n_codes


@njit(cache=True, nogil=True)
def _make_room(slots, codes, n_codes):
    # At most half full: runs of taken slots stay short.
    if 2 * n_codes < len(slots):
        return slots, codes
    larger = np.empty(len(slots), np.uint64)
    copy_front(larger, codes, n_codes)
    return make_slots(larger, n_codes, 2 * len(slots)), larger


@njit(cache=True, nogil=True)
def find_words(text, bounds, classes):
    """Find the words of every piece of a text.

    Parameters
    ----------
    text : ndarray of uint8
        Valid UTF-8, in small letters.
    bounds : ndarray of int64, shape (n_pieces + 1,)
    classes : ndarray of uint8
        BREAK, WORD or ALONE for every code point.

    Returns
    -------
    codes : ndarray of uint64
        Hash of every word, in order.
    places : ndarray of int64, shape (n_tokens, 2)
        Where it begins and ends.
    ends : ndarray of int64, shape (n_pieces + 1,)
        Where the words of a piece begin and end in ``codes``.
    """
    # Characters that stand alone give two words for three bytes, others one for two.
    room = 2 * len(text) // 3 + len(bounds)
    codes = np.empty(room, np.uint64)
    places = np.empty((room, 2), np.int64)
    ends = np.zeros(len(bounds), np.int64)
    n_words = 0
    for piece in range(len(bounds) - 1):
        place, stop = bounds[piece], bounds[piece + 1]
        before = np.int64(-1)
        while place < stop:
            kind, width = _look(text, place, classes)
            if kind == WORD:
                begin, code = place, OFFSET
                while place < stop:
                    kind, width = _look(text, place, classes)
                    if kind != WORD:
                        break
                    for byte in range(place, place + width):
                        code = (code ^ np.uint64(text[byte])) * PRIME
                    place += width
                if place - begin <= MAX_BYTES:
                    codes[n_words] = _spread(code)
                    places[n_words, 0], places[n_words, 1] = begin, place
                    n_words += 1
                before = np.int64(-1)
                continue
            end = place + width
            if kind == ALONE:
                # The character, and the pair that ends with it.
                for begin in (place, before):
                    if begin >= 0:
                        codes[n_words] = hash_piece(text, begin, end)
                        places[n_words, 0], places[n_words, 1] = begin, end
                        n_words += 1
            before = place if kind == ALONE else np.int64(-1)
            place = end
        ends[piece + 1] = n_words
    return codes[:n_words], places[:n_words], ends


@njit(cache=True, nogil=True)
def number_words(codes):
    """Number the distinct codes in the order of their first appearance.

    Returns
    -------
    tokens : ndarray of int32
        Number of every code.
    first : ndarray of int64
        Where every number appears first.
    """
    slots = np.full(FIRST_SLOTS, -1, np.int32)
    known = np.empty(FIRST_SLOTS, np.uint64)
    first = np.empty(FIRST_SLOTS, np.int64)
    tokens = np.empty(len(codes), np.int32)
    n_known = np.int64(0)
    for place in range(len(codes)):
        if 2 * n_known >= len(slots):
            slots, known = _make_room(slots, known, n_known)
            larger = np.empty(len(slots), np.int64)
            copy_front(larger, first, n_known)
            first = larger
        code = codes[place]
        slot = _slot(slots, known, code)
        if slots[slot] < 0:
            slots[slot] = n_known
            known[n_known] = code
            first[n_known] = place
            n_known += 1
        tokens[place] = slots[slot]
    return tokens, first[:n_known].copy()


@njit(cache=True, nogil=True, inline="always")
def _look(text, place, classes):
    """Return the class of the character at a place, and its number of bytes."""
    if text[place] < 0x80:
        return classes[text[place]], 1
    point, width = _decode(text, place)
    return classes[point], width


@njit(cache=True, nogil=True, inline="always")
def _decode(text, place):
    """Return the code point at a place and its number of bytes."""
    lead = np.int64(text[place])
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | (text[place + 1] & 0x3F), 2
    if lead < 0xF0:
        middle = (np.int64(text[place + 1]) & 0x3F) << 6
        return ((lead & 0x0F) << 12) | middle | (text[place + 2] & 0x3F), 3
    high = (np.int64(text[place + 1]) & 0x3F) << 12
    middle = (np.int64(text[place + 2]) & 0x3F) << 6
    return ((lead & 0x07) << 18) | high | middle | (text[place + 3] & 0x3F), 4


@njit(cache=True, nogil=True)
def gather_words(text, places):
    """Return the text of words behind one another, and where each begins and ends."""
    bounds = np.zeros(len(places) + 1, np.int64)
    for number in range(len(places)):
        bounds[number + 1] = bounds[number] + places[number, 1] - places[number, 0]
    gathered = np.empty(bounds[-1], np.uint8)
    for number in range(len(places)):
        shift = places[number, 0] - bounds[number]
        for place in range(bounds[number], bounds[number + 1]):
            gathered[place] = text[place + shift]
    return gathered, bounds


@njit(cache=True, nogil=True)
def pad_words(text, bounds):
    """Return words with a space at both ends, and where each begins and ends."""
    wider = bounds + 2 * np.arange(len(bounds))
    padded = np.full(wider[-1], ord(" "), np.uint8)
    for number in range(len(bounds) - 1):
        shift = wider[number] + 1 - bounds[number]
        for place in range(bounds[number], bounds[number + 1]):
            padded[place + shift] = text[place]
    return padded, wider


@njit(cache=True, nogil=True)
def pair_words(tokens, ends, codes):
    """Return the hash of every two neighbouring words, and where the pairs of a piece end.

    ``codes`` holds the hash of every distinct word. The hash of a pair is not that of its text:
    `pair_code` gives it from those of the two words.
    """
    pairs = np.empty(len(tokens), np.uint64)
    pair_ends = np.zeros(len(ends), np.int64)
    places = np.empty(len(tokens), np.int64)
    used = 0
    for piece in range(len(ends) - 1):
        for place in range(ends[piece], ends[piece + 1] - 1):
            pairs[used] = pair_code(codes[tokens[place]], codes[tokens[place + 1]])
            places[used] = place
            used += 1
        pair_ends[piece + 1] = used
    return pairs[:used], places[:used], pair_ends


@njit(cache=True, nogil=True)
def pair_code(first, second):
    """Return the hash of a pair of words from theirs; the order counts."""
    return _spread((first * PRIME) ^ second)


@njit(cache=True, nogil=True)
def word_parts(text, bounds, shortest, longest):
    """Return hashes of the character sequences inside every word.

    Words come as from `pad_words`, so that beginnings and ends are told from the inside.

    Returns
    -------
    codes : ndarray of uint64
    places : ndarray of int64, shape (n_parts, 2)
    ends : ndarray of int64, shape (n_words + 1,)
    """
    room = (longest - shortest + 1) * (len(text) + 1)
    codes = np.empty(room, np.uint64)
    places = np.empty((room, 2), np.int64)
    ends = np.zeros(len(bounds), np.int64)
    used = 0
    for word in range(len(bounds) - 1):
        begin, stop = bounds[word], bounds[word + 1]
        while begin < stop:
            end, n_characters = begin, 0
            while end < stop and n_characters < longest:
                end += 1
                # Bytes 10xxxxxx continue a character.
                while end < stop and (text[end] & 0xC0) == 0x80:
                    end += 1
                n_characters += 1
                if n_characters >= shortest:
                    codes[used] = hash_piece(text, begin, end)
                    places[used, 0], places[used, 1] = begin, end
                    used += 1
            begin += 1
            while begin < stop and (text[begin] & 0xC0) == 0x80:
                begin += 1
        ends[word + 1] = used
    return codes[:used], places[:used], ends


@njit(cache=True, nogil=True)
def pair_codes(first, second):
    """Return the hashes of pairs from those of their words."""
    codes = np.empty(len(first), np.uint64)
    for place in range(len(codes)):
        codes[place] = pair_code(first[place], second[place])
    return codes
