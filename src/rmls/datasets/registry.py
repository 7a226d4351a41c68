"""Data sets by name: what is known, what is on this machine, and what can be fetched."""

from __future__ import annotations

import difflib
import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from rmls.core.errors import InputError
from rmls.core.words import shorten
from rmls.datasets._catalogue import ENTRIES, Entry, RemoteFile
from rmls.datasets._download import DownloadError, fetch
from rmls.datasets.formats import OPENERS, formats, plain_suffix, stem_of

# Name lists end in .txt, as data may do.
NOT_DATA = (".labels", ".features")
# As long as a file system allows; comparing longer ones takes quadratic time.
LONGEST_NAME = 255


class Available(NamedTuple):
    """One line of `available`; sizes are ``None`` for files that the registry does not know."""

    name: str
    n_samples: int | None
    n_features: int | None
    n_labels: int | None
    path: Path | None
    description: str
    can_download: bool = False


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
            lines.append(Available(name, *sizes, path, entry.description, bool(entry.files)))
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
    rmls.core.errors.InputError: no data set to download is called 'no such data'; there are: ...
    """
    entry = downloadable(name)
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


def downloadable(name: str) -> Entry:
    """Return what the registry knows of a data set, or say why it cannot be fetched."""
    entry = _entry(name)
    if entry is None:
        raise InputError(_cannot_download(name))
    if not entry.files:
        raise DownloadError(f"{name} has no direct address; {_by_hand(entry)}")
    return entry


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
        raise InputError(f"'{shorten(name)}' is not the name of a data set.")
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
            f"'{shorten(name)}' is neither a file nor a known data set (looked in {looked}); "
            f"{_suggestion(name, _known_names())}"
        )
    if fetch_missing:
        return download(name)
    way = _by_hand(entry) if not entry.files else f"fetch it with: rmls datasets download {name}"
    raise InputError(f"{name} is not available (looked in {looked}); {way}")


def _entry(name: str) -> Entry | None:
    return next((entry for entry in ENTRIES if entry.name == name), None)


def _by_hand(entry: Entry) -> str:
    return f"to do it by hand, see {entry.source}: {entry.by_hand}, into {cache_dir()}."


def _known_names() -> list[str]:
    return sorted({*(entry.name for entry in ENTRIES), *_found()})


def _suggestion(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name[:LONGEST_NAME], known, n=3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"there are: {', '.join(known)}."


def _cannot_download(name: str) -> str:
    """Say why a name outside the registry is not fetched, and what can be."""
    fetched = [entry.name for entry in ENTRIES if entry.files]
    path = _found().get(name)
    if path is not None:
        return (
            f"{name} is a file of your own ({path}) and needs no download: commands take its name; "
            f"what can be downloaded: {', '.join(fetched)}."
        )
    registered = [entry.name for entry in ENTRIES]
    return f"no data set to download is called '{shorten(name)}'; {_suggestion(name, registered)}"


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
        # Also False for names that no file can have.
        if os.path.isfile(path):
            return path
    return None


def _found() -> dict[str, Path]:
    """Return every available data file by name; the user's folder wins over the cache."""
    found: dict[str, Path] = {}
    known = {*(ending for format in formats() for ending in format.extensions), ".txt"}
    for folder in _folders():
        try:
            names = sorted(folder.iterdir())
        except OSError:
            # Not there, or not to be read.
            continue
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
