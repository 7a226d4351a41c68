"""What a model asks of the arrays it finds in an archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rmls.archive.reading import Archive
from rmls.core.errors import ArchiveError

Shape = Sequence[int | None]


def check_arrays(archive: Archive, expected: Mapping[str, tuple[Any, Shape]]) -> None:
    """Refuse an archive that lacks an array, or has one of another type or shape.

    Parameters
    ----------
    archive : Archive
    expected : mapping of str to (dtype, shape)
        The dtype is exact (``np.float32``) or a family (``np.integer``, ``np.floating``). In the
        shape None stands for any extent. Arrays that are not named here are not looked at.

    Raises
    ------
    ArchiveError
        One sentence that names the path and the array.

    Examples
    --------
    >>> from pathlib import Path
    >>> archive = Archive(Path("model"), {}, {"bias": np.zeros(3, dtype=np.float32)})
    >>> check_arrays(archive, {"bias": (np.floating, (None,))})
    >>> check_arrays(archive, {"bias": (np.float32, (None, 8))})
    Traceback (most recent call last):
    rmls.core.errors.ArchiveError: ...the array 'bias' has shape (3); (any, 8) is needed.
    """
    for name, (dtype, shape) in expected.items():
        problem = _problem(archive, name, dtype, tuple(shape))
        if problem:
            raise ArchiveError(f"{archive.path} is damaged: the array {name!r} {problem}.")


def _problem(archive: Archive, name: str, dtype: Any, shape: tuple[int | None, ...]) -> str | None:
    array = archive.arrays.get(name)
    if array is None:
        return "is missing"
    if not np.issubdtype(array.dtype, dtype):
        wanted = getattr(dtype, "__name__", None) or str(dtype)
        return f"is of type {array.dtype.name}; {wanted} is needed"
    fits = len(array.shape) == len(shape) and all(
        wanted is None or wanted == extent
        for wanted, extent in zip(shape, array.shape, strict=True)
    )
    if not fits:
        return f"has shape {_written(array.shape)}; {_written(shape)} is needed"
    return None


def _written(shape: Sequence[int | None]) -> str:
    return f"({', '.join('any' if extent is None else str(extent) for extent in shape)})"
