"""Kernels of ML-ROS and ML-RUS: labels take turns, one row each, until enough is done.

Both work on a bag of rows per label. IRLbl is that of the rows as they are at the moment, MeanIR
that of the rows as they were given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmls.kernels.jit import njit


class Rows(NamedTuple):
    """The labels of every row."""

    start: np.ndarray
    labels: np.ndarray


class Bags(NamedTuple):
    """The rows of some labels; bag b holds ``rows[start[b]:start[b + 1]]`` of ``label[b]``."""

    label: np.ndarray
    start: np.ndarray
    rows: np.ndarray


@njit(cache=True, nogil=True)
def clone_round_robin(of_row, bags, counts, mean_ir, draws, out):
    """Write the rows to clone to ``out`` and return how many they are, at most ``len(draws)``.

    Parameters
    ----------
    of_row : Rows
    bags : Bags
        Those of the minority labels, in the order of their turns.
    counts : ndarray of int64
        Rows of every label; counted up.
    mean_ir : float
        A bag leaves when the IRLbl of its label is no higher, before its turn or after it.
    draws : ndarray of float64 in [0, 1)
        Each picks a row of the bag whose turn it is.
    out : ndarray of int64, as long as ``draws``
    """
    label_of, bag_start, bag_rows = bags
    row_start, row_labels = of_row
    largest = counts.max()
    # active[:n_active] are the bags of this round; those that stay are written back to its front.
    active = np.arange(len(label_of))
    n_active, done = len(active), 0
    while n_active > 0 and done < len(draws):
        left = 0
        for turn in range(n_active):
            if done == len(draws):
                break
            bag = active[turn]
            if largest / counts[label_of[bag]] <= mean_ir:
                continue
            first, size = bag_start[bag], bag_start[bag + 1] - bag_start[bag]
            row = bag_rows[first + int(draws[done] * size)]
            out[done] = row
            done += 1
            for place in range(row_start[row], row_start[row + 1]):
                counts[row_labels[place]] += 1
                largest = max(largest, counts[row_labels[place]])
            if largest / counts[label_of[bag]] > mean_ir:
                active[left] = bag
                left += 1
        n_active = left
    return done


@njit(cache=True, nogil=True)
def delete_round_robin(of_row, bags, counts, mean_ir, target, deleted):
    """Mark up to ``target`` rows in ``deleted`` and return how many they are.

    Parameters
    ----------
    of_row : Rows
    bags : Bags
        Those of the majority labels, in the order of their turns. They hold only rows that may be
        deleted, in the (random) order in which they are.
    counts : ndarray of int64
        Rows of every label; counted down.
    mean_ir : float
        A bag leaves when the IRLbl of its label is no lower, before its turn or after it, or when
        it is empty.
    target : int
    deleted : ndarray of bool, shape (n_rows,)
        False on entry.
    """
    label_of, bag_start, bag_rows = bags
    row_start, row_labels = of_row
    # holders[c] counts the labels with c rows: a count falls by one, so the largest is known.
    holders = np.bincount(counts)
    largest, done = counts.max(), 0
    position = bag_start[:-1].copy()
    active = np.arange(len(label_of))
    n_active = len(active)
    while n_active > 0 and done < target:
        left = 0
        for turn in range(n_active):
            if done == target:
                break
            bag = active[turn]
            count = counts[label_of[bag]]
            if count == 0 or largest / count >= mean_ir:
                continue
            # Rows of this bag that another label has deleted meanwhile.
            while position[bag] < bag_start[bag + 1] and deleted[bag_rows[position[bag]]]:
                position[bag] += 1
            if position[bag] == bag_start[bag + 1]:
                continue
            row = bag_rows[position[bag]]
            deleted[row] = True
            done += 1
            for place in range(row_start[row], row_start[row + 1]):
                label = row_labels[place]
                holders[counts[label]] -= 1
                counts[label] -= 1
                holders[counts[label]] += 1
            while largest > 0 and holders[largest] == 0:
                largest -= 1
            count = counts[label_of[bag]]
            if count > 0 and largest / count < mean_ir:
                active[left] = bag
                left += 1
        n_active = left
    return done
