"""Parts of several files as one array, without reading them.

The system maps every part to its place in one range of addresses. Places are multiples of a page,
which the parts of an array are not; so the file of a part begins with the end of the part before
it, down to the last multiple of `GRANULE` (its lead), and covers that again.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import FileFormatError

# A multiple of every size of a page in use: 4, 16 and 64 KiB.
GRANULE = 1 << 16
# Linux; what is not written to is not reserved either. Other systems do without the flag.
NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
FIXED = 0x10
FAILED = ctypes.c_void_p(-1).value
Owner = TypeVar("Owner")
# By the address of the first byte: size and files of what is mapped there now.
_LAID: dict[int, tuple[int, tuple[FilePart, ...]]] = {}


class FilePart(NamedTuple):
    """Where a part of an array lies.

    Attributes
    ----------
    path : Path
    n_bytes : int
        Size of the file.
    lead : int
        Bytes at its start that belong to the part before it.
    """

    path: Path
    n_bytes: int
    lead: int


def lead_of(start: int) -> int:
    """Return how many bytes of earlier parts the file of one that begins at ``start`` repeats.

    Examples
    --------
    >>> lead_of(65536), lead_of(65540)
    (0, 4)
    """
    return start % GRANULE


def map_parts(parts: Sequence[FilePart], dtype: Any) -> NDArray[Any]:
    """Return the array that lies in several files; nothing is read before it is looked at.

    What is written to the array stays in memory: no file changes. Systems that cannot map files
    side by side get a copy in memory.
    """
    total = sum(part.n_bytes - part.lead for part in parts)
    for part in parts:
        _check_size(part)
    if not total:
        return np.zeros(0, dtype)
    if os.name != "posix":
        return np.concatenate([_read(part, dtype) for part in parts])
    span = _Span(total)
    start = 0
    for part in parts:
        span.lay(part, start - part.lead)
        start += part.n_bytes - part.lead
    found: NDArray[Any] = np.asarray(span).view(dtype)
    named = tuple(part._replace(path=part.path.absolute()) for part in parts)
    _LAID[found.ctypes.data] = (total, named)
    # The address may be given to another array afterwards.
    weakref.finalize(span, _LAID.pop, found.ctypes.data, None)
    return found


def find_parts(array: NDArray[Any]) -> tuple[tuple[FilePart, ...], int] | None:
    """Return the files that a contiguous array lies in, and its first byte in them, or None."""
    return find_among(array, _LAID)


def find_among(
    array: NDArray[Any], laid: Mapping[int, tuple[int, Owner]]
) -> tuple[Owner, int] | None:
    """Return whose range of addresses, by first address, a contiguous array lies in, and where."""
    if not array.flags.c_contiguous or not array.nbytes:
        return None
    first = array.ctypes.data
    for start, (n_bytes, owner) in laid.items():
        if start <= first and first + array.nbytes <= start + n_bytes:
            return owner, first - start
    return None


def map_again(
    parts: Sequence[FilePart], offset: int, dtype: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return an array that `find_parts` has found, in another process."""
    n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    whole = map_parts(parts, np.uint8)
    return whole[offset : offset + n_bytes].view(dtype).reshape(shape)


def _check_size(part: FilePart) -> None:
    try:
        found = part.path.stat().st_size
    except OSError as error:
        raise FileFormatError(error.strerror or "cannot be read", part.path) from None
    # Looking behind the end of a mapped file ends the process.
    if found != part.n_bytes:
        message = f"the file has {found} bytes but should have {part.n_bytes}; write it again"
        raise FileFormatError(message, part.path)


def _read(part: FilePart, dtype: Any) -> NDArray[Any]:
    return np.fromfile(part.path, dtype, offset=part.lead)


class _Span:
    """A range of addresses that files are mapped into; given back with the last array over it."""

    is_mapped = True

    def __init__(self, n_bytes: int) -> None:
        self._libc = load_libc()
        self._size = -(-n_bytes // GRANULE) * GRANULE
        # Room for the alignment: the system promises pages, not granules.
        whole = self._size + GRANULE
        given = self._map(None, whole, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        self._address = -(-given // GRANULE) * GRANULE
        weakref.finalize(self, self._libc.munmap, given, whole)
        self.__array_interface__ = {
            "shape": (n_bytes,),
            "typestr": "|u1",
            "data": (self._address, False),
            "version": 3,
        }

    def lay(self, part: FilePart, place: int) -> None:
        """Map a file to a place of the range, a multiple of the granule."""
        if part.n_bytes == 0:
            return
        descriptor = os.open(part.path, os.O_RDONLY)
        try:
            # Private and writable: kernels are compiled for arrays that can be written to, and
            # what is never written is never copied.
            mode = mmap.PROT_READ | mmap.PROT_WRITE
            flags = mmap.MAP_PRIVATE | FIXED | NO_RESERVE
            self._map(self._address + place, part.n_bytes, mode, flags, descriptor)
        finally:
            os.close(descriptor)

    def _map(self, place: int | None, n_bytes: int, mode: int, flags: int, file: int) -> int:
        found = self._libc.mmap(place, n_bytes, mode, flags, file, 0)
        if found is None or found == FAILED:
            error = ctypes.get_errno()
            raise OSError(error, f"{n_bytes} bytes cannot be mapped ({os.strerror(error)})")
        return int(found)


def load_libc() -> ctypes.CDLL:
    """Return the library of the system, with the calls that map files."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    numbers = (ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.mmap.argtypes = (ctypes.c_void_p, *numbers)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc
