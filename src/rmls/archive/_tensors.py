"""The safetensors format: eight bytes of header length, a JSON header, then plain arrays.

Written and parsed here rather than by the safetensors library: arrays are streamed and hashed in
one pass without a copy, a full disk is an ordinary ``OSError``, and every announced size is
checked before a byte is mapped. The tests read and write the same files with the library.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import prod
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.archive._manifest import StrictJsonError, parse_json
from rmls.core.errors import ArchiveError

if TYPE_CHECKING:
    from rmls.archive.reading import Archive

Array = NDArray[Any]
Shape = Sequence[int | None]

DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}
CODES = {name: code for code, name in DTYPES.items()}

LENGTH_SIZE = 8
# The limit of the safetensors library.
MAX_HEADER_SIZE = 100_000_000
# What an array of NumPy 1 can have.
MAX_DIMENSIONS = 32
CUT_SHORT = "it was cut short while it was read"
# Bytes written and hashed at a time.
CHUNK = 1 << 22
# Numbers looked at together: they stay in the cache between the two looks.
LOOK = 1 << 16


class TensorFileError(ValueError):
    """A safetensors file breaks its format; the message is the end of a sentence."""


class Tensor(NamedTuple):
    """Where one array lies in the file, in bytes from its beginning."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


def describe_arrays(arrays: Mapping[str, Array] | Mapping[str, Tensor]) -> dict[str, Any]:
    """Return type and shape of every array by name, as they stand in the manifest."""
    return {
        name: {"dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in arrays.items()
    }


def write_tensors(stream: IO[bytes], arrays: Mapping[str, Array]) -> str:
    """Write the arrays and return the SHA-256 of the file.

    Arrays are laid out by falling item size, so that each starts at a multiple of its own.
    """
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    digest = sha256()
    for chunk in _chunks([(name, arrays[name]) for name in names]):
        digest.update(chunk)
        stream.write(chunk)
    return digest.hexdigest()


def _chunks(items: list[tuple[str, Array]]) -> Iterator[bytes | memoryview]:
    entries, stop = {}, 0
    for name, array in items:
        start, stop = stop, stop + array.nbytes
        code = CODES[array.dtype.name]
        entries[name] = {"dtype": code, "shape": array.shape, "data_offsets": (start, stop)}
    header = json.dumps(entries, separators=(",", ":")).encode()
    # Blanks, so that the arrays begin at a multiple of 8 bytes.
    header += b" " * (-len(header) % LENGTH_SIZE)
    if len(header) > MAX_HEADER_SIZE:
        raise TensorFileError("the names of the arrays take more than 100 MB")
    yield len(header).to_bytes(LENGTH_SIZE, "little") + header
    for _, array in items:
        # A view where the array is so already; only others are copied.
        little_endian = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        content = little_endian.reshape(-1).view(np.uint8).data
        for position in range(0, len(content), CHUNK):
            yield content[position : position + CHUNK]


def read_layout(stream: IO[bytes], file_size: int) -> dict[str, Tensor]:
    """Parse the header and check that the arrays fill the rest of the file exactly."""
    start = LENGTH_SIZE
    length = int.from_bytes(stream.read(LENGTH_SIZE), "little")
    # Before anything of that length is allocated.
    if file_size < start or length > min(file_size - start, MAX_HEADER_SIZE):
        raise TensorFileError("its header is cut off or announces more bytes than the file has")
    try:
        header = parse_json(stream.read(length))
    except StrictJsonError as error:
        raise TensorFileError(f"its header cannot be read: {error}") from None
    # Free text that other writers may add.
    header.pop("__metadata__", None)
    start += length
    layout = {name: _tensor(name, entry, start) for name, entry in header.items()}
    _check_tiling(layout, start, file_size)
    return layout


def map_file(stream: IO[bytes]) -> Array:
    """Return the bytes of a file; pages are read when they are used, and shared by processes."""
    # Not numpy.memmap: joblib sends that by its file name, and a replaced folder has none.
    return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def read_file(stream: IO[bytes], size: int) -> Array:
    """Return the bytes of a file, copied to memory."""
    content = np.empty(size, np.uint8)
    stream.seek(0)
    # One call reads 2 GiB at most.
    done = 0
    while count := stream.readinto(content.data[done:]):  # type: ignore[attr-defined]
        done += count
    if done < size:
        raise TensorFileError(CUT_SHORT)
    content.flags.writeable = False
    return content


def view_tensors(content: Array, layout: Mapping[str, Tensor]) -> dict[str, Array]:
    """Return the arrays as read-only views of the bytes; nothing is read yet but the booleans."""
    # The file may have been cut since its size was checked.
    if len(content) < max((tensor.stop for tensor in layout.values()), default=0):
        raise TensorFileError(CUT_SHORT)
    return {name: _view(content, name, tensor) for name, tensor in layout.items()}


def _view(content: Array, name: str, tensor: Tensor) -> Array:
    part = content[tensor.start : tensor.stop]
    # NumPy trusts a bool to be 0 or 1; any other byte gives wrong results later.
    if tensor.dtype == np.bool_ and part.size and part.max() > 1:
        raise TensorFileError(f"the array {name!r} is of type bool and holds other bytes than 0, 1")
    return part.view(tensor.dtype).reshape(tensor.shape)


def _tensor(name: str, entry: Any, data_start: int) -> Tensor:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise TensorFileError(f"the array {name!r} is not described by dtype, shape, data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise TensorFileError(f"the array {name!r} has the unknown type {str(code)[:20]!r}")
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise TensorFileError(f"the array {name!r} has no valid shape")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise TensorFileError(f"the array {name!r} has no valid data_offsets")
    dtype = np.dtype(DTYPES[code]).newbyteorder("<")
    return _fitting(
        name, Tensor(dtype, tuple(shape), data_start + offsets[0], data_start + offsets[1])
    )


def _fitting(name: str, tensor: Tensor) -> Tensor:
    itemsize = tensor.dtype.itemsize
    if prod(tensor.shape) * itemsize != tensor.stop - tensor.start:
        raise TensorFileError(f"the array {name!r} has a shape that does not fit its bytes")
    # NumPy multiplies the extents that are not 0 even where the array is empty.
    if prod(extent or 1 for extent in tensor.shape) * itemsize > np.iinfo(np.intp).max:
        raise TensorFileError(f"the array {name!r} has a shape too large for this machine")
    if tensor.start % itemsize:
        raise TensorFileError(f"the array {name!r} does not start at a multiple of its item size")
    return tensor


def _check_tiling(layout: Mapping[str, Tensor], start: int, file_size: int) -> None:
    """Refuse gaps, overlaps and arrays beyond the end."""
    # Each begins where the one before it ends: no byte is hidden and none is used twice.
    for tensor in sorted(layout.values(), key=lambda tensor: (tensor.start, tensor.stop)):
        if tensor.start != start:
            raise TensorFileError("its arrays overlap or leave gaps")
        start = tensor.stop
    if start != file_size:
        raise TensorFileError(f"it has {file_size} bytes where its header wants {start}")


def _are_sizes(values: Any) -> bool:
    # The exact type, because True is an int.
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def check_arrays(archive: Archive, expected: Mapping[str, tuple[Any, Shape]]) -> None:
    """Refuse an archive that lacks an array, or has one of another type or shape.

    Parameters
    ----------
    archive : Archive
    expected : mapping of str to (dtype, shape)
        The dtype is exact (``np.float32``) or a family (``np.integer``, ``np.floating``). In the
        shape None stands for any extent. Arrays that are not named here are not looked at.
        Floats must be finite.

    Raises
    ------
    ArchiveError
        One sentence that names the path and the array.

    Examples
    --------
    >>> from rmls.archive import Archive
    >>> archive = Archive("model", {}, {"bias": np.zeros(3, dtype=np.float32)})
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
    if array.dtype.kind == "f" and not _are_finite(array):
        return "holds a number that is not finite"
    return None


def _are_finite(values: NDArray[Any]) -> bool:
    flat = values.reshape(-1)
    # Both extremes are nan where any number is.
    return all(
        np.isfinite(part.min()) and np.isfinite(part.max())
        for part in (flat[start : start + LOOK] for start in range(0, len(flat), LOOK))
    )


def _written(shape: Sequence[int | None]) -> str:
    return f"({', '.join('any' if extent is None else str(extent) for extent in shape)})"
