"""Rows of mapped files that will be looked at soon: the system reads many of them at a time.

A row that is not in memory stops whoever looks at it until the disk has answered, page by page.
Told of many rows beforehand, the system asks the disk for all of them at once.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.disk.mapping import load_libc
from rmls.core.sparse import is_mapped

RANDOM, WILL_NEED = getattr(mmap, "MADV_RANDOM", 1), getattr(mmap, "MADV_WILLNEED", 3)


def read_ahead(
    arrays: tuple[NDArray[Any], ...], indptr: NDArray[Any], rows: NDArray[np.integer[Any]]
) -> int:
    """Let the system read some rows of CSR arrays; returns how many pages it was told of.

    Arrays in memory need nothing, and systems that cannot be told are not.
    """
    files = [array for array in arrays if is_mapped(array)]
    if not files or not len(rows) or os.name != "posix":
        return 0
    advise = load_libc().madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    n_pages = 0
    for array in files:
        (whole,) = _page_ranges(array, np.array([0, len(array)]), np.zeros(1, np.int64))
        # Around a page that is missing all the same the system would read what nobody wants.
        advise(whole[0] * mmap.PAGESIZE, (whole[1] - whole[0]) * mmap.PAGESIZE, RANDOM)
        for first, last in _page_ranges(array, indptr, np.unique(rows)):
            advise(first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE, WILL_NEED)
            n_pages += last - first
    return n_pages


def _page_ranges(
    array: NDArray[Any], indptr: NDArray[Any], rows: NDArray[Any]
) -> list[tuple[int, int]]:
    """Return the pages of some rows, in their order, those that touch as one range."""
    start, width = array.ctypes.data, array.itemsize
    first = (start + width * indptr[rows].astype(np.int64)) // mmap.PAGESIZE
    last = -((start + width * indptr[rows + 1].astype(np.int64)) // -mmap.PAGESIZE)
    # A row begins a range of its own where no row before it ends so far on.
    begins = np.flatnonzero(np.r_[True, first[1:] > last[:-1]])
    ends = np.r_[begins[1:], len(first)] - 1
    return list(zip(first[begins].tolist(), last[ends].tolist(), strict=True))
