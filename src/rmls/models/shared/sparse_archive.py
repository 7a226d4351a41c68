"""Sparse matrices to the archive and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError, InputError
from rmls.core.sparse import check_csr
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
    try:
        check_csr(data, indices, indptr, shape, name)
    except InputError as error:
        reason = f"{name!r} is not a sparse matrix: {error}"
        raise ArchiveError(f"{archive.path} is damaged: {reason}") from None
    return sparse.csr_matrix((data, indices, indptr), shape=shape, copy=False)
