"""The rounds of block coordinate ascent on the expected macro-F."""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit


@njit(cache=True, nogil=True, error_model="numpy")
def ascend(indptr, labels, scores, expected, chosen, k, n_passes):
    """Change ``chosen`` row by row until nothing changes, or ``n_passes`` rounds are made.

    ``expected`` is the sum of the probabilities of every label over the rows. The F of a label is
    ``2 hits / (size + expected)`` with the summed probability and the number of its chosen entries.
    """
    # Kept up to date with every change, so that a row never looks at the others.
    hits, size = np.zeros(len(expected)), np.zeros(len(expected))
    for entry in range(len(labels)):
        if chosen[entry]:
            hits[labels[entry]] += scores[entry]
            size[labels[entry]] += 1
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    gains = np.empty(longest)
    for _ in range(n_passes):
        n_changed = 0
        for row in range(len(indptr) - 1):
            start, stop = indptr[row], indptr[row + 1]
            n_changed += _choose_row(
                start, stop, labels, scores, expected, chosen, hits, size, k, gains
            )
        if n_changed == 0:
            break


@njit(cache=True, error_model="numpy")
def _choose_row(start, stop, labels, scores, expected, chosen, hits, size, k, gains):
    """Take the k entries of one row that raise the F of their labels most; counts the changes."""
    # With all other rows fixed, each label gains on its own, so that the k best gains are the best
    # set: no round lowers the objective.
    for entry in range(start, stop):
        label, score = labels[entry], scores[entry]
        own = 1.0 if chosen[entry] else 0.0
        without, n_without = hits[label] - own * score, size[label] - own
        before = 2 * without / (n_without + expected[label]) if n_without > 0 else 0.0
        after = 2 * (without + score) / (n_without + 1 + expected[label])
        gains[entry - start] = after - before
    count = stop - start
    order = np.argsort(-gains[:count], kind="mergesort")
    n_changed = 0
    for place in range(count):
        entry = start + order[place]
        wanted = place < k
        if wanted != chosen[entry]:
            label = labels[entry]
            sign = 1.0 if wanted else -1.0
            hits[label] += sign * scores[entry]
            size[label] += sign
            chosen[entry] = wanted
            n_changed += 1
    return n_changed
