"""The loops of the general F-measure maximiser."""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit


@njit(cache=True, nogil=True)
def choose_sets(indptr, joint, sizes, chosen, values):
    """Mark the entries of every row whose set has the best expected F, and write that F.

    ``joint[e, b]`` is the probability that the label of entry e is relevant together with
    ``sizes[b]`` labels in all. O(L² (B + log L)) for a row of L entries and B sizes.
    """
    for row in range(len(values)):
        start, count = indptr[row], indptr[row + 1] - indptr[row]
        gains, best_k, best = np.empty(count), 0, 0.0
        # For a fixed size k the expected F is a sum over the labels of the set: the best k of them.
        for k in range(1, count + 1):
            value = 0.0
            _gains(joint[start : start + count], sizes, k, gains)
            # The best k gains, ties to the first entries.
            for place in np.argsort(-gains, kind="mergesort")[:k]:
                value += gains[place]
            if value > best:
                best, best_k = value, k
        chosen[start : start + count] = False
        if best_k > 0:
            _gains(joint[start : start + count], sizes, best_k, gains)
            for place in np.argsort(-gains, kind="mergesort")[:best_k]:
                chosen[start + place] = True
        values[row] = best


@njit(cache=True, nogil=True)
def _gains(joint, sizes, k, out):
    """Write to ``out`` what each label adds to the expected F of a set of k labels."""
    for entry in range(joint.shape[0]):
        total = 0.0
        for size in range(joint.shape[1]):
            # A hit among b relevant and k chosen labels adds 2 / (b + k) to F.
            total += joint[entry, size] * 2.0 / (sizes[size] + k)
        out[entry] = total
