"""Keyed random draws: the same key gives the same labels on any number of threads.

A key is a 64-bit number made from (seed, epoch, row) by `mix`; the draws of a row are the
successive outputs of the splitmix64 generator started at its key (Steele et al., 2014).
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, the step of splitmix64


@njit(cache=True)
def mix(z):
    """Return the splitmix64 finaliser of ``z``: a bijection that spreads every bit."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def below(state, bound):
    """Return a uniform integer in ``[0, bound)`` made from the high half of ``state``.

    The bias of taking the high half of a 32-bit product is below ``bound / 2**32``.
    """
    return np.int64(((state >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def draw_irrelevant(key, count, relevant, seen, stamp, out):
    """Draw ``count`` distinct labels outside ``relevant``, uniformly; all of them if too few.

    Writes the labels to ``out`` and marks them in ``seen`` with ``stamp``; returns how many
    were drawn. ``seen`` has one integer per label, none equal to ``stamp`` on entry.
    """
    for position in range(len(relevant)):
        seen[relevant[position]] = stamp
    n_labels = len(seen)
    n_irrelevant = n_labels - len(relevant)
    state = key
    # A try succeeds unless its label is relevant or drawn: at least half of the irrelevant labels
    # are left, so that a draw takes at most 2 m / |N| tries on average.
    if 2 * count <= n_irrelevant:
        drawn = 0
        while drawn < count:
            state += GOLDEN
            label = below(mix(state), n_labels)
            if seen[label] != stamp:
                seen[label] = stamp
                out[drawn] = label
                drawn += 1
        return drawn
    # Most of the irrelevant labels are wanted: draw the ones to leave out instead.
    left_out = 0
    while left_out < n_irrelevant - count:
        state += GOLDEN
        label = below(mix(state), n_labels)
        if seen[label] != stamp:
            seen[label] = stamp
            left_out += 1
    drawn = 0
    for label in range(n_labels):
        if seen[label] != stamp:
            seen[label] = stamp
            out[drawn] = label
            drawn += 1
    return drawn
