"""Data files and the name lists beside them, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

from rmls.core.errors import InputError
from rmls.core.files import replacing_together
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import OPENERS, check_name, names_beside

# That of the gzip program.
LEVEL = 6
NOTHING: Mapping[Path, bytes] = MappingProxyType({})


def write_atomic(path: Path, chunks: Iterable[bytes], beside: Mapping[Path, bytes]) -> None:
    """Write the chunks to ``path`` and the contents ``beside`` it: all files, or none."""

    def fill(stream: IO[bytes]) -> None:
        opener = OPENERS.get(path.suffix.lower())
        if opener is None:
            stream.writelines(chunks)
        else:
            with opener(stream, "wb", compresslevel=LEVEL) as packed:
                packed.writelines(chunks)

    replace_file(path, fill, beside)


def replace_file(
    path: Path, fill: Callable[[IO[bytes]], None], beside: Mapping[Path, bytes] = NOTHING
) -> None:
    """Let ``fill`` write a hidden file beside ``path``, then rename it to ``path``.

    The contents ``beside`` it get their names at the same time.
    """
    for file in (path, *beside):
        check_name(file)
        if os.path.isdir(file):
            raise InputError(f"{file} is a folder; give a file name to write to.")
    try:
        with replacing_together([path, *beside]) as streams:
            fill(streams[0])
            for stream, content in zip(streams[1:], beside.values(), strict=True):
                stream.write(content)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written ({reason}).") from None


def check_names_writable(dataset: Dataset, path: Path) -> None:
    """Refuse to leave a name list beside ``path`` that belongs to other data."""
    for kind, names_file, names in names_beside(dataset, path):
        if names is None and os.path.exists(names_file):
            raise InputError(
                f"{names_file} would give names to {path.name}, but the data set has no {kind} "
                "names; move that file away or write under another name."
            )
