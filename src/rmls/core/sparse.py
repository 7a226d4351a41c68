"""Canonical sparse matrices, and rows in an order that depends on their content alone.

Training on distinct rows in that order makes a fitted model independent of the order of the rows,
and makes an integer sample weight the same thing as repeating the row. Random draws from rows and
labels in that order do not depend on how either were ordered.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError

INT32_MAX = int(np.iinfo(np.int32).max)
# Up to here a sketch holds every row; 32 kB as text.
SKETCH_ROWS = 2048
# Stored entries hashed at a time: temporary arrays of about 1 MB, whatever the matrix.
BLOCK = 1 << 17


def as_feature_csr(X: Any) -> sparse.csr_matrix:
    """Return ``X`` as CSR float32 with sorted, distinct int32 indices and no stored zeros.

    The input is never modified; it is returned as it is when it is canonical already.
    """
    check_sparse(X, "X")
    matrix = X
    if not isinstance(X, sparse.csr_matrix) or X.dtype != np.float32:
        matrix = sparse.csr_matrix(X, dtype=np.float32)
    # Duplicates and stored zeros would give equal rows different fingerprints.
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return _narrow_indices(matrix)


def as_label_csr(Y: Any, name: str = "Y") -> sparse.csr_matrix:
    """Return a 0/1 label matrix as CSR of int32 ones with sorted, distinct indices.

    Examples
    --------
    >>> as_label_csr([[0, 1], [1, 1]]).indices.tolist()
    [1, 0, 1]
    >>> as_label_csr([[0, 2]])
    Traceback (most recent call last):
    rmls.core.errors.InputError: Y must hold only 0 and 1; found 2.
    """
    check_sparse(Y, name)
    if not sparse.issparse(Y):
        try:
            Y = np.asarray(Y)
        except ValueError:
            raise InputError(f"{name} must be 2-d (rows × labels); its rows differ.") from None
        if Y.dtype.kind not in "biuf":
            raise InputError(f"{name} must hold only 0 and 1; got values of type {Y.dtype}.")
        if Y.ndim != 2:
            raise InputError(f"{name} must be 2-d (rows × labels); got {Y.ndim} dimension(s).")
        if Y.dtype.kind == "f" and Y.dtype.itemsize not in (4, 8):
            # scipy knows no float16, and float128 only in parts.
            Y = Y.astype(np.float64)
    matrix = sparse.csr_matrix(Y)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    # A label stored twice has become 2 and is refused too.
    wrong = (matrix.data != 0) & (matrix.data != 1)
    if wrong.any():
        raise InputError(f"{name} must hold only 0 and 1; found {matrix.data[wrong][0]}.")
    matrix = matrix.astype(np.int32)
    if matrix.nnz and not matrix.data.all():
        matrix.eliminate_zeros()
    return _narrow_indices(matrix)


def check_csr(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    shape: tuple[int, int],
    name: str,
) -> None:
    """Raise one sentence unless three arrays are a CSR matrix of that shape.

    Files, archives and what users pass in are all looked at here: native code trusts the arrays
    and would read and write wherever they point. Indices may come in any order, and twice.

    Examples
    --------
    >>> check_csr(np.ones(2), np.array([0, 5]), np.array([0, 1, 2]), (2, 3), "X")
    Traceback (most recent call last):
    rmls.core.errors.InputError: X has an index outside its 3 columns.
    """
    n_entries = int(indptr[-1]) if indptr.ndim == 1 and len(indptr) else -1
    if not is_row_pointer(indptr, shape[0], n_entries):
        raise InputError(f"{name}_indptr does not fit {shape[0]} rows.")
    if indices.ndim != 1 or not len(indices) == len(data) == n_entries:
        raise InputError(
            f"{name} has {len(indices)} indices for {n_entries} entries and {len(data)} values."
        )
    if indices.dtype.kind not in "iu" or not are_within(indices, shape[1]):
        raise InputError(f"{name} has an index outside its {shape[1]} columns.")


def check_sparse(X: Any, name: str) -> None:
    """Raise one sentence for a sparse matrix of scipy whose parts do not belong together.

    scipy looks at them when a matrix is made, and not at what becomes of them. Anything that is
    not sparse passes.
    """
    if not sparse.issparse(X):
        return
    given: Any = X
    # Lists and dictionaries of entries are looked at in the form that they are read in.
    if given.format in ("lil", "dok"):
        given = given.tocsr() if given.format == "lil" else given.tocoo()
    form = given.format
    if form in ("csr", "csc", "bsr") and given.ndim == 2:
        rows, columns = given.shape if form != "csc" else given.shape[::-1]
        if form == "bsr":
            rows, columns = rows // given.blocksize[0], columns // given.blocksize[1]
        check_csr(given.data, given.indices, given.indptr, (int(rows), int(columns)), name)
    elif form == "coo":
        for places, limit in zip(given.coords, given.shape, strict=True):
            if len(places) != len(given.data) or not are_within(places, int(limit)):
                raise InputError(f"{name} has an index outside its shape {given.shape}.")


def is_plain(X: Any) -> bool:
    """Tell finite float32 numbers in CSR, in memory, of at least one row and column.

    Examples
    --------
    >>> is_plain(sparse.csr_matrix([[1.0]], dtype=np.float32)), is_plain([[1.0]])
    (True, False)
    """
    if not sparse.issparse(X):
        return False
    given: Any = X
    is_csr = given.format == "csr" and given.dtype == np.float32 and given.ndim == 2
    return bool(
        is_csr and min(given.shape) > 0 and not is_mapped(given) and np.isfinite(given.data).all()
    )


def is_row_pointer(indptr: NDArray[Any], n_rows: int, n_entries: int) -> bool:
    """Tell whether ``indptr`` cuts ``n_entries`` entries into ``n_rows`` rows.

    Native code trusts it, so that what comes from a file is looked at here before any use.

    Examples
    --------
    >>> is_row_pointer(np.array([0, 1, 3]), 2, 3)
    True
    >>> is_row_pointer(np.array([0, 10_000_000, 2], np.uint64), 2, 2)
    False
    """
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != n_rows + 1:
        return False
    # Neighbours are compared: their difference wraps around in unsigned and in 64-bit numbers.
    rises = bool((indptr[1:] >= indptr[:-1]).all())
    return rises and int(indptr[0]) == 0 and int(indptr[-1]) == n_entries


def are_within(indices: NDArray[Any], limit: int) -> bool:
    """Tell whether all indices are at least 0 and below ``limit``."""
    return not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < limit)


def is_mapped(X: Any) -> bool:
    """Tell whether an array, or the entries of a matrix, lie in a file, as those of a store do."""
    owner: Any = X.data
    while owner is not None:
        if isinstance(owner, (np.memmap, mmap.mmap)) or getattr(owner, "is_mapped", False):
            return True
        # An array over a buffer of another kind knows it as a view.
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return False


def over_arrays(data: Any, indices: Any, indptr: Any, n_columns: int) -> sparse.csr_matrix:
    """Return a canonical CSR matrix over these very arrays, which are known to be one."""
    empty: Any = (len(indptr) - 1, n_columns)
    matrix = sparse.csr_matrix(empty, dtype=data.dtype)
    # Assigned, not passed: scipy would widen the indices of many entries, all of them in memory.
    matrix.data, matrix.indices = data, indices
    matrix.indptr = indptr if indptr[-1] > INT32_MAX else indptr.astype(np.int32)
    # A look whether it is so would read everything.
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def slice_rows(X: sparse.csr_matrix, start: int, stop: int) -> sparse.csr_matrix:
    """Return neighbouring rows of canonical ``X`` without a copy of their entries.

    Slices of scipy copy them, and where places of entries have 64 bits all of the indices.
    """
    indptr = X.indptr[start : stop + 1]
    first, last = int(indptr[0]), int(indptr[-1])
    return over_arrays(X.data[first:last], X.indices[first:last], indptr - first, X.shape[1])


def row_blocks(
    X: sparse.csr_matrix, n_entries: int = BLOCK, n_rows: int = BLOCK
) -> Iterator[slice]:
    """Yield blocks of rows with at most so many entries and rows, at least one row.

    Examples
    --------
    >>> [block.stop for block in row_blocks(sparse.csr_matrix(np.ones((5, 4))), 8)]
    [2, 4, 5]
    """
    start, end = 0, int(X.shape[0])
    while start < end:
        full = int(np.searchsorted(X.indptr, X.indptr[start] + n_entries, side="right")) - 1
        stop = min(max(full, start + 1), start + n_rows, end)
        yield slice(start, stop)
        start = stop


def take_rows(X: sparse.csr_matrix, rows: NDArray[np.int64]) -> sparse.csr_matrix:
    """Return some rows of canonical ``X``, in memory; nothing else of it is looked at."""
    starts, lengths = X.indptr[rows].astype(np.int64), np.diff(X.indptr)[rows].astype(np.int64)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    places = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
    parts = (X.data[places], X.indices[places], indptr)
    taken = sparse.csr_matrix(parts, (len(rows), X.shape[1]))
    taken.has_sorted_indices = taken.has_canonical_format = True
    return taken


def row_squares(X: sparse.csr_matrix) -> NDArray[np.float32]:
    """Return the squared length of every row.

    Examples
    --------
    >>> row_squares(sparse.csr_matrix(np.float32([[3, 4], [0, 0]]))).tolist()
    [25.0, 0.0]
    """
    squares = np.zeros(X.shape[0], np.float32)
    for block in row_blocks(X):
        part = slice_rows(X, block.start, block.stop)
        squares[block] = np.asarray(part.multiply(part).sum(axis=1)).ravel()
    return squares


def label_counts(Y: sparse.csr_matrix) -> NDArray[np.int64]:
    """Count the positive rows of every label."""
    return np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)


def _narrow_indices(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    if matrix.shape[1] > INT32_MAX:
        raise InputError(f"at most {INT32_MAX} columns are supported; got {matrix.shape[1]}.")
    if matrix.indices.dtype != np.int32:
        # Assigning keeps scipy from widening the pair back to a common type.
        matrix = sparse.csr_matrix(matrix)
        matrix.indices = matrix.indices.astype(np.int32)
    return matrix


def distinct_rows(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return one row index per distinct (x, y) pair and the summed weights; weight 0 is dropped.

    Rows are compared by a 64-bit fingerprint of their stored entries: two different rows are taken
    for one with probability about ``n_samples**2 / 2**65``.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.array([[1, 0], [2, 0], [1, 0]], dtype=np.float32))
    >>> Y = sparse.csr_matrix(np.array([[1], [1], [1]], dtype=np.int32))
    >>> rows, weights = distinct_rows(X, Y, np.array([1.0, 0.0, 2.0]))
    >>> rows.tolist(), weights.tolist()
    ([0], [3.0])
    """
    prints = row_prints(X, Y)
    used = np.flatnonzero(weights > 0)
    # Sorted by print, so that the order depends on content alone.
    _, first, group = np.unique(prints[used], return_index=True, return_inverse=True)
    totals = np.zeros(len(first))
    np.add.at(totals, group, weights[used])
    return used[first].astype(np.int64), totals


def row_prints(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> NDArray[np.uint64]:
    """Return a hash of every (x, y) pair."""
    # Mixed once more before it meets Y: equal patterns in X and Y must not cancel.
    # The constant is 2**64 over the golden ratio, the increment of SplitMix64.
    return np.asarray(_mix(fingerprints(X) + np.uint64(0x9E3779B97F4A7C15)) ^ fingerprints(Y))


def sketch_rows(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> NDArray[np.uint64]:
    """Return the smallest hashes of the distinct (x, y) pairs, ascending: at most 2,048."""
    return np.unique(_mix(row_prints(X, Y)))[:SKETCH_ROWS]


def join_sketches(*sketches: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sketch of the rows of several.

    Examples
    --------
    >>> join_sketches(np.array([1, 4], np.uint64), np.array([2, 4], np.uint64)).tolist()
    [1, 2, 4]
    """
    # Beyond the end of a full sketch rows are missing: only what lies before every end is known.
    full = [sketch[-1] for sketch in sketches if len(sketch) >= SKETCH_ROWS]
    joined = np.unique(np.concatenate(sketches))
    return (joined[joined <= min(full)] if full else joined)[:SKETCH_ROWS]


def share_in_sketch(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, sketch: NDArray[np.uint64]
) -> tuple[float, int]:
    """Return which share of some rows are among those of a sketch, and how many were compared.

    Rows whose hash is no larger than the largest of the sketch are compared, which for them tells
    for sure: all of them where the sketch holds every row, otherwise a fair sample.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.arange(8, dtype=np.float32)[:, None])
    >>> Y = sparse.csr_matrix(np.ones((8, 1), dtype=np.int32))
    >>> share_in_sketch(X, Y, sketch_rows(X[:6], Y[:6]))
    (0.75, 8)
    """
    hashes = _mix(row_prints(X, Y))
    if len(sketch) >= SKETCH_ROWS:
        hashes = hashes[hashes <= sketch[-1]]
    return float(np.isin(hashes, sketch).mean()) if len(hashes) else 0.0, len(hashes)


def canonical_order(
    X: sparse.csr_matrix, Y: sparse.csr_matrix
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the labels in an order that forgets the one they were given in.

    Labels come by ascending count. Rows are told apart by their features, the counts of their
    labels and, two steps on, by the rows that have these labels too. What is still equal then is a
    copy, or (in made-up data) something that could be exchanged for the other.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.array([[1], [2], [3]], dtype=np.float32))
    >>> Y = sparse.csr_matrix(np.array([[1, 0], [1, 1], [1, 0]], dtype=np.int32))
    >>> rows, labels = canonical_order(X, Y)
    >>> again, swapped = canonical_order(X[[2, 0, 1]], Y[[2, 0, 1]][:, [1, 0]])
    >>> X[rows].toarray().tolist() == X[[2, 0, 1]][again].toarray().tolist()
    True
    >>> labels.tolist(), swapped.tolist()
    ([1, 0], [0, 1])
    """
    counts = label_counts(Y)
    by_row = Y.astype(np.uint64)
    row_keys, label_keys = _mix(fingerprints(X)), _mix(counts.astype(np.uint64) + np.uint64(1))
    # Colour refinement: rows and labels take turns to absorb the keys of their neighbours.
    # Sums of uint64 wrap, so that the order of the neighbours is forgotten.
    for _ in range(2):
        row_keys = _mix(row_keys + by_row @ label_keys)
        label_keys = _mix(label_keys + by_row.T @ row_keys)
    rows = np.argsort(row_keys, kind="stable")
    return rows.astype(np.int64), np.lexsort((label_keys, counts)).astype(np.int64)


def fingerprints(matrix: sparse.csr_matrix) -> NDArray[np.uint64]:
    """Return a hash of every row: the wrapping sum of its mixed (column, value) entries."""
    n_rows = matrix.shape[0]
    result = np.zeros(n_rows, dtype=np.uint64)
    start = 0
    while start < n_rows:
        # As many rows as hold BLOCK entries, but at least one.
        end = int(np.searchsorted(matrix.indptr, matrix.indptr[start] + BLOCK, side="right")) - 1
        stop = min(max(end, start + 1), n_rows)
        low, high = matrix.indptr[start], matrix.indptr[stop]
        # The bits of a float32 are its value here: equal numbers, equal bits.
        values = matrix.data[low:high].astype(np.float32).view(np.uint32).astype(np.uint64)
        columns = matrix.indices[low:high].astype(np.uint64)
        # Mixed before and after they meet: a sum must not confuse whose value stands where.
        sums = np.concatenate(
            [np.zeros(1, np.uint64), np.cumsum(_mix(_mix(columns + np.uint64(1)) ^ values))]
        )
        # Modulo 2**64 a difference of running sums is exact: no loop over rows is needed.
        offsets = matrix.indptr[start : stop + 1] - low
        result[start:stop] = sums[offsets[1:]] - sums[offsets[:-1]]
        start = stop
    return result


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # The finaliser of SplitMix64: every bit of z can change any bit of the result.
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
