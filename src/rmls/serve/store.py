"""The models of a service: opened once, and taken up anew when their folders change."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rmls
from rmls.archive.layout import MANIFEST_NAME
from rmls.core.errors import RmlsError
from rmls.serve.labels import LabelTable
from rmls.serve.problems import Problem
from rmls.serve.texts import columns_of

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Served:
    """A model as it stood in its folder at some time; requests keep the one they began with.

    Attributes
    ----------
    name : str
    path : Path
    model : TextRanker
    stamp : tuple
        Tells one state of the folder from another.
    since : float
        When it was opened, in seconds since 1970.
    labels : LabelTable
    """

    name: str
    path: Path
    model: Any
    stamp: Stamp
    since: float
    labels: LabelTable


class ModelStore:
    """Models by name; the first is the one that requests mean when they name none."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = dict(paths)
        self._served = {name: open_model(name, path) for name, path in self._paths.items()}
        self._lock = threading.Lock()
        self.failures: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """The names, in the order they were given."""
        return list(self._paths)

    def get(self, name: str | None = None) -> Served:
        """Return a model as it is now."""
        wanted = self.names[0] if name is None else name
        if wanted not in self._served:
            raise Problem(404, f"there is no model {wanted!r}.")
        return self._served[wanted]

    def refresh(self) -> list[str]:
        """Open models whose folders have changed; return the names of those taken up.

        A model that cannot be opened is left as it was, and why is kept in ``failures``.
        """
        taken = []
        with self._lock:
            for name, path in self._paths.items():
                try:
                    if read_stamp(path) == self._served[name].stamp:
                        continue
                    fresh = open_model(name, path)
                except (OSError, RmlsError) as error:
                    self.failures[name] = str(error)
                    continue
                self.failures.pop(name, None)
                # Requests under way keep the old one, whose files stay mapped until they are done.
                self._served[name] = fresh
                taken.append(name)
        return taken


def open_model(name: str, path: Path) -> Served:
    """Open the model of a folder."""
    # Where there is no model, `load` says so.
    stamp = read_stamp(path) if (path / MANIFEST_NAME).exists() else (0, 0, 0)
    model: Any = rmls.load(path)
    if not hasattr(model, "suggest"):
        raise RmlsError(f"{path} was trained on features; a service needs a model of texts.")
    prepare(model)
    return Served(name, path, model, stamp, time.time(), LabelTable.of(model))


def prepare(model: Any) -> None:
    """Let a model work on one thread, and load what its first answer needs."""
    # Requests are what runs side by side.
    model.set_params(n_jobs=1)
    for part in (model.features_, model.estimator_):
        if "n_jobs" in part.get_params(deep=False):
            part.set_params(n_jobs=1)
    columns = columns_of(model)
    if columns is None or model.features_.fields_:
        model.rank(["a text"], 1)


def read_stamp(path: Path) -> Stamp:
    """Return what changes when a model is written anew."""
    found = os.stat(path / MANIFEST_NAME)
    return found.st_ino, found.st_mtime_ns, found.st_size
