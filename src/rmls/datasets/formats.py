"""The formats of data files: what can be read and written, how files are told apart and opened."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from pkgutil import iter_modules
from typing import IO, Any

from rmls.core.errors import FileFormatError, InputError
from rmls.core.files import replacing
from rmls.datasets.dataset import Dataset

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
CHUNK = 1 << 24
# That of the gzip program.
LEVEL = 6
# Comments may come before the line that tells the format.
HEAD_SIZE = 1 << 16
# Real data text shrinks to a tenth; a file that grows this much is a decompression bomb.
MAX_EXPANSION = 200
# Up to here no ratio is refused: small files may shrink a lot and do no harm.
SMALL_ENOUGH = 1 << 26


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        What `save` and the command line call it.
    extensions : tuple of str
        File endings that settle the format, with the dot.
    description : str
        One line for listings.
    sniff : callable
        Takes the first bytes of a file, decompressed; what it returns is true if they look like it.
    read : callable
        ``read(path, **options) -> Dataset``.
    write : callable
        ``write(dataset, path)``; atomic.
    compressible : bool, default=True
        Whether ``.gz`` and ``.bz2`` files are read and written too.
    keeps_split : bool, default=True
        Whether ``n_train`` survives.

    Notes
    -----
    A module of this package that defines ``FORMAT`` is found by itself.

    Examples
    --------
    >>> [format.name for format in formats()]
    ['arff', 'npz', 'rmls', 'svmlight', 'xmc']
    """

    name: str
    extensions: tuple[str, ...]
    description: str
    sniff: Callable[[bytes], object]
    read: Callable[..., Dataset]
    write: Callable[[Dataset, Path], None]
    compressible: bool = True
    keeps_split: bool = True


@cache
def formats() -> tuple[Format, ...]:
    """Return every format, sorted by name.

    Examples
    --------
    >>> for format in formats():
    ...     print(format.name, *format.extensions)
    arff .arff
    npz .npz
    rmls .rmls
    svmlight .svm .svmlight .libsvm
    xmc .xmc
    """
    package = import_module("rmls.datasets")
    found = []
    for module in iter_modules(package.__path__):
        if not module.name.startswith("_"):
            content = vars(import_module(f"{package.__name__}.{module.name}"))
            if isinstance(content.get("FORMAT"), Format):
                found.append(content["FORMAT"])
    return tuple(sorted(found, key=lambda format: format.name))


def format_named(name: str) -> Format:
    """Return the format called ``name``.

    Examples
    --------
    >>> format_named("xmc").extensions
    ('.xmc',)
    """
    for format in formats():
        if format.name == name.lower():
            return format
    known = ", ".join(format.name for format in formats())
    raise InputError(f"unknown format '{name}'; choose one of: {known}.")


def format_by_extension(path: str | PathLike[str]) -> Format | None:
    """Return the format that the file ending settles, or ``None``.

    Examples
    --------
    >>> format_by_extension("train.svm.gz").name
    'svmlight'
    >>> format_by_extension("train.txt") is None
    True
    """
    suffix = plain_suffix(Path(path))
    for format in formats():
        if suffix in format.extensions:
            return format
    return None


def format_of(path: str | PathLike[str]) -> Format:
    """Return the format of an existing file: by its ending, else by its first line."""
    found = format_by_extension(path)
    if found is not None:
        return found
    # A .txt promises nothing: its first line decides.
    head = read_head(Path(path))
    for format in formats():
        if format.sniff(head):
            return format
    known = ", ".join(format.name for format in formats())
    raise FileFormatError(f"the first line fits none of the formats {known}", path, 1)


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
    # Before the test for NUL, of which UTF-16 text is full.
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
        # Counted while it grows: no more than the bound and a chunk is ever held.
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
        with replacing(path) as stream:
            fill(stream)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from None


def named_dataset(path: Path, X: Any, Y: Any, n_train: int | None = None) -> Dataset:
    """Return the data set of a file: called like the file, with the names that lie beside it."""
    return Dataset(
        X,
        Y,
        label_names=read_names(path, "labels", Y.shape[1]),
        feature_names=read_names(path, "features", X.shape[1]),
        n_train=n_train,
        name=stem_of(path).name,
    )


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
    # splitlines would also break at characters that a name may hold.
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
