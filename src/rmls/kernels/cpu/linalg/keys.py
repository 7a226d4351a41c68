"""Numbers that order labels by score: one comparison decides order and ties."""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit

LOW_BITS, ALL_BITS = np.int64(0x7FFFFFFF), np.int64(0xFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def key_of(score, label):
    """Return a number that orders labels by score and, among equals, by lower label.

    The bits of a positive float32 rise with it, as whole numbers; those of a negative one without
    the sign rise with its size. So the upper half of the key orders scores, and both zeros are one;
    the lower 31 bits hold the label, counted down. One comparison then decides order and ties.
    """
    bits = np.int64(np.float32(score).view(np.int32))
    ordered = bits if bits >= 0 else -(bits & LOW_BITS)
    return (ordered << np.int64(31)) + (LOW_BITS - np.int64(label))


@njit(cache=True, nogil=True, inline="always")
def label_of(key):
    """Return the label of a key."""
    return LOW_BITS - (key & LOW_BITS)


@njit(cache=True, nogil=True, inline="always")
def score_of(key):
    """Return the score of a key."""
    ordered = key >> np.int64(31)
    bits = ordered if ordered >= 0 else (-ordered) | ~LOW_BITS
    return np.int32(bits).view(np.float32)


@njit(cache=True, nogil=True)
def lead(keys, count, wanted):
    """Move the ``wanted`` largest of the first ``count`` keys to the front; returns the last.

    Quickselect (Hoare): part the range by a pivot, go on in the part that holds the wanted place.
    O(count) on average; the keys in front are in no order.
    """
    low, high = 0, count - 1
    place = wanted - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while keys[left] > pivot:
                left += 1
            while keys[right] < pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    return keys[place]
