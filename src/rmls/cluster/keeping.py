"""Results of finished parts in a folder, so that a run whose driver has died can go on.

Every result is a file that appears whole. The folder belongs to one training: another one, or the
same with other data or options, is refused.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.disk.named import ROWS
from rmls.core.errors import InputError
from rmls.core.files import replacing, write_text

RUN = "run.json"

Arrays = Sequence[NDArray[Any]]


@dataclass
class Keeper:
    """Arrays by name, in files of a folder; without a folder nothing is kept.

    Attributes
    ----------
    folder : Path or None
    resumes : bool
        Whether results that lie there are taken.
    found : list of str
        Names of the results that were there.
    """

    folder: Path | None = None
    resumes: bool = False
    found: list[str] = field(default_factory=list)

    def settle(self, description: dict[str, Any], n_shards: int) -> int:
        """Say which training the folder is for; returns the shards that it was begun with.

        They stay what they were when the nodes have become more or fewer: the model must not
        depend on that.
        """
        if self.folder is None:
            return n_shards
        path = self.folder / RUN
        if self.resumes and path.is_file():
            return self._check(path, description)
        self._empty()
        write_text(path, json.dumps({**description, "n_shards": n_shards}))
        return n_shards

    def _check(self, path: Path, description: dict[str, Any]) -> int:
        try:
            earlier = json.loads(path.read_text("utf-8"))
            n_shards = int(earlier.pop("n_shards"))
        except (ValueError, KeyError, AttributeError):
            raise InputError(f"{path} cannot be read; train without --resume.") from None
        differ = [name for name in description if earlier.get(name) != description[name]]
        if differ:
            raise InputError(
                f"{self.folder} holds a training with other {' and '.join(differ)}; give the same "
                "data and options, or train without --resume."
            )
        return n_shards

    def _empty(self) -> None:
        """Remove what an earlier training has left."""
        assert self.folder is not None
        for path in (*self.folder.glob("*.npz"), self.folder / RUN):
            path.unlink(missing_ok=True)

    def remove_rows(self) -> None:
        """Remove rows that a training has laid out; one that is resumed lays them out again."""
        for path in () if self.folder is None else self.folder.glob(f"{ROWS}*"):
            shutil.rmtree(path, ignore_errors=True)

    def get(self, name: str) -> list[NDArray[Any]] | None:
        """Return the arrays of a finished part, or None."""
        path = self._path(name)
        if path is None or not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = [file[key] for key in file.files]
        except (OSError, ValueError, zipfile.BadZipFile, EOFError):
            # Whatever happened to the file, the part can be made again.
            return None
        self.found.append(name)
        return arrays

    def put(self, name: str, arrays: Arrays) -> None:
        """Keep the arrays of a part."""
        path = self._path(name)
        if path is not None:
            with replacing(path) as stream:
                np.savez(stream, *(np.asarray(array) for array in arrays))

    def drop(self, name: str) -> None:
        """Forget a part."""
        path = self._path(name)
        if path is not None:
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}.npz"


_CURRENT: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


def current_keeper() -> Keeper:
    """Return what the training under way keeps its results with."""
    return _CURRENT.get() or Keeper()


@contextmanager
def keeping(folder: str | Path, *, resume: bool = False) -> Iterator[Keeper]:
    """Keep the finished parts of trainings on a cluster in a folder, and take those that are there.

    Parameters
    ----------
    folder : str or path
        Made where it is missing. It stays where parts lie in it: remove it when the model is saved.
    resume : bool, default=False
        Whether parts that lie there are taken.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "an error"
        raise InputError(f"{path} cannot be made ({reason}); name another folder.") from None
    keeper = Keeper(path, resume)
    keeper.remove_rows()
    token = _CURRENT.set(keeper)
    try:
        yield keeper
    finally:
        _CURRENT.reset(token)
        keeper.remove_rows()
        # What was refused before it began leaves nothing: only an empty folder can be removed so.
        with suppress(OSError):
            path.rmdir()
