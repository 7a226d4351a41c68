"""Rows of vectors in fewer bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError

PRECISIONS: dict[str, Any] = {"float32": np.float32, "int16": np.int16, "int8": np.int8}
MOST = 127


def round_vectors(vectors: NDArray[np.float32], precision: str) -> NDArray[np.float32]:
    """Return the vectors as they will be read back, rounded to the precision.

    Examples
    --------
    >>> round_vectors(np.float32([[1.0, 0.3]]), "int8").tolist()
    [[1.0, 0.296875]]
    """
    if precision == "float32":
        return vectors
    packed = pack_vectors("v", vectors, precision)
    return _unpacked(packed["v"], packed.get("v_scale"))


def pack_vectors(
    name: str, vectors: NDArray[np.float32], precision: str
) -> dict[str, NDArray[Any]]:
    """Return the arrays that hold the vectors: 4, 2 or 1 byte a number.

    Two bytes are a float16. One byte is a whole number times a power of two for every row, so that
    vectors that were rounded once are packed without loss.
    """
    if precision == "float32":
        return {name: vectors}
    if precision == "int16":
        return {name: vectors.astype(np.float16)}
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scale = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest / MOST, 1.0))))
    scale = scale.astype(np.float32)
    return {
        name: np.rint(vectors / scale[:, None]).astype(np.int8),
        f"{name}_scale": scale,
    }


def unpack_vectors(archive: Archive, name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Read vectors that `pack_vectors` wrote, of whatever precision."""
    stored = archive.arrays.get(name)
    if stored is not None and stored.dtype == np.int8:
        check_arrays(archive, {name: (np.int8, shape), f"{name}_scale": (np.float32, shape[:1])})
        return _unpacked(stored, archive.arrays[f"{name}_scale"])
    check_arrays(archive, {name: (np.floating, shape)})
    assert stored is not None
    if stored.dtype not in (np.float16, np.float32):
        raise ArchiveError(f"{archive.path} is damaged: the array {name!r} has {stored.dtype}.")
    return _unpacked(stored, None)


def _unpacked(stored: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[np.float32]:
    dense: NDArray[np.float32] = np.asarray(stored, dtype=np.float32)
    return dense if scale is None else dense * scale[:, None]
