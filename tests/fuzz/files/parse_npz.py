"""An independent reader of npz: headers by hand, checks on whole numbers of any size."""

from __future__ import annotations

import ast
import io
import math
import re
import zipfile
from itertools import pairwise
from typing import Any

import numpy as np

from .parse_rows import INT32_MAX, MANY_COLUMNS, Expected, Refused

# Deflate cannot do better; another method may, and need not be believed.
DEFLATE_BOUND = 1000
PARTS = ("indices", "indptr", "shape")
FEATURES = ("X_data", *(f"X_{part}" for part in PARTS))
LABELS = tuple(f"Y_{part}" for part in PARTS)
REQUIRED = (*FEATURES, *LABELS)
# What NumPy writes; other texts of the same meaning may be refused.
USUAL = re.compile(
    rb"{'descr': '[<>|][a-z]\d+', 'fortran_order': (True|False), 'shape': \(\d+,\)(, )?} *\n"
)
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def parse_npz(content: bytes) -> Expected:
    if not content.strip():
        raise Refused("empty")
    unsure: set[str] = set()
    members = _members(content, unsure)
    is_labelled = any(name in members for name in LABELS)
    for name in REQUIRED if is_labelled else FEATURES:
        if name not in members:
            raise Refused("a missing array")
    arrays = {
        name: _array(members[name], unsure) for name in (*REQUIRED, "split") if name in members
    }
    X = _rows(arrays, "X", unsure)
    Y = _rows(arrays, "Y", unsure) if is_labelled else [[] for _ in X]
    if len(X) != len(Y):
        raise Refused("rows")
    n_train = _split(arrays.get("split"), len(X))
    features = [{column: value for column, value in row if value != 0} for row in X]
    labels = [{column for column, _ in row} for row in Y]
    d, m = int(arrays["X_shape"][1]), int(arrays["Y_shape"][1]) if is_labelled else 0
    if max(d, m, len(X)) > MANY_COLUMNS:
        unsure.add("many columns")
    return Expected(d, m, features, labels, n_train, unsure=", ".join(sorted(unsure)))


def _members(content: bytes, unsure: set[str]) -> dict[str, bytes]:
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in (*REQUIRED, "split"):
                    if name in found or info.compress_type not in PLAIN:
                        raise Refused("container")
                    found[name] = archive.read(info)
                    if info.file_size != len(found[name]):
                        unsure.add("a member of another size")
                    if info.file_size > DEFLATE_BOUND * max(info.compress_size, 1):
                        unsure.add("a member that grows a thousandfold")
    except Exception as error:
        raise Refused("container") from error
    return found


def _array(member: bytes, unsure: set[str]) -> Any:
    """Return a one-dimensional array of numbers."""
    if member[:6] != b"\x93NUMPY" or len(member) < 10 or member[6] not in (1, 2, 3) or member[7]:
        raise Refused("magic")
    width = 2 if member[6] == 1 else 4
    start = 8 + width
    stop = start + int.from_bytes(member[8:start], "little")
    if stop > len(member):
        raise Refused("header")
    try:
        header = ast.literal_eval(member[start:stop].decode("latin-1").strip())
        descr, shape = header["descr"], header["shape"]
        if header.keys() != {"descr", "fortran_order", "shape"} or not isinstance(descr, str):
            raise Refused("header")
        dtype = np.dtype(descr)
    except (Exception, RecursionError) as error:
        raise Refused("header") from error
    if not isinstance(header["fortran_order"], bool) or not isinstance(shape, tuple):
        raise Refused("header")
    if len(shape) != 1 or type(shape[0]) is not int or dtype.kind not in "iufb":
        raise Refused("not a list of numbers")
    if shape[0] * dtype.itemsize != len(member) - stop:
        raise Refused("size")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise Refused("long numbers")
    if not USUAL.fullmatch(member[start:stop]):
        unsure.add("a header that NumPy does not write")
    return np.frombuffer(member, dtype, offset=stop)


def _whole(array: Any) -> list[int]:
    if array.dtype.kind not in "iu":
        raise Refused("not whole numbers")
    return [int(value) for value in array]


def _rows(arrays: dict[str, Any], which: str, unsure: set[str]) -> list[list[tuple[int, Any]]]:
    indices, indptr, shape = (_whole(arrays[f"{which}_{part}"]) for part in PARTS)
    if len(shape) != 2 or min(shape) < 0 or not (which == "X") <= shape[1] <= INT32_MAX:
        raise Refused("shape")
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr != sorted(indptr):
        raise Refused("row pointer")
    if indptr[-1] != len(indices) or any(not 0 <= column < shape[1] for column in indices):
        raise Refused("indices")
    values: list[Any] = [1] * len(indices)
    if which == "X":
        values = _values(arrays["X_data"])
        if arrays["X_data"].dtype.kind == "b":
            unsure.add("values of true and false")
        if len(values) != len(indices):
            raise Refused("number of values")
    rows = []
    for start, stop in pairwise(indptr):
        if len(set(indices[start:stop])) != stop - start:
            if which == "X":
                raise Refused("a feature twice")
            unsure.add("a label twice")
        rows.append(list(zip(indices[start:stop], values[start:stop], strict=True)))
    return rows


def _values(data: Any) -> list[np.float32]:
    if data.dtype.kind not in "biuf":
        raise Refused("type of the values")
    with np.errstate(all="ignore"):
        values = [np.float32(value) for value in data]
    if not all(math.isfinite(value) for value in values):
        raise Refused("not finite")
    return values


def _split(split: Any, n_rows: int) -> int | None:
    if split is None:
        return None
    numbers = _whole(split)
    if len(numbers) != 1 or not 0 <= numbers[0] <= n_rows:
        raise Refused("split")
    return numbers[0]
