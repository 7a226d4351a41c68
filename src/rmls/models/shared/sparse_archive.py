"""Sparse matrices to the archive and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError
from rmls.core.sparse import are_within, is_row_pointer
from rmls.kernels.backend import csr_arrays


def sparse_state(name: str, matrix: sparse.csr_matrix) -> dict[str, NDArray[Any]]:
    """Return the arrays of a CSR matrix by their names in a model folder."""
    return {f"{name}_{part}": array for part, array in csr_arrays(matrix)._asdict().items()}


def read_csr(archive: Archive, name: str, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Read a CSR matrix, refusing one whose parts do not belong together."""
    kinds: dict[str, tuple[type, tuple[int | None]]] = {
        "indptr": (np.int64, (shape[0] + 1,)),
        "indices": (np.int32, (None,)),
        "data": (np.float32, (None,)),
    }
    check_arrays(archive, {f"{name}_{part}": kind for part, kind in kinds.items()})
    indptr, indices, data = (archive.arrays[f"{name}_{part}"] for part in kinds)
    good = is_row_pointer(indptr, shape[0], len(indices)) and len(indices) == len(data)
    if not good or not are_within(indices, shape[1]):
        raise ArchiveError(f"{archive.path} is damaged: {name!r} is not a sparse matrix.")
    return sparse.csr_matrix((data, indices, indptr), shape=shape, copy=False)
