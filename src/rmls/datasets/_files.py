"""Read whole files and write them atomically, plain or compressed, with their name lists."""

from __future__ import annotations

import bz2
import gzip
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets.dataset import Dataset

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
CHUNK = 1 << 24
LEVEL = 6
HEAD_SIZE = 1 << 16
# Real data text shrinks to a tenth; a file that grows this much is a decompression bomb.
MAX_EXPANSION = 200
SMALL_ENOUGH = 1 << 26


def plain_suffix(path: Path) -> str:
    """Return the lower-case file ending that remains without ``.gz`` or ``.bz2``."""
    name = Path(path.stem) if path.suffix.lower() in OPENERS else path
    return name.suffix.lower()


def stem_of(path: Path) -> Path:
    """Return the path without its ending, and without ``.gz`` or ``.bz2`` before that."""
    inner = path.with_suffix("") if path.suffix.lower() in OPENERS else path
    return inner.with_suffix("")


def read_bytes(path: Path) -> bytes:
    """Return the decompressed content; one sentence for anything that is not a readable file."""
    content = _read(path, limit=None)
    if not content.strip():
        raise FileFormatError("the file is empty", path)
    return content


def read_text_bytes(path: Path) -> bytes:
    """Return the content of a text file without its byte order mark; refuse binary files."""
    content = read_bytes(path)
    head = content[:HEAD_SIZE]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError("the file is in UTF-16; save it as UTF-8 first", path, 1)
    if b"\0" in head:
        line = head.count(b"\n", 0, head.index(b"\0")) + 1
        raise FileFormatError("the file is binary, not text", path, line)
    return content[3:] if content.startswith(b"\xef\xbb\xbf") else content


def read_head(path: Path) -> bytes:
    """Return the first bytes of the decompressed content."""
    head = _read(path, limit=HEAD_SIZE)
    if not head.strip():
        raise FileFormatError("the file is empty", path)
    return head.removeprefix(b"\xef\xbb\xbf")


def _read(path: Path, limit: int | None) -> bytes:
    if path.is_dir():
        raise FileFormatError("this is a folder; give a data file", path)
    try:
        opener = OPENERS.get(path.suffix.lower(), open)
        with opener(path, "rb") as stream:
            return bytes(stream.read(limit)) if limit is not None else _read_all(stream, path)
    except FileNotFoundError:
        raise FileFormatError("there is no such file", path) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"the compressed file is damaged ({error})", path) from None
    except OSError as error:
        reason = error.strerror or f"damaged: {error}"
        raise FileFormatError(f"the file cannot be read ({reason})", path) from None


def _read_all(stream: IO[bytes], path: Path) -> bytes:
    if path.suffix.lower() not in OPENERS:
        return stream.read()
    bound = max(SMALL_ENOUGH, MAX_EXPANSION * path.stat().st_size)
    content = bytearray()
    while chunk := stream.read(CHUNK):
        content += chunk
        if len(content) > bound:
            raise FileFormatError(
                f"the file grows more than {MAX_EXPANSION}-fold when decompressed; "
                "decompress it by hand if you trust it",
                path,
            )
    return bytes(content)


def write_atomic(path: Path, chunks: Iterable[bytes]) -> None:
    """Write the chunks to a temporary file in the same folder, then rename it to ``path``."""

    def fill(stream: IO[bytes]) -> None:
        opener = OPENERS.get(path.suffix.lower())
        if opener is None:
            stream.writelines(chunks)
        else:
            with opener(stream, "wb", compresslevel=LEVEL) as packed:
                packed.writelines(chunks)

    replace_file(path, fill)


def replace_file(path: Path, fill: Callable[[IO[bytes]], None]) -> None:
    """Let ``fill`` write a temporary file beside ``path``, then rename it to ``path``."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file name to write to.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            fill(stream)
        # mkstemp makes private files; give the mode that open() would have given.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from None
    finally:
        temporary.unlink(missing_ok=True)


def names_path(path: Path, kind: str) -> Path:
    """Return the file beside ``path`` that holds the names; ``kind`` is labels or features."""
    stem = stem_of(path)
    return stem.with_name(f"{stem.name}.{kind}.txt")


def read_names(path: Path, kind: str, size: int) -> list[str] | None:
    """Return the names beside ``path``, one a line, or ``None`` when there is no such file."""
    names_file = names_path(path, kind)
    if not names_file.is_file():
        return None
    try:
        text = names_file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError("the file is not UTF-8 text", names_file) from None
    names = [name.removesuffix("\r") for name in text.removesuffix("\n").split("\n")]
    if len(names) != size:
        raise FileFormatError(
            f"{len(names)} names, but {path.name} has {size} {kind}", names_file, len(names)
        )
    return names


def check_names_writable(dataset: Dataset, path: Path) -> None:
    """Refuse to leave a name list beside ``path`` that belongs to other data."""
    for kind, names in (("labels", dataset.label_names), ("features", dataset.feature_names)):
        names_file = names_path(path, kind)
        if names is None and names_file.exists():
            raise InputError(
                f"{names_file} would give names to {path.name}, but the data set has no {kind} "
                "names; move that file away or write under another name."
            )


def write_names(dataset: Dataset, path: Path) -> None:
    """Write the name lists that the data set has beside ``path``."""
    for kind, names in (("labels", dataset.label_names), ("features", dataset.feature_names)):
        if names is not None:
            write_atomic(names_path(path, kind), (f"{name}\n".encode() for name in names))
