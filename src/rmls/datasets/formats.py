"""The formats of data files: what can be read and written, how files are told apart and opened."""

from __future__ import annotations

import bz2
import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import BytesIO
from os import PathLike
from pathlib import Path
from pkgutil import iter_modules
from typing import IO, Any

from rmls.core import words
from rmls.core.errors import FileFormatError, InputError
from rmls.core.files import open_standing, standing
from rmls.core.resources import available_memory, require_memory
from rmls.datasets.dataset import Dataset

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
# The first bytes of compressed text, of other packed files, and of all that are told later.
COMPRESSED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
PACKED = {b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z", b"PK\x03\x04": "zip"}
BINARY = (*COMPRESSED, *PACKED, b"\xff\xfe", b"\xfe\xff")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK = 1 << 24
# Comments may come before the line that tells the format.
HEAD_SIZE = 1 << 16
# Real data text shrinks to a tenth; a file that grows this much is a decompression bomb.
MAX_EXPANSION = 200
# Up to here no ratio is refused: small files may shrink a lot and do no harm.
SMALL_ENOUGH = 1 << 26
# The text itself, and arrays of about the same size.
TEXT_NEEDS = 2
# What the least of later steps keeps: count, rank, group and score of a label, a weight.
BYTES_PER_LABEL, BYTES_PER_FEATURE = 100, 8


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
        ``read(source, **options) -> Dataset``; the source is a path or a `Source`.
    write : callable
        ``write(dataset, path)``; atomic.
    compressible : bool, default=True
        Whether ``.gz`` and ``.bz2`` files are read and written too.
    keeps_split : bool, default=True
        Whether ``n_train`` survives.
    beside : callable, optional
        ``beside(dataset, path)``: the files that `write` makes besides ``path``, and what is in
        them; lists of names by default.

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
    beside: Callable[[Dataset, Path], dict[Path, bytes]] = lambda dataset, path: list_names(
        dataset, path
    )


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
        if format.name == str(name).lower():
            return format
    known = ", ".join(format.name for format in formats())
    raise InputError(f"unknown format '{words.shorten(str(name))}'; choose one of: {known}.")


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


def format_of(path: str | PathLike[str] | Source) -> Format:
    """Return the format of an existing file: by its ending, else by its first line."""
    source = Source.of(path)
    found = format_by_extension(source.path)
    if found is not None:
        return found
    # A .txt promises nothing: its first line decides.
    head = source.head()
    for format in formats():
        if format.sniff(head):
            return format
    known = ", ".join(format.name for format in formats())
    raise FileFormatError(f"the first line fits none of the formats {known}", source.path, 1)


def plain_suffix(path: Path) -> str:
    """Return the lower-case file ending that remains without ``.gz`` or ``.bz2``."""
    name = Path(path.stem) if path.suffix.lower() in OPENERS else path
    return name.suffix.lower()


def stem_of(path: Path) -> Path:
    """Return the path without its ending, and without ``.gz`` or ``.bz2`` before that."""
    inner = path.with_suffix("") if path.suffix.lower() in OPENERS else path
    return inner.with_suffix("")


def check_name(path: Path) -> None:
    """Refuse a name with a NUL, or with letters that no file system can hold."""
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise InputError(f"'{words.shorten(str(path))}' is not a name that a file can have.")


class Source:
    """A data file, a pipe or standard input (``-``).

    Notes
    -----
    What comes through a pipe comes once. It is kept here, so that telling its format takes no rows
    away from the reader; a file is opened whenever it is wanted.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.svm.gz"
    >>> _ = path.write_bytes(gzip.compress(b"0 1:2 3:4"))
    >>> Source(path).text()
    b'0 1:2 3:4'
    """

    def __init__(self, path: str | PathLike[str], owner: Path | None = None) -> None:
        self._is_stdin = str(path) == "-"
        self.path = Path("/dev/stdin" if self._is_stdin else path)
        # The data file that a list of names was written together with.
        self._owner = owner or self.path
        self._kept: bytes | None = None

    def __str__(self) -> str:
        return str(self.path)

    @classmethod
    def of(cls, path: str | PathLike[str] | Source) -> Source:
        """Return the source of a path; a source is returned as it is."""
        return path if isinstance(path, Source) else cls(path)

    @property
    def is_stream(self) -> bool:
        """Whether the bytes come once only: a pipe, a device, standard input."""
        is_other = os.path.exists(self.path) and not os.path.isfile(self.path)
        return self._is_stdin or (is_other and not os.path.isdir(self.path))

    def head(self) -> bytes:
        """Return the first bytes, decompressed, without a byte order mark."""
        head = self.read(HEAD_SIZE)
        if not head.strip():
            raise FileFormatError("the file is empty", self.path)
        return head.removeprefix(BYTE_ORDER_MARK)

    def text(self) -> bytes:
        """Return the decompressed text without its byte order mark; refuse binary files."""
        content = self.content()
        head = content[:HEAD_SIZE]
        for magic, kind in PACKED.items():
            if head.startswith(magic):
                raise FileFormatError(f"the file is packed with {kind}; unpack it first", self.path)
        # Before the test for NUL, of which UTF-16 text is full.
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileFormatError("the file is in UTF-16; save it as UTF-8 first", self.path, 1)
        if b"\0" in head:
            line = head.count(b"\n", 0, head.index(b"\0")) + 1
            raise FileFormatError("the file is binary, not text", self.path, line)
        return content.removeprefix(BYTE_ORDER_MARK)

    def content(self) -> bytes:
        """Return the decompressed content."""
        content = self.read()
        if not content.strip():
            raise FileFormatError("the file is empty", self.path)
        return content

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the bytes as they are, from the first one on; failures become one sentence."""
        check_name(self.path)
        if os.path.isdir(self.path):
            raise FileFormatError("this is a folder; give a data file", self.path)
        try:
            if self.is_stream and self._kept is None:
                self._kept = self._receive()
            kept = None if self._kept is None else BytesIO(self._kept)
            with kept or open_standing(self.path, self._owner) as stream:
                yield stream
        except FileNotFoundError:
            raise FileFormatError("there is no such file", self.path) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            reason = words.shorten(str(error))
            raise FileFormatError(f"the compressed file is damaged ({reason})", self.path) from None
        except OSError as error:
            reason = error.strerror or f"damaged: {words.shorten(str(error))}"
            raise FileFormatError(f"the file cannot be read ({reason})", self.path) from None

    def _receive(self) -> bytes:
        """Read a stream to its end."""
        if not self._is_stdin:
            with open(self.path, "rb", buffering=0) as stream:
                return self._collect(stream, None)
        stdin = getattr(sys.stdin, "buffer", None)
        if stdin is None:
            raise FileFormatError("there is no standard input", self.path)
        return self._collect(stdin, None)

    def read(self, limit: int | None = None) -> bytes:
        """Return the content, decompressed where it is compressed; the first bytes with a limit."""
        with self.opened() as raw:
            magic = raw.read(max(map(len, COMPRESSED)))
            size = raw.seek(0, os.SEEK_END)
            raw.seek(0)
            # The content decides: a pipe has no ending, and browsers unpack without renaming.
            fits = [opener for start, opener in COMPRESSED.items() if magic.startswith(start)]
            if fits:
                with fits[0](raw, "rb") as stream:
                    bound = max(SMALL_ENOUGH, MAX_EXPANSION * size)
                    return bytes(stream.read(limit)) if limit else self._collect(stream, bound)
            if limit is None:
                require_memory(TEXT_NEEDS * size, f"reading {self}", "read it in parts")
            return raw.read(-1 if limit is None else limit)

    def _collect(self, stream: IO[bytes], bound: int | None) -> bytes:
        """Read to the end what may have none, and no more than ``bound`` and the memory allow."""
        content, room = bytearray(), available_memory()
        # Counted while it grows: no more than the bounds and a chunk is ever held.
        while chunk := stream.read(CHUNK):
            if not content and b"\0" in chunk[:HEAD_SIZE] and not chunk.startswith(BINARY):
                raise FileFormatError("the file is binary, not text", self.path)
            content += chunk
            if bound is not None and len(content) > bound:
                raise FileFormatError(
                    f"the file grows more than {MAX_EXPANSION}-fold when decompressed; "
                    "decompress it by hand if you trust it",
                    self.path,
                )
            if room is not None and TEXT_NEEDS * len(content) > room:
                free = words.size(room)
                message = f"reading it takes more than the {free} of memory that is available"
                raise FileFormatError(message, self.path)
        return bytes(content)


def named_dataset(path: Path, X: Any, Y: Any, n_train: int | None = None) -> Dataset:
    """Return the data set of a file: called like the file, with the names that lie beside it.

    ``Y`` is None where the file has no labels.
    """
    n_features, n_labels = X.shape[1], 0 if Y is None else Y.shape[1]
    check_columns(path, n_features, n_labels)
    return Dataset(
        X,
        Y,
        label_names=read_names(path, "labels", n_labels) if n_labels else None,
        feature_names=read_names(path, "features", n_features),
        n_train=n_train,
        name=data_name(path),
    )


def check_columns(path: Path, n_features: int, n_labels: int) -> None:
    """Refuse numbers of columns that nothing could be done with; a few bytes can announce any."""
    sizes = f"{words.count(n_features, 'feature')} and {words.count(n_labels, 'label')}"
    needed = BYTES_PER_FEATURE * n_features + BYTES_PER_LABEL * n_labels
    require_memory(needed, f"{path}: work with {sizes}", "check the numbers of columns in the file")


def data_name(path: Path) -> str:
    """Return what the data of a file are called: letters that no encoding holds become ``?``."""
    return stem_of(path).name.encode("utf-8", "replace").decode()


def names_path(path: Path, kind: str) -> Path:
    """Return the file beside ``path`` that holds the names; ``kind`` is labels or features."""
    stem = stem_of(path)
    return stem.with_name(f"{stem.name}.{kind}.txt")


def is_beside(file: Path, path: Path) -> bool:
    """Tell whether a file that belongs to the data of ``path`` is there."""
    # Also False where the longer name is too long for the file system.
    return os.path.isfile(standing(file, path)) or os.path.isfile(file)


def read_names(path: Path, kind: str, size: int) -> list[str] | None:
    """Return the names beside ``path``, one a line, or ``None`` when there is no such file."""
    names_file = names_path(path, kind)
    if not is_beside(names_file, path):
        return None
    try:
        text = Source(names_file, path).read().decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError("the file is not UTF-8 text", names_file) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileFormatError("a name holds the character NUL", names_file, line)
    # splitlines would also break at characters that a name may hold.
    names = [name.removesuffix("\r") for name in text.removesuffix("\n").split("\n")]
    for line, name in enumerate(names, 1):
        if "\r" in name:
            raise FileFormatError("a name holds a carriage return", names_file, line)
    if len(names) != size:
        raise FileFormatError(
            f"{len(names)} names, but {path.name} has {size} {kind}", names_file, len(names)
        )
    return names


def names_beside(dataset: Dataset, path: Path) -> Iterator[tuple[str, Path, list[str] | None]]:
    """Yield the kind, the file and the names of both lists; None where there are no names."""
    for kind, names in (("labels", dataset.label_names), ("features", dataset.feature_names)):
        yield kind, names_path(path, kind), names


def list_names(dataset: Dataset, path: Path) -> dict[Path, bytes]:
    """Return the files of names beside ``path``, one name a line."""
    return {
        names_file: "".join(f"{name}\n" for name in names).encode()
        for _, names_file, names in names_beside(dataset, path)
        if names is not None
    }
