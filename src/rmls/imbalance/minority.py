"""Which labels are in the minority, and how many rows a share stands for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.sparse import label_counts
from rmls.imbalance.statistics import irlbl, mean_ir

Indices = NDArray[np.int64]


class Sides(NamedTuple):
    """The labels by frequency: rarer than the mean, and more frequent.

    Attributes
    ----------
    minority, majority : ndarray of bool, shape (n_labels,)
        Labels with IRLbl above and below MeanIR. Labels that no row has are on neither side.
    mean_ir : float
    """

    minority: NDArray[np.bool_]
    majority: NDArray[np.bool_]
    mean_ir: float


def find_sides(Y: sparse.csr_matrix) -> Sides:
    """Compare the IRLbl of every label with MeanIR.

    Examples
    --------
    >>> Y = sparse.csr_matrix([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]])
    >>> sides = find_sides(Y)
    >>> sides.minority.tolist(), sides.majority.tolist(), sides.mean_ir
    ([False, True, False], [True, False, False], 2.5)
    """
    ratios, mean = irlbl(Y), mean_ir(Y)
    used = label_counts(Y) > 0
    return Sides(used & (ratios > mean), used & (ratios < mean), mean)


def count_share(share: float, n_rows: int) -> int:
    """Return the number of rows that a share of them stands for, halves rounded up.

    Examples
    --------
    >>> count_share(0.25, 10), count_share(0.1, 4)
    (3, 0)
    """
    return int(np.floor(share * n_rows + 0.5))
