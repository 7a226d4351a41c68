"""Fingerprints of texts: the smallest of many hashes of their words and word pairs."""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit

# Odd constants of the finaliser of MurmurHash3.
FIRST = np.uint64(0xFF51AFD7ED558CCD)
SECOND = np.uint64(0xC4CEB9FE1A85EC53)
SHIFT = np.uint64(33)
HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def fingerprint_rows(codes, ends, multipliers, offsets, signatures, exact):
    """Write the signature of every row, and a hash of its words in order.

    Parameters
    ----------
    codes : ndarray of uint64
        Hash of every word of all rows, in order.
    ends : ndarray of int64, shape (n_rows + 1,)
    multipliers, offsets : ndarray of uint32, shape (n_hashes,)
        Of the hash functions ``h * multiplier + offset``.
    signatures : ndarray of uint32, shape (n_rows, n_hashes)
        Written. Two rows agree in as many places as they share words and word pairs.
    exact : ndarray of uint64, shape (n_rows,)
        Written. Equal for equal words in equal order; 0 for a row without words.
    """
    n_hashes = len(multipliers)
    lowest = np.empty(n_hashes, np.uint32)
    for row in range(len(ends) - 1):
        lowest[:] = np.uint32(0xFFFFFFFF)
        before = np.uint64(0)
        whole = np.uint64(0)
        for at in range(ends[row], ends[row + 1]):
            code = _mix(codes[at])
            whole = _mix(whole * FIRST + code)
            _lower(np.uint32(code >> HALF), multipliers, offsets, lowest)
            if at > ends[row]:
                pair = _mix(before * SECOND + code)
                _lower(np.uint32(pair >> HALF), multipliers, offsets, lowest)
            before = code
        signatures[row] = lowest
        exact[row] = whole


@njit(cache=True, nogil=True, inline="always")
def _mix(value):
    value = (value ^ (value >> SHIFT)) * FIRST
    value = (value ^ (value >> SHIFT)) * SECOND
    return value ^ (value >> SHIFT)


@njit(cache=True, nogil=True)
def _lower(code, multipliers, offsets, lowest):
    # A minimum without a branch, in 32 bits: the compiler takes eight hashes at a time.
    for place in range(len(lowest)):
        value = np.uint32(np.uint32(code * multipliers[place]) + offsets[place])
        lowest[place] = min(value, lowest[place])


@njit(cache=True, nogil=True)
def count_agreements(signatures, left, right, agreeing):
    """Write in how many places the signatures of two rows agree, pair by pair."""
    n_hashes = signatures.shape[1]
    for pair in range(len(left)):
        one, other = left[pair], right[pair]
        equal = 0
        for place in range(n_hashes):
            equal += signatures[one, place] == signatures[other, place]
        agreeing[pair] = equal
