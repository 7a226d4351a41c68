"""NumPy archives with arrays, headers and containers that no honest program writes."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np

from ..mutate import Draw, damage

DTYPES = [
    *("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">i8", ">u8", "f2", "f4", "f8", ">f4"),
    *("f16", "c8", "?", "S3", "U2", "M8[s]", "m8[D]", "V4", "O"),
]
ODD_INTEGERS = [
    *(0, 1, 2, -1, 3, 5, 127, 255, 256, 10_000_000, 2**31 - 1, 2**31, 2**32 - 1, 2**32),
    *(2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63)),
]
ODD_FLOATS = [0.0, -0.0, 1e300, -1e300, 3.5e38, 1e-320, 1e-45, float("nan"), float("inf"), -1.5]
# The last ones are slow to make.
COMPRESSIONS = [
    *([zipfile.ZIP_DEFLATED] * 30),
    *([zipfile.ZIP_STORED] * 10),
    zipfile.ZIP_BZIP2,
    zipfile.ZIP_LZMA,
]
Arrays = dict[str, Any]


def make(draw: Draw) -> bytes:
    """Return the bytes of an archive that is broken in one place or in several."""
    arrays = _sample(draw)
    level = draw.random()
    for _ in range(draw.choice((1, 1, 2)) if level < 0.7 else 0):
        arrays = _change_array(arrays, draw)
    files = {name: _npy(array, draw, odd=0.7 < level < 0.85) for name, array in arrays.items()}
    content = _zipped(files, draw)
    return damage(content, draw) if level > 0.85 else content


def _sample(draw: Draw) -> Arrays:
    n, d, m = draw.randint(0, 4), draw.randint(1, 6), draw.randint(1, 4)
    arrays: Arrays = {}
    for which, columns in (("X", d), ("Y", m)):
        rows = [sorted(draw.sample(range(columns), draw.randint(0, columns))) for _ in range(n)]
        indices = [column for row in rows for column in row]
        arrays[f"{which}_indices"] = np.array(indices, dtype=np.int32)
        arrays[f"{which}_indptr"] = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        arrays[f"{which}_shape"] = np.array([n, columns], dtype=np.int64)
    values = [draw.choice((1.0, 0.5, -2.0, 0.0, 1e-30)) for _ in arrays["X_indices"]]
    arrays["X_data"] = np.array(values, dtype=np.float32)
    if draw.random() < 0.5:
        arrays["split"] = np.array([draw.randint(0, n)], dtype=np.int64)
    return arrays


def _change_array(arrays: Arrays, draw: Draw) -> Arrays:
    name = draw.choice(list(arrays))
    array = arrays[name]
    way = draw.randrange(9)
    if way == 0:
        return {key: value for key, value in arrays.items() if key != name}
    if way == 1:
        other = arrays[draw.choice(list(arrays))]
        return {**arrays, name: other}
    if way == 2:
        return {**arrays, name: _cast(array, draw.choice(DTYPES))}
    if way == 3:
        return {
            **arrays,
            name: draw.choice((array[:-1], array[1:], np.repeat(array, 2), array[::-1])),
        }
    if way == 4:
        return {**arrays, name: array.reshape(draw.choice(((1, -1), (-1, 1), (-1, 1, 1))))}
    if way == 5:
        return {**arrays, draw.choice(("extra", "X", "../evil", "")): array}
    return {**arrays, name: _odd_values(array, draw)}


def _cast(array: Any, dtype: str) -> Any:
    try:
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    except (TypeError, ValueError, RuntimeError):
        return array


def _odd_values(array: Any, draw: Draw) -> Any:
    """Change some values, in a type that can hold them."""
    if array.dtype.kind not in "iuf":
        return array
    if array.dtype.kind == "f":
        changed = array.astype(draw.choice(("f4", "f8", "f16")))
        pool: list[Any] = ODD_FLOATS
    else:
        changed = array.astype(draw.choice((array.dtype, "i8", "u8", "u4")))
        pool = ODD_INTEGERS
    changed = changed.copy().ravel()
    for _ in range(draw.choice((1, 1, 2))):
        if changed.size:
            value = draw.choice(pool)
            with np.errstate(all="ignore"):
                # Taken modulo the width of the type, as a cast of C does.
                wrapped = (
                    np.array(value % 2**64, dtype=np.uint64)
                    if changed.dtype.kind in "iu"
                    else value
                )
                changed[draw.randrange(changed.size)] = np.asarray(wrapped).astype(changed.dtype)
    return changed


def _npy(array: Any, draw: Draw, odd: bool) -> bytes:
    """Return a member: the header by hand, so that it can say anything."""
    if array.dtype.hasobject:
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, allow_pickle=True)
        return stream.getvalue()
    content = array.tobytes()
    descr: Any = array.dtype.str
    shape: Any = array.shape
    order: Any = False
    version = 1
    if odd and draw.random() < 0.4:
        way = draw.randrange(6)
        if way == 0:
            shape = draw.choice(
                ((2**62,), (-1,), (2**31, 2**31), (), (True,), (1.0,), 3, (10**30,))
            )
        elif way == 1:
            descr = draw.choice(
                ("<f4", "|O", "<i8", [("a", "<i4")], "junk", "<U500000000", "|V0", 5)
            )
        elif way == 2:
            order = draw.choice((True, 1, "no"))
        elif way == 3:
            version = draw.choice((2, 3, 0, 9))
        elif way == 4:
            content = draw.choice((content[:-1], content + b"\0", content * 2, b""))
    header = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    if odd and draw.random() < 0.3:
        header = damage(header, draw)
    if odd and draw.random() < 0.1:
        header = draw.choice(
            (b"[" * 500, b"{" * 90, b"9" * 5000, b"-" * 3000 + b"1", b"x" * 70_000)
        )
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    width = 2 if version == 1 else 4
    length = (len(header) % 2 ** (8 * width)).to_bytes(width, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + content


def _zipped(files: dict[str, bytes], draw: Draw) -> bytes:
    stream = io.BytesIO()
    compression = draw.choice(COMPRESSIONS)
    with zipfile.ZipFile(stream, "w", compression, compresslevel=1) as archive:
        for name, content in files.items():
            ending = "" if draw.random() < 0.02 else ".npy"
            archive.writestr(zipfile.ZipInfo(f"{name}{ending}"), content, compression)
        if files and draw.random() < 0.02:
            name = draw.choice(list(files))
            archive.filelist[0].filename = f"{name}.npy"
    return stream.getvalue()
