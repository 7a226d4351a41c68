"""Draws from given shares in constant time: alias tables (Walker, 1977; Vose, 1991).

A table has one column per label. A draw picks a column uniformly and returns the column's label or
its alias, so that a draw costs one random number and one look into the table, whatever the shares.
Scaled to a mean of 1, shares below 1 leave room in their columns, which those above 1 fill: label j
then owns an area of ``m q_j`` in the m columns of height 1.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.arrays import MAX_TRIES
from rmls.kernels.cpu.sgd.draw import GOLDEN, below, mix
from rmls.kernels.jit import njit

FULL = 2.0**32 - 1.0


@njit(cache=True)
def build_alias(shares):
    """Return the alias table of ``shares``, which are not negative and sum to a positive number.

    Row j holds the height of column j (of 2**32) and its alias: a uint32 array of shape
    (n_labels, 2).
    """
    n = len(shares)
    height = shares * (n / shares.sum())
    table = np.zeros((n, 2), np.uint32)
    waiting = np.zeros(n, np.int64)
    # Low columns wait at the front of the one list, high ones at its back.
    low, high = 0, n
    for label in range(n):
        if height[label] < 1.0:
            waiting[low] = label
            low += 1
        else:
            high -= 1
            waiting[high] = label
    while low > 0 and high < n:
        small, large = waiting[low - 1], waiting[high]
        low -= 1
        table[small, 0] = np.uint32(min(height[small] * 2.0**32, FULL))
        table[small, 1] = large
        # The high column gives what the low one lacks and may be low itself now.
        height[large] -= 1.0 - height[small]
        if height[large] < 1.0:
            high += 1
            waiting[low] = large
            low += 1
    # What is left is full up to rounding.
    for position in range(low):
        table[waiting[position], 1] = waiting[position]
    for position in range(high, n):
        table[waiting[position], 1] = waiting[position]
    return table


@njit(cache=True, inline="always")
def pick(table, random):
    """Return the label that 64 random bits choose: the high half the column, the low half whose."""
    column = below(random, len(table))
    if np.int64(random & np.uint64(0xFFFFFFFF)) < np.int64(table[column, 0]):
        return column
    return np.int64(table[column, 1])


@njit(cache=True, nogil=True)
def draw_weighted(key, count, relevant, table, seen, stamp, out):
    """Draw ``count`` labels outside ``relevant`` by the shares of ``table``, with replacement.

    A draw of a relevant label is made again, up to ``MAX_TRIES * count`` draws in all: a row whose
    relevant labels hold nearly all of the shares gets fewer. Writes the labels to ``out``, marks
    the relevant ones in ``seen`` with ``stamp`` and returns how many were drawn.
    """
    for position in range(len(relevant)):
        seen[relevant[position]] = stamp
    if len(relevant) == len(seen):
        return 0
    # A try succeeds with the share of the irrelevant labels: count / share tries on average.
    drawn, state = 0, key
    for _ in range(MAX_TRIES * count):
        if drawn == count:
            break
        state += GOLDEN
        label = pick(table, mix(state))
        if seen[label] != stamp:
            out[drawn] = label
            drawn += 1
    return drawn


@njit(cache=True, nogil=True)
def draw_distinct(key, tries, relevant, table, seen, stamp, out):
    """Make ``tries`` draws by the shares of ``table``; keep every irrelevant label once.

    A label of share q is kept with probability ``1 - (1 - q)**tries``, whatever the others do.
    Writes the labels to ``out``, marks them in ``seen`` and returns how many there are.
    """
    for position in range(len(relevant)):
        seen[relevant[position]] = stamp
    drawn, state = 0, key
    for _ in range(tries):
        state += GOLDEN
        label = pick(table, mix(state))
        if seen[label] != stamp:
            seen[label] = stamp
            out[drawn] = label
            drawn += 1
    return drawn


@njit(cache=True, nogil=True)
def draw_union(key, count, relevant, table, seen, stamp, out):
    """Draw ``count`` times outside ``relevant`` by the shares of ``table``; keep a label once.

    Algorithm 1 of the paper: a label of share q among the irrelevant ones is kept with probability
    ``1 - (1 - q)**count``. A draw of a relevant label is made again, up to ``MAX_TRIES`` draws for
    each that is wanted. Writes the labels to ``out``, marks relevant ones in ``seen`` with
    ``stamp`` and drawn ones with ``-stamp``, and returns how many there are.
    """
    for position in range(len(relevant)):
        seen[relevant[position]] = stamp
    n_irrelevant = len(seen) - len(relevant)
    drawn, left, state = 0, count, key
    for _ in range(MAX_TRIES * count):
        if left == 0 or drawn == n_irrelevant:
            break
        state += GOLDEN
        label = pick(table, mix(state))
        if seen[label] == stamp:
            continue
        left -= 1
        if seen[label] != -stamp:
            seen[label] = -stamp
            out[drawn] = label
            drawn += 1
    return drawn
