"""Load data by path or by name, save it, and fetch it into the cache."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import os
import warnings
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from rmls.core.errors import InputError, RmlsWarning
from rmls.datasets._catalogue import ENTRIES, Entry, RemoteFile
from rmls.datasets._download import DownloadError, fetch
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import (
    OPENERS,
    Format,
    format_by_extension,
    format_named,
    format_of,
    formats,
    plain_suffix,
    stem_of,
)

# Name lists end in .txt, as data may do.
NOT_DATA = (".labels", ".features")


def load(name_or_path: str | PathLike[str], **options: Any) -> Dataset:
    """Load a data set by file name, or by its name in the registry.

    Parameters
    ----------
    name_or_path : str or path
        A data file, plain or (text formats) ending in ``.gz`` or ``.bz2``; or a name such as
        ``"enron"``, looked up in the folder ``RMLS_DATA``, then in the cache.
    **options
        ``format`` to name the format; ``download=True`` to fetch a registered data set that is
        not on this machine; anything else goes to the reader of the format.

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
        path = locate(name_or_path, fetch_missing)
    wanted = options.pop("format", None)
    format = format_named(wanted) if wanted is not None else format_of(path)
    _check_options(format, options)
    return format.read(path, **options)


def _is_path(text: str) -> bool:
    path = Path(text)
    # A bare word is the name of a data set, unless a file is called so.
    return len(path.parts) != 1 or path.is_file() or path.suffix != "" or text in (".", "..", "")


def _check_options(format: Format, options: dict[str, Any]) -> None:
    parameters = inspect.signature(format.read).parameters.values()
    # Readers declare their options as keyword-only parameters.
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


class Available(NamedTuple):
    """One line of `available`; sizes are ``None`` for files that the registry does not know."""

    name: str
    n_samples: int | None
    n_features: int | None
    n_labels: int | None
    path: Path | None
    description: str


def cache_dir() -> Path:
    """Return the folder for downloads: ``RMLS_CACHE``, else ``rmls`` in the user's cache.

    Examples
    --------
    >>> cache_dir().name != ""
    True
    """
    if chosen := os.environ.get("RMLS_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "rmls"


def available() -> list[Available]:
    """List the data sets of the registry and those found on this machine, by name.

    Returns
    -------
    list of Available
        ``path`` is ``None`` where the data are not on this machine.

    Examples
    --------
    >>> [item.name for item in available() if item.n_labels == 983]
    ['delicious']
    """
    entries = {entry.name: entry for entry in ENTRIES}
    found = _found()
    lines = []
    for name in sorted({*entries, *found}):
        entry, path = entries.get(name), found.get(name)
        if entry is None:
            lines.append(Available(name, None, None, None, path, "your own file"))
        else:
            sizes = (entry.n_samples, entry.n_features, entry.n_labels)
            lines.append(Available(name, *sizes, path, entry.description))
    return lines


def download(name: str, force: bool = False) -> Path:
    """Fetch a data set of the registry into the cache and return its main file.

    Parameters
    ----------
    name : str
    force : bool, default=False
        Fetch again what is in the cache already.

    Notes
    -----
    Checksums that we know are enforced. Where none is published, the first download is
    trusted: its SHA-256 is kept beside the file and every later use is compared with it.

    Examples
    --------
    >>> download("no such data")
    Traceback (most recent call last):
    rmls.core.errors.InputError: no data set is called 'no such data'; known are: ...
    """
    entry = _entry(name)
    if entry is None:
        raise InputError(f"no data set is called '{name}'; {_suggestion(name)}")
    if not entry.files:
        raise DownloadError(f"{name} has no direct address; {_by_hand(entry)}")
    for file in entry.files:
        target = cache_dir() / file.name
        if force or not target.is_file():
            try:
                digest = fetch(file.url, target, file.sha256)
            except DownloadError as error:
                raise DownloadError(f"{str(error).removesuffix('.')}; {_by_hand(entry)}") from None
            # As sha256sum writes it, so that the program can check it too.
            _sum_file(target).write_text(f"{digest}  {file.name}\n", encoding="utf-8")
        _verify(target, file)
    return cache_dir() / entry.files[0].name


def locate(name: str, fetch_missing: bool = False) -> Path:
    """Return the file of a data set; download it if allowed, else say where it was sought.

    Examples
    --------
    >>> locate("../secrets")
    Traceback (most recent call last):
    rmls.core.errors.InputError: '../secrets' is not the name of a data set.
    """
    # A separator would lead out of the folders that are searched.
    if Path(name).name != name or name in ("", ".", ".."):
        raise InputError(f"'{name}' is not the name of a data set.")
    entry = _entry(name)
    for folder in _folders():
        path = _find(folder, name)
        if path is not None:
            # Only what was fetched is verified; the user's own folder is taken as it is.
            for file in entry.files if entry and folder == cache_dir() else ():
                if (folder / file.name).is_file():
                    _verify(folder / file.name, file)
            return path
    looked = " and ".join(str(folder) for folder in _folders())
    if entry is None:
        raise InputError(
            f"'{name}' is neither a file nor a known data set (looked in {looked}); "
            f"{_suggestion(name)}"
        )
    if fetch_missing:
        return download(name)
    way = _by_hand(entry) if not entry.files else f"fetch it with: rmls datasets download {name}"
    raise InputError(f"{name} is not available (looked in {looked}); {way}")


def _entry(name: str) -> Entry | None:
    return next((entry for entry in ENTRIES if entry.name == name), None)


def _by_hand(entry: Entry) -> str:
    return f"to do it by hand, see {entry.source}: {entry.by_hand}, into {cache_dir()}."


def _suggestion(name: str) -> str:
    known = sorted({*(entry.name for entry in ENTRIES), *_found()})
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are: {', '.join(known)}."


def _folders() -> list[Path]:
    """Return where data are sought: the user's folder first, then the cache."""
    mine = os.environ.get("RMLS_DATA")
    return ([Path(mine).expanduser()] if mine else []) + [cache_dir()]


def _endings() -> list[str]:
    """Return the endings of data files, the fastest format first."""
    ordered = sorted(formats(), key=lambda format: format.name != "npz")
    plain = [ending for format in ordered for ending in format.extensions] + [".txt"]
    return [ending + packed for ending in plain for packed in ("", *OPENERS)]


def _find(folder: Path, name: str) -> Path | None:
    for ending in _endings():
        path = folder / f"{name}{ending}"
        if path.is_file():
            return path
    return None


def _found() -> dict[str, Path]:
    """Return every available data file by name; the user's folder wins over the cache."""
    found: dict[str, Path] = {}
    known = {*(ending for format in formats() for ending in format.extensions), ".txt"}
    for folder in _folders():
        names = sorted(folder.iterdir()) if folder.is_dir() else []
        stems = {stem_of(path).name for path in names if plain_suffix(path) in known}
        for stem in sorted(stem for stem in stems if not stem.endswith(NOT_DATA)):
            path = _find(folder, stem)
            if path is not None:
                found.setdefault(stem, path)
    return found


def _sum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _verify(path: Path, file: RemoteFile) -> None:
    """Compare a cached file with the published checksum, or with the one of its download."""
    expected = file.sha256
    if expected is None and _sum_file(path).is_file():
        expected = _sum_file(path).read_text(encoding="utf-8").split(maxsplit=1)[0]
    # Put there by hand, and no checksum is published.
    if expected is None:
        return
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != expected:
        origin = "published" if file.sha256 else "recorded at its first download"
        raise DownloadError(
            f"{path} has SHA-256 {digest}, not {expected} as {origin}; "
            "delete it, or fetch it again with force=True."
        )
