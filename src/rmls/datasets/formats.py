"""The table of file formats: what can be read and written, and how files are told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from pkgutil import iter_modules

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets._files import plain_suffix, read_head
from rmls.datasets.dataset import Dataset


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
        Takes the first bytes of a file, decompressed, and tells whether they look like it.
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
    sniff: Callable[[bytes], bool]
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
    head = read_head(Path(path))
    for format in formats():
        if format.sniff(head):
            return format
    known = ", ".join(format.name for format in formats())
    raise FileFormatError(f"the first line fits none of the formats {known}", path, 1)
