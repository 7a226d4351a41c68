"""Vectors of the rows of a table, from a file of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The column that holds them, for a model.
COLUMN = "vectors"


class VectorFile:
    """Vectors in the order of the rows of a table; what is not read stays on disk.

    Parameters
    ----------
    path : str
        An ``.npy`` file, or an ``.npz`` file with one array.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.vectors = _open(path)
        if self.vectors.ndim != 2 or self.vectors.dtype.kind not in "fiub":
            raise InputError(
                f"{path} holds {self.vectors.dtype} of shape {self.vectors.shape}; it needs a row "
                "of numbers for every row of the table."
            )
        if not self.vectors.shape[1]:
            raise InputError(f"{path} holds vectors without numbers.")
        self._n_read = 0

    def take(self, n_rows: int) -> NDArray[Any]:
        """Return the vectors of the next rows."""
        start, self._n_read = self._n_read, self._n_read + n_rows
        if self._n_read > len(self.vectors):
            there = count(len(self.vectors), "vector")
            raise InputError(f"{self.path} holds {there}, and the table has more rows.")
        return self.vectors[start : self._n_read]

    def finish(self) -> None:
        """Refuse vectors that no row is left for."""
        if self._n_read < len(self.vectors):
            raise InputError(
                f"{self.path} holds {count(len(self.vectors), 'vector')} but the table has "
                f"{count(self._n_read, 'row')}; they need one each, in the same order."
            )


def _open(path: str) -> NDArray[Any]:
    from zipfile import BadZipFile

    import numpy as np

    if not Path(path).is_file():
        raise InputError(f"{path} is no file; --features takes an .npy file.")
    try:
        # Objects would be unpickled, which may execute anything.
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            if len(found.files) == 1:
                one: NDArray[Any] = found[found.files[0]]
                return one
    except (ValueError, OSError, EOFError, BadZipFile):
        # NumPy's own words advise to unpickle what cannot be read.
        raise InputError(f"{path} is no .npy file of numbers; numpy.save writes one.") from None
    raise InputError(f"{path} holds {count(len(found.files), 'array')}; --features takes one.")


def add_vectors(columns: dict[str, Any], vectors: Any, column: str = COLUMN) -> dict[str, Any]:
    """Return the columns of a table with those of the vectors."""
    if column in columns:
        raise InputError(
            f"the table has a column {column!r} of its own, beside --features; rename it."
        )
    return {**columns, column: vectors}


def open_for_model(model: Any, path: str | None) -> VectorFile | None:
    """Return the vectors that a model needs; one sentence where there are none, or for nothing."""
    needed = model.features_.vectors is not None
    if needed and path is None:
        raise InputError(
            "the model was trained with vectors beside the texts; give those of these rows: "
            "--features FILE.npy."
        )
    if not needed and path is not None:
        raise InputError("the model was trained without --features; drop it.")
    return None if path is None else VectorFile(path)
