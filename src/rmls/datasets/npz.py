"""NumPy archives: the two CSR matrices as plain arrays, names in text files beside them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import FileFormatError
from rmls.core.sparse import INT32_MAX, are_within, is_row_pointer
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import (
    Format,
    check_names_writable,
    named_dataset,
    read_head,
    replace_file,
    write_names,
)

Array = NDArray[Any]
REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y_indices", "Y_indptr", "Y_shape")
# Deflate cannot do better, so a larger member is not what its size says.
DEFLATE_BOUND = 1100


def read_npz(path: Path) -> Dataset:
    """Read ``X_data, X_indices, X_indptr, X_shape, Y_indices, Y_indptr, Y_shape[, split]``.

    Parameters
    ----------
    path : Path
        Names are taken from ``<stem>.labels.txt`` and ``<stem>.features.txt`` if present.

    Notes
    -----
    Pickled objects are never loaded, and every array is checked before a matrix is made.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.npz"
    >>> write_npz(Dataset([[1, 0]], [[0, 1]], n_train=1), path)
    >>> read_npz(path)
    Dataset('toy': 1 row (1 train + 0 test), 2 features, 2 labels)
    """
    arrays = _read_arrays(path)
    missing = [key for key in REQUIRED if key not in arrays]
    if missing:
        raise FileFormatError(f"the archive lacks the array '{missing[0]}'", path)
    X = _matrix(arrays, "X", arrays["X_data"], path)
    Y = _matrix(arrays, "Y", np.ones(len(arrays["Y_indices"]), dtype=np.int32), path)
    if X.shape[0] != Y.shape[0]:
        raise FileFormatError(f"X has {X.shape[0]} rows but Y has {Y.shape[0]}", path)
    return named_dataset(path, X, Y, _split(arrays, X.shape[0], path))


def write_npz(dataset: Dataset, path: Path) -> None:
    """Write a compressed archive, and the name lists beside it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.npz"
    >>> write_npz(Dataset([[1, 0]], [[1]], label_names=["tax"]), path)
    >>> read_npz(path).label_names
    ['tax']
    """
    check_names_writable(dataset, path)
    arrays: dict[str, Array] = {
        "X_data": dataset.X.data,
        "X_indices": dataset.X.indices,
        "X_indptr": dataset.X.indptr,
        "X_shape": np.array(dataset.X.shape, dtype=np.int64),
        "Y_indices": dataset.Y.indices,
        "Y_indptr": dataset.Y.indptr,
        "Y_shape": np.array(dataset.Y.shape, dtype=np.int64),
    }
    if dataset.n_train is not None:
        arrays["split"] = np.array([dataset.n_train], dtype=np.int64)

    def fill(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **arrays)

    replace_file(path, fill)
    write_names(dataset, path)


def _read_arrays(path: Path) -> dict[str, Array]:
    read_head(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                info.filename.removesuffix(".npy"): _read_array(archive, info, path)
                for info in archive.infolist()
                if info.filename.removesuffix(".npy") in (*REQUIRED, "split")
            }
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else "unexpected end"
        raise FileFormatError(f"the archive is damaged ({reason})", path) from None
    except OSError as error:
        raise FileFormatError(f"the file cannot be read ({error.strerror})", path) from None


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Array:
    """Read one member after comparing the announced shape with the bytes that are there."""
    key = info.filename.removesuffix(".npy")
    if info.file_size > DEFLATE_BOUND * max(info.compress_size, 1):
        raise FileFormatError(f"the array '{key}' announces more than the file holds", path)
    try:
        with archive.open(info) as stream:
            # The length of a header has two bytes in version 1 and four in later ones.
            version = np.lib.format.read_magic(stream)
            reader = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = reader(stream)
            rest = info.file_size - stream.tell()
            # Unpickling objects runs code, and a false shape must not allocate memory.
            if len(shape) != 1 or dtype.hasobject or shape[0] * dtype.itemsize != rest:
                raise FileFormatError(f"the array '{key}' is not a plain list of numbers", path)
            content = stream.read(rest)
    except (ValueError, TypeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"the array '{key}' has a damaged header", path) from None
    return np.frombuffer(content, dtype=dtype)


def _matrix(arrays: dict[str, Array], which: str, data: Array, path: Path) -> sparse.csr_matrix:
    """Check that the four arrays describe a CSR matrix, then make it."""
    indices, indptr, shape = (arrays[f"{which}_{part}"] for part in ("indices", "indptr", "shape"))
    if any(array.dtype.kind not in "iu" for array in (indices, indptr, shape)):
        raise FileFormatError(f"{which} has indices that are not whole numbers", path)
    if len(shape) != 2 or shape.min() < 0 or shape[1] > INT32_MAX:
        raise FileFormatError(f"{which}_shape must hold two sizes up to {INT32_MAX}", path)
    if not len(indptr) or not is_row_pointer(indptr, int(shape[0]), int(indptr[-1])):
        raise FileFormatError(f"{which}_indptr does not fit {shape[0]} rows", path)
    if len(indices) != indptr[-1] or len(data) != len(indices):
        raise FileFormatError(f"{which} has {len(indices)} indices for {indptr[-1]} entries", path)
    if not are_within(indices, int(shape[1])):
        raise FileFormatError(f"{which} has an index outside its {shape[1]} columns", path)
    if data.dtype.kind not in "iuf" or not np.isfinite(data).all():
        raise FileFormatError(f"{which} has a value that is not a finite number", path)
    values = data.astype(np.float32 if which == "X" else np.int32)
    matrix = sparse.csr_matrix(
        (values, indices.astype(np.int32), indptr.astype(np.int64)),
        shape=(int(shape[0]), int(shape[1])),
    )
    # Summing duplicates shows whether there were any.
    nnz = matrix.nnz
    matrix.sum_duplicates()
    if matrix.nnz != nnz:
        raise FileFormatError(f"{which} has the same index twice in a row", path)
    return matrix


def _split(arrays: dict[str, Array], n_samples: int, path: Path) -> int | None:
    split = arrays.get("split")
    if split is None:
        return None
    if len(split) != 1 or split.dtype.kind not in "iu" or not 0 <= split[0] <= n_samples:
        raise FileFormatError(f"split must be one number between 0 and {n_samples}", path)
    return int(split[0])


FORMAT = Format(
    name="npz",
    extensions=(".npz",),
    description="NumPy archive of the two CSR matrices; fastest, keeps the split",
    sniff=lambda head: head.startswith(b"PK\x03\x04"),
    read=read_npz,
    write=write_npz,
    compressible=False,
)
