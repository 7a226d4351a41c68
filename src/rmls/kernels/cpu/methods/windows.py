"""Votes of the nearest rows inside windows of recent rows, one pair of windows for every label.

Rows are in the order of their arrival. A row is in the window of the positives of a label if it has
the label and came no earlier than ``first_positive[label]``, and in that of the negatives if it has
not and came no earlier than ``first_negative[label]``: no list of members is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.arrays import Csr
from rmls.kernels.cpu.linalg.csr import add_row_product
from rmls.kernels.jit import njit


class Windows(NamedTuple):
    """The windows of all labels.

    Attributes
    ----------
    first_positive, first_negative : ndarray of int64, shape (n_labels,)
        Where the windows begin; the number of rows where they are empty.
    held : ndarray of float32, shape (n_labels,)
        Weight of the positives in the window.
    """

    first_positive: np.ndarray
    first_negative: np.ndarray
    held: np.ndarray


class Stream(NamedTuple):
    """The rows kept: their features by feature, the rows of every label, and their weights.

    ``frequencies`` are the shares of all rows so far that had each label.
    """

    by_feature: Csr
    by_label: Csr
    weights: np.ndarray
    frequencies: np.ndarray


@njit(cache=True, nogil=True)
def open_windows(indptr, rows, weights, max_weight, ratio, out):
    """Set the windows of ``out`` to the most recent rows of every label.

    Positives weigh at most ``max_weight`` together, negatives ``1 / ratio`` times as much as the
    positives. ``rows[indptr[j]:indptr[j + 1]]`` are the rows of label j in their order.
    """
    n_rows = len(weights)
    for label in range(len(indptr) - 1):
        start, place = indptr[label], indptr[label + 1]
        # Backwards from the last row, until one more would be too heavy.
        held, first = 0.0, n_rows
        while place > start and held + weights[rows[place - 1]] <= max_weight:
            place -= 1
            first = rows[place]
            held += weights[first]
        out.first_positive[label], out.first_negative[label] = first, n_rows
        out.held[label] = held
        if held == 0.0:
            continue
        # Backwards through all rows and the label's own at once: what is in both is no negative.
        others, next_one = 0.0, indptr[label + 1] - 1
        for row in range(n_rows - 1, -1, -1):
            if next_one >= start and rows[next_one] == row:
                next_one -= 1
                continue
            if others + weights[row] > held / ratio:
                break
            others += weights[row]
            out.first_negative[label] = row


@njit(cache=True, nogil=True)
def vote_in_windows(queries, stream, windows, k, left_out, bounds, out):
    """Write the share of relevant votes of the k nearest rows in every label's windows to ``out``.

    Parameters
    ----------
    queries : Csr
    stream : Stream
    windows : Windows
    k : int
        Neighbours at most, and their weight together at most.
    left_out : ndarray of int64
        For every query a row that does not vote, or -1.
    bounds : (int, int)
        First and last query to process, the last one excluded.
    out : ndarray of float32, shape (n_queries, n_labels)
        Columns of labels without positives are left alone.
    """
    products = np.zeros(len(stream.weights), np.float32)
    # There are no more neighbours than rows.
    most = min(k, len(stream.weights)) + 1
    near, rows = np.empty(most, np.float32), np.empty(most, np.int64)
    for query in range(bounds[0], bounds[1]):
        products[:] = np.float32(0.0)
        add_row_product(queries, query, stream.by_feature, products)
        if left_out[query] >= 0:
            products[left_out[query]] = np.float32(0.0)
        for label in range(len(windows.held)):
            if windows.held[label] > 0.0:
                prior = stream.frequencies[label]
                # The k votes and one more, of the label's frequency.
                mean = _ask(label, products, stream, windows, k, near, rows)
                out[query, label] = (k * (mean if mean >= 0.0 else prior) + prior) / (k + 1.0)


@njit(cache=True, nogil=True)
def _ask(label, products, stream, windows, k, near, rows):
    """Return the weighted mean of the votes in a label's windows, -1 if no row is similar.

    Ties go to the lower row; ``rows`` holds ``row`` for a positive and ``-1 - row`` for others.
    """
    members, start = stream.by_label.indices, stream.by_label.indptr[label]
    next_one = stream.by_label.indptr[label + 1] - 1
    # Rows that share no feature with the query have a product of 0 and no vote.
    count, lowest = 0, np.float32(0.0)
    while next_one >= start and members[next_one] >= windows.first_positive[label]:
        row = members[next_one]
        next_one -= 1
        if products[row] > lowest or (products[row] == lowest and lowest > 0.0):
            count = _insert(near, rows, count, k, products[row], row)
            lowest = near[k - 1] if count == k else lowest
    next_one = stream.by_label.indptr[label + 1] - 1
    for row in range(len(products) - 1, windows.first_negative[label] - 1, -1):
        if next_one >= start and members[next_one] == row:
            next_one -= 1
        elif products[row] > lowest or (products[row] == lowest and lowest > 0.0):
            count = _insert(near, rows, count, k, products[row], -1 - row)
            lowest = near[k - 1] if count == k else lowest
    # A row of weight 3 is three neighbours: k of them vote, the last row with what is left.
    left, positive, total = np.float64(k), 0.0, 0.0
    for place in range(count):
        code = rows[place]
        taken = min(np.float64(stream.weights[code if code >= 0 else -1 - code]), left)
        left -= taken
        total += taken * near[place]
        if code >= 0:
            positive += taken * near[place]
    return positive / total if total > 0.0 else -1.0


@njit(cache=True, nogil=True)
def _insert(near, rows, count, k, product, code):
    """Put a row into the sorted list of the nearest; return how many of at most k there are."""
    row, place = max(code, -1 - code), count
    while place > 0 and (
        near[place - 1] < product
        or (near[place - 1] == product and max(rows[place - 1], -1 - rows[place - 1]) > row)
    ):
        near[place], rows[place] = near[place - 1], rows[place - 1]
        place -= 1
    near[place], rows[place] = product, code
    return min(count + 1, k)
