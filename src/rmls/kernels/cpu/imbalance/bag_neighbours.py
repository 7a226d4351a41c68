"""Kernel of MLSMOTE: the nearest rows inside each bag, through an inverted index of the bag."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.arrays import Csr
from rmls.kernels.jit import njit

__all__ = ["NONE", "Csr", "Index", "nearest_in_bags"]

NONE = -1


class Index(NamedTuple):
    """Working memory for the inverted index of one bag.

    ``first[f]`` is where the entries of feature f begin and ``size[f]`` their number; ``row`` and
    ``value`` hold the entries. Between bags ``size`` is zero.
    """

    first: np.ndarray
    size: np.ndarray
    row: np.ndarray
    value: np.ndarray


@njit(cache=True, nogil=True)
def _fill(index, features, members):
    """Enter the rows ``members`` into ``index``, by their position in the bag."""
    indptr, indices, data = features
    # A counting sort of the entries by feature. Time is that of the entries, however many features
    # there are: only those of the bag are looked at, three times.
    first, size, row, value = index
    for member in members:
        for place in range(indptr[member], indptr[member + 1]):
            size[indices[place]] += 1
    used = 0
    for member in members:
        for place in range(indptr[member], indptr[member + 1]):
            feature = indices[place]
            if size[feature] > 0:
                # A negative size marks a feature that has its place.
                first[feature] = used
                used += size[feature]
                size[feature] = -size[feature]
    for member in members:
        for place in range(indptr[member], indptr[member + 1]):
            size[indices[place]] = 0
    for position in range(len(members)):
        for place in range(indptr[members[position]], indptr[members[position] + 1]):
            feature = indices[place]
            slot = first[feature] + size[feature]
            row[slot], value[slot] = position, data[place]
            size[feature] += 1


@njit(cache=True, nogil=True)
def _keep_nearest(products, squares, own, out):
    """Write the positions with the smallest distances from ``own`` to ``out``, nearest first.

    ``products`` holds the inner products with the row at ``own``; its place is left out. Ties go to
    the lower position.
    """
    found, distances = 0, np.empty(len(out))
    for other in range(len(products)):
        if other == own:
            continue
        # |a - b|^2 = |a|^2 + |b|^2 - 2 a.b, which rounding can take below 0.
        distance = max(squares[own] + squares[other] - 2 * products[other], 0.0)
        if found == len(out) and distance >= distances[found - 1]:
            continue
        # Insertion from the back: k is small, and few rows come this far.
        place = min(found, len(out) - 1)
        while place > 0 and distances[place - 1] > distance:
            distances[place], out[place] = distances[place - 1], out[place - 1]
            place -= 1
        distances[place], out[place] = distance, other
        found = min(found + 1, len(out))


@njit(cache=True, nogil=True)
def nearest_in_bags(features, squares, start, members, index, out):
    """Write the Euclidean neighbours of every row among the rows of its bag, nearest first.

    Parameters
    ----------
    features : Csr
        Rows in any order.
    squares : ndarray of float64
        Squared norm of every row.
    start, members : ndarrays of int64
        Bag b holds the rows ``members[start[b]:start[b + 1]]``.
    index : Index
        ``row`` and ``value`` have room for the entries of the largest bag.
    out : ndarray of int64, shape (len(members), k)
        Rows; ``NONE`` where a bag has no more of them.

    Notes
    -----
    Takes time in O(sum over features of entries² + rows²) for a bag.
    """
    indptr, indices, data = features
    first, size, row, value = index
    for bag in range(len(start) - 1):
        own = members[start[bag] : start[bag + 1]]
        n_near = min(out.shape[1], len(own) - 1)
        if n_near < 1:
            continue
        _fill(index, features, own)
        bag_squares, products = squares[own], np.empty(len(own))
        for position in range(len(own)):
            products[:] = 0.0
            for place in range(indptr[own[position]], indptr[own[position] + 1]):
                feature = indices[place]
                for slot in range(first[feature], first[feature] + size[feature]):
                    products[row[slot]] += data[place] * value[slot]
            near = out[start[bag] + position, :n_near]
            _keep_nearest(products, bag_squares, position, near)
            near[:] = own[near]
        # Leave the index as it was found, for the next bag.
        for member in own:
            for place in range(indptr[member], indptr[member + 1]):
                size[indices[place]] = 0
