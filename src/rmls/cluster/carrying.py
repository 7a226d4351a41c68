"""Values as bytes that nodes exchange: arrays beside the rest, so that nobody copies them.

An array that lies in a named file (`rmls.core.disk.named`), or in the files of a store, travels as
their names.
"""

from __future__ import annotations

import ctypes
import io
import pickle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.core.disk.mapping import find_parts, map_again
from rmls.core.disk.named import find_file, map_file


class Packed(NamedTuple):
    """A value as bytes.

    Attributes
    ----------
    rest : bytes
        All but the arrays.
    arrays : list of ndarray of uint8
        The bytes of the arrays.
    """

    rest: bytes
    arrays: list[NDArray[np.uint8]]

    @property
    def n_bytes(self) -> int:
        """What it takes to send it."""
        return len(self.rest) + sum(len(array) for array in self.arrays)


class _Packer(pickle.Pickler):
    """Puts the names of files in the place of an array that lies in them."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not np.ndarray:
            return NotImplemented
        kind = (value.dtype.str, value.shape)
        place = find_file(value)
        if place is not None:
            return map_file, (*place, *kind)
        parts = find_parts(value)
        return NotImplemented if parts is None else (map_again, (*parts, *kind))


def pack(value: Any) -> Packed:
    """Return a value as bytes; the arrays are views, not copies."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _Packer(stream, protocol=5, buffer_callback=buffers.append).dump(value)
    arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
    return Packed(stream.getvalue(), arrays)


def unpack(packed: Packed) -> Any:
    """Return the value; its arrays are views of what was given.

    Kernels are compiled for arrays that can be written to. Those in shared memory cannot, and would
    need code of their own: the views say that they can. Nobody writes to what is shared.
    """
    buffers = [_writable(array) for array in packed.arrays]
    return pickle.loads(packed.rest, buffers=buffers)


def _writable(array: NDArray[np.uint8]) -> Any:
    if array.flags.writeable:
        return array
    if not len(array):
        return bytearray()
    view: Any = (ctypes.c_uint8 * len(array)).from_address(array.ctypes.data)
    # Keeps the memory alive as long as anybody looks at it.
    view._owner = array
    return view
