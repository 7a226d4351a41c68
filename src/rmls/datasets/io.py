"""`load`, `save` and `convert`: one door to every format and to the registry."""

from __future__ import annotations

import inspect
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from rmls.core.errors import InputError, RmlsWarning
from rmls.datasets._files import OPENERS, plain_suffix
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, format_by_extension, format_named, format_of


def load(name_or_path: str | PathLike[str], **options: Any) -> Dataset:
    """Load a data set by file name, or by its name in the registry.

    Parameters
    ----------
    name_or_path : str or path
        A data file, plain or (text formats) ending in ``.gz`` or ``.bz2``; or a name such as
        ``"enron"``, looked up in the folder ``RMLS_DATA``, then in the cache.
    **options
        ``format`` to name the format; ``download=True`` to fetch a registered data set that is
        not at hand; anything else goes to the reader of the format.

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
    path = Path(name_or_path)
    fetch_missing = bool(options.pop("download", False))
    if isinstance(name_or_path, str) and not _is_path(name_or_path):
        from rmls.datasets.registry import locate

        path = locate(name_or_path, fetch_missing)
    wanted = options.pop("format", None)
    format = format_named(wanted) if wanted is not None else format_of(path)
    _check_options(format, options)
    return format.read(path, **options)


def _is_path(text: str) -> bool:
    path = Path(text)
    return len(path.parts) != 1 or path.is_file() or path.suffix != "" or text in (".", "..", "")


def _check_options(format: Format, options: dict[str, Any]) -> None:
    parameters = inspect.signature(format.read).parameters.values()
    known = [item.name for item in parameters if item.kind is item.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            offer = f"it knows {', '.join(known)}" if known else "it takes none"
            raise InputError(f"the {format.name} reader has no option '{option}'; {offer}.")


def save(dataset: Dataset, path: str | PathLike[str], format: str | None = None) -> None:
    """Write a data set; the file appears when it is complete.

    Parameters
    ----------
    dataset : Dataset
    path : str or path
        ``.gz`` or ``.bz2`` behind the ending compresses the text formats.
    format : str, optional
        Name of the format; by default the file ending decides, and ``.txt`` is written as
        extreme-classification text.

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
    chosen.write(dataset, path)
    if dataset.n_train is not None and not chosen.keeps_split:
        warnings.warn(
            f"{path}: the {chosen.name} format cannot hold the split; "
            f"note that the first {dataset.n_train} rows are the training part.",
            RmlsWarning,
            stacklevel=2,
        )


def _format_to_write(path: Path) -> Format | None:
    return format_named("xmc") if plain_suffix(path) == ".txt" else format_by_extension(path)


def convert(
    source: str | PathLike[str], target: str | PathLike[str], format: str | None = None
) -> Dataset:
    """Load ``source``, save it as ``target`` and return it.

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
    dataset = load(source)
    save(dataset, target, format)
    return dataset
