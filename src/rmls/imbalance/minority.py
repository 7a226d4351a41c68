"""Which labels are in the minority, and how many rows a share stands for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.resources import require_memory
from rmls.core.sparse import label_counts
from rmls.imbalance.statistics import irlbl, mean_ir

Indices = NDArray[np.int64]
# As many as CSR matrices with int32 indices can tell apart.
MAX_ROWS = 2**31
# The place of a row, and the number that it is drawn by.
DRAWN_BYTES = 16


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


def count_share(share: float, n_rows: int, row_bytes: float = DRAWN_BYTES) -> int:
    """Return the number of rows that a share of them stands for, halves rounded up.

    More rows than memory holds, at ``row_bytes`` each, are an error.

    Examples
    --------
    >>> count_share(0.25, 10), count_share(0.1, 4)
    (3, 0)
    """
    wanted = share * n_rows
    way_out = "give a smaller sampling_strategy"
    if not wanted < MAX_ROWS:
        raise InputError(f"{share:g} times {n_rows:,} rows are too many; {way_out}.")
    require_memory(int(wanted * row_bytes), f"making {int(wanted):,} rows", way_out)
    return int(np.floor(wanted + 0.5))
