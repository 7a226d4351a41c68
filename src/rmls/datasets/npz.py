"""NumPy archives: the two CSR matrices as plain arrays, names in text files beside them."""

from __future__ import annotations

import os
import re
import struct
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import FileFormatError, InputError
from rmls.core.resources import require_memory
from rmls.core.sparse import INT32_MAX, check_csr
from rmls.core.words import shorten, size
from rmls.datasets._writing import check_names_writable, replace_file
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import (
    MAX_EXPANSION,
    SMALL_ENOUGH,
    Format,
    Source,
    list_names,
    named_dataset,
)

Array = NDArray[Any]
FEATURES = ("X_data", "X_indices", "X_indptr", "X_shape")
LABELS = ("Y_indices", "Y_indptr", "Y_shape")
REQUIRED = (*FEATURES, *LABELS)
# What NumPy writes for a list of numbers or of short texts; of the latter only a sentence is made.
HEADER = re.compile(
    rb"\{'descr': '([<>|=]?(?:[biuf][1248]|[US][1-9][0-9]{0,3}))', "
    rb"'fortran_order': (?:False|True), 'shape': \(([0-9]{1,18}),\),? *\} *\n?"
)
MAGIC = b"\x93NUMPY"
VERSIONS = (b"\1\0", b"\2\0", b"\3\0")
HEADER_LIMIT = 10_000
# What a damaged directory or header brings up.
BROKEN = (ValueError, TypeError, struct.error)
# Unpacked bytes, the arrays made of them, and the matrix.
COPIES = 3


def read_npz(source: Path | Source) -> Dataset:
    """Read ``X_data, X_indices, X_indptr, X_shape, Y_indices, Y_indptr, Y_shape[, split]``.

    Parameters
    ----------
    source : Path or Source
        Names are taken from ``<stem>.labels.txt`` and ``<stem>.features.txt`` if present.

    Notes
    -----
    Pickled objects are never loaded, and every array is checked before a matrix is made. An
    archive without any of the three arrays of ``Y`` holds rows whose labels are not known.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.npz"
    >>> write_npz(Dataset([[1, 0]], [[0, 1]], n_train=1), path)
    >>> read_npz(path)
    Dataset('toy': 1 row (1 train + 0 test), 2 features, 2 labels)
    """
    source = Source.of(source)
    arrays, path = _read_arrays(source), source.path
    is_labelled = any(key in arrays for key in LABELS)
    missing = [key for key in (REQUIRED if is_labelled else FEATURES) if key not in arrays]
    if missing:
        raise FileFormatError(f"the archive lacks the array '{missing[0]}'", path)
    X, Y = _matrix(arrays, "X", arrays["X_data"], path), None
    if is_labelled:
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
    }
    if dataset.is_labelled:
        arrays["Y_indices"], arrays["Y_indptr"] = dataset.Y.indices, dataset.Y.indptr
        arrays["Y_shape"] = np.array(dataset.Y.shape, dtype=np.int64)
    if dataset.n_train is not None:
        arrays["split"] = np.array([dataset.n_train], dtype=np.int64)

    def fill(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
        # Each with its header, which NumPy pads to a multiple of 64.
        n_bytes = sum(array.nbytes + 256 for array in arrays.values())
        # What shrinks as much as a bomb does is stored as it is, so that it can be read.
        if n_bytes > max(SMALL_ENOUGH, MAX_EXPANSION * stream.tell()):
            stream.seek(0)
            stream.truncate()
            np.savez(stream, allow_pickle=False, **arrays)

    replace_file(path, fill, list_names(dataset, path))


def _read_arrays(source: Source) -> dict[str, Array]:
    try:
        with source.opened() as stream, zipfile.ZipFile(stream) as archive:
            path = source.path
            members = _members(archive, stream.seek(0, os.SEEK_END), path)
            return {key: _read_array(archive, member, path) for key, member in members.items()}
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, *BROKEN) as failure:
        reason = shorten(str(failure)) or "unexpected end"
        raise FileFormatError(f"the archive is damaged ({reason})", source.path) from None


def _members(archive: zipfile.ZipFile, n_bytes: int, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the members to read by the name of their array, if what they unpack to is sane."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        key = member.filename.removesuffix(".npy")
        if key in members:
            raise FileFormatError(f"the archive holds the array '{key}' twice", path)
        if key in (*REQUIRED, "split"):
            # As NumPy writes them. Others could ask for any memory to be unpacked.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileFormatError(f"the array '{key}' is compressed in an unusual way", path)
            members[key] = member
    total = sum(member.file_size for member in members.values())
    if total > max(SMALL_ENOUGH, MAX_EXPANSION * n_bytes):
        raise FileFormatError(
            f"the arrays grow more than {MAX_EXPANSION}-fold when unpacked, to {size(total)}; "
            "unpack them by hand if you trust the file, and save them with numpy.savez",
            path,
        )
    require_memory(COPIES * total, f"reading {path}", "read it in parts")
    return members


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> Array:
    """Read one member after comparing the announced shape with the bytes that are there."""
    key = member.filename.removesuffix(".npy")
    with archive.open(member) as stream:
        magic = stream.read(8)
        # The length of a header has two bytes in version 1 and four in later ones.
        width = 2 if magic[6:7] == b"\1" else 4
        length = int.from_bytes(stream.read(width), "little")
        if magic[:6] != MAGIC or magic[6:] not in VERSIONS or length > HEADER_LIMIT:
            raise FileFormatError(f"the array '{key}' has a damaged header", path)
        # Read by a pattern, not evaluated: nothing else than a list of numbers is understood.
        header = HEADER.fullmatch(stream.read(length))
        rest = member.file_size - len(magic) - width - length
        dtype = np.dtype(header[1].decode() if header else object)
        # Unpickling objects runs code, and a false shape must not allocate memory.
        if header is None or int(header[2]) * dtype.itemsize != rest:
            raise FileFormatError(f"the array '{key}' is not a plain list of numbers", path)
        content = stream.read(rest)
    if len(content) != rest:
        raise FileFormatError(f"the array '{key}' is cut off", path)
    return np.frombuffer(content, dtype=dtype)


def _matrix(arrays: dict[str, Array], which: str, data: Array, path: Path) -> sparse.csr_matrix:
    """Check that the four arrays describe a CSR matrix, then make it."""
    indices, indptr, shape = (arrays[f"{which}_{part}"] for part in ("indices", "indptr", "shape"))
    if any(array.dtype.kind not in "iu" for array in (indices, indptr, shape)):
        raise FileFormatError(f"{which} has indices that are not whole numbers", path)
    if len(shape) != 2 or shape.min() < 0 or shape[1] > INT32_MAX:
        raise FileFormatError(f"{which}_shape must hold two sizes up to {INT32_MAX}", path)
    try:
        check_csr(data, indices, indptr, (int(shape[0]), int(shape[1])), which)
    except InputError as error:
        raise FileFormatError(str(error).removesuffix("."), path) from None
    if data.dtype.kind not in "biuf" or not np.isfinite(data).all():
        raise FileFormatError(f"{which} has a value that is not a finite number", path)
    # Too large becomes inf, which is refused in its own words.
    with np.errstate(over="ignore"):
        values = data.astype(np.float32 if which == "X" else np.int32)
    if not np.isfinite(values).all():
        raise FileFormatError(f"{which} has a value that is too large for float32", path)
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
