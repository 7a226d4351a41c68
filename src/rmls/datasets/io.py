"""Load data by path or by name, and save it."""

from __future__ import annotations

import inspect
import os
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError, InputError, RmlsWarning
from rmls.core.files import resolve_target
from rmls.core.options import check_whole
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import (
    OPENERS,
    Format,
    Source,
    format_by_extension,
    format_named,
    format_of,
    plain_suffix,
)
from rmls.datasets.registry import locate

# One of them is there from the first shard on, whatever became of the writer.
STORE_FILES = ("store.json", "plan.json", "shard-00000/shard.json")


def load(name_or_path: str | PathLike[str] | Source, **options: Any) -> Dataset:
    """Load a data set by file name, or by its name in the registry.

    Parameters
    ----------
    name_or_path : str or path
        A data file or a pipe, plain or (text formats) compressed by gzip or bzip2; ``"-"`` for
        standard input; or a name such as ``"enron"``, looked up in the folder ``RMLS_DATA``, then
        in the cache.
    **options
        ``format`` to name the format; ``require_labels=False`` to load rows whose labels are not
        known, for prediction; ``min_label_rows`` to leave out labels that fewer rows have;
        ``download=True`` to fetch a registered data set that is not on this machine; anything else
        goes to the reader of the format.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.txt"
    >>> _ = path.write_text("2 3 2\\n0,1 0:1 2:.5\\n 1:2\\n")
    >>> load(path)
    Dataset('toy': 2 rows, 3 features, 2 labels)
    """
    wanted = options.pop("format", None)
    if wanted in (None, "store") and may_be_store(name_or_path):
        return _load_store(name_or_path, options)
    source = find(name_or_path, bool(options.pop("download", False)))
    format = format_named(wanted) if wanted is not None else format_of(source)
    require_labels = bool(options.pop("require_labels", True))
    min_label_rows = options.pop("min_label_rows", 0)
    check_whole("min_label_rows", min_label_rows, 0)
    known = _known_options(format)
    _check_options(format, known, options)
    if not require_labels and "labels" in known:
        options.setdefault("labels", "optional")
    try:
        dataset = format.read(source, **options)
    except MemoryError:
        message = "reading it needs more memory than there is; read it in parts"
        raise FileFormatError(message, source.path) from None
    dataset.format = format.name
    if require_labels and not dataset.is_labelled:
        message = "the file has no labels; it serves prediction only (require_labels=False)"
        raise FileFormatError(message, source.path)
    return dataset.drop_rare_labels(min_label_rows) if min_label_rows else dataset


def may_be_store(name_or_path: Any) -> bool:
    """Tell a store, what is left of one, or an address from a file; what reads it is not loaded."""
    if isinstance(name_or_path, Source):
        return False
    path = str(name_or_path)
    files = (os.path.join(path, name) for name in STORE_FILES)
    return "://" in path or any(map(os.path.isfile, files))


def _load_store(where: Any, options: dict[str, Any]) -> Dataset:
    from rmls.datasets.store import open_store

    require_labels = bool(options.pop("require_labels", True))
    options.pop("download", None)
    if options:
        raise InputError(f"a store is read without options; got {next(iter(options))!r}.")
    dataset = open_store(str(where)).dataset()
    if require_labels and not dataset.is_labelled:
        message = "the store has no labels; it serves prediction only (require_labels=False)"
        raise FileFormatError(message, where)
    return dataset


def find(name_or_path: str | PathLike[str] | Source, download: bool = False) -> Source:
    """Return where data are read from: a file by path or by name, a pipe, standard input (``-``).

    Examples
    --------
    >>> str(find("letters/train.svm"))
    'letters/train.svm'
    """
    is_name = isinstance(name_or_path, str) and not _is_path(name_or_path)
    return Source.of(locate(str(name_or_path), download) if is_name else name_or_path)


def _is_path(text: str) -> bool:
    path = Path(text)
    is_word = len(path.parts) == 1 and path.suffix == "" and text not in (".", "..", "", "-")
    # A bare word is the name of a data set, unless a file or a pipe is called so.
    return not is_word or (os.path.exists(path) and not os.path.isdir(path))


def _known_options(format: Format) -> list[str]:
    parameters = inspect.signature(format.read).parameters.values()
    # Readers declare their options as keyword-only parameters.
    return [item.name for item in parameters if item.kind is item.KEYWORD_ONLY]


def _check_options(format: Format, known: list[str], options: dict[str, Any]) -> None:
    for option in options:
        if option not in known:
            offer = f"it knows {', '.join(known)}" if known else "it takes none"
            raise InputError(f"the {format.name} reader has no option '{option}'; {offer}.")


def save(
    dataset: Dataset,
    path: str | PathLike[str],
    format: str | None = None,
    *,
    overwrite: bool = True,
) -> None:
    """Write a data set; the file appears when it is complete.

    Parameters
    ----------
    dataset : Dataset
    path : str or path
        ``.gz`` or ``.bz2`` behind the ending compresses the text formats.
    format : str, optional
        Name of the format; by default the file ending decides, and ``.txt`` is written as
        extreme-classification text.
    overwrite : bool, default=True
        Replace files of these names; also the lists of names and the ``.xml`` that some formats
        write beside the data. False refuses before anything is written.

    Notes
    -----
    Behind a link it is the file that is replaced, not the link. Devices and pipes are refused.

    Warns
    -----
    RmlsWarning
        When the format cannot hold the split into training and test rows.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.svm.gz"
    >>> save(Dataset([[1, 0]], [[0, 1]], n_train=1), path)
    >>> load(path)
    Dataset('toy': 1 row (1 train + 0 test), 2 features, 2 labels)
    """
    path = Path(path)
    chosen = format_named(format) if format is not None else _format_to_write(path)
    if chosen is None:
        raise InputError(
            f"the ending of {path.name} names no format; "
            "name one with format= (--to on the command line), such as 'npz'."
        )
    if path.suffix.lower() in OPENERS and not chosen.compressible:
        raise InputError(f"{chosen.name} files are compressed already; drop '{path.suffix}'.")
    for target, content in {path: None, **chosen.beside(dataset, path)}.items():
        _check_free(target, content, overwrite)
    chosen.write(dataset, path)
    if dataset.n_train is not None and not chosen.keeps_split:
        warnings.warn(
            f"{path}: the {chosen.name} format cannot hold the split; "
            f"note that the first {dataset.n_train} rows are the training part.",
            RmlsWarning,
            stacklevel=2,
        )


def _check_free(path: Path, content: bytes | None, overwrite: bool) -> None:
    """Refuse what is no file, and a file of other content that must not be replaced."""
    try:
        target = resolve_target(path)
        exists = target.exists() and (content is None or target.read_bytes() != content)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written ({reason}).") from None
    if exists and not overwrite:
        raise InputError(
            f"{path} exists; choose another name or pass overwrite=True "
            "(--overwrite on the command line)."
        )


def _format_to_write(path: Path) -> Format | None:
    return format_named("xmc") if plain_suffix(path) == ".txt" else format_by_extension(path)


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    format: str | None = None,
    *,
    overwrite: bool = True,
) -> Dataset:
    """Load ``source``, with or without labels, save it as ``target`` and return it; see `save`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.txt").write_text("2 3 2\\n0,1 0:1 2:.5\\n 1:2\\n")
    >>> convert(folder / "toy.txt", folder / "toy.npz")
    Dataset('toy': 2 rows, 3 features, 2 labels)
    >>> sorted(file.name for file in folder.iterdir())
    ['toy.npz', 'toy.txt']
    """
    dataset = load(source, require_labels=False)
    save(dataset, target, format, overwrite=overwrite)
    return dataset
