"""Write a store shard by shard; a writer that was killed goes on where it was."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from rmls.core.disk.mapping import lead_of
from rmls.core.errors import FileFormatError, InputError
from rmls.core.files import lock_folder, unlock
from rmls.core.sparse import as_feature_csr, as_label_csr
from rmls.datasets.dataset import Dataset
from rmls.datasets.store.layout import (
    FEATURES,
    JOINED,
    LABELS,
    LEARNED,
    LEARNED_TEXT,
    MANIFEST,
    PLAN,
    SHARD,
    TEXT,
    FileRecord,
    Manifest,
    ShardRecord,
    decode_shard,
    decode_values,
    encode,
    encode_values,
    shard_name,
)
from rmls.datasets.store.places import Place
from rmls.datasets.store.shards import Counted, OpenShard

DEFAULT_SHARD_ROWS = 100_000
# Rows of a matrix that are written at a time.
BLOCK_ROWS = 4096
WIDTH = 4


class StoreWriter:
    """Rows on their way into a store.

    Parameters
    ----------
    where : str, Path or Place
        A folder that is empty, new, or holds what a writer with the same plan has left.
    n_features, n_labels : int
    source : dict
        What is stored, in plain values. A writer goes on only with what has the same source.
    shard_rows : int
    has_ids : bool
        Whether every row has a name.
    overwrite : bool
        Replace another store.

    Attributes
    ----------
    n_rows : int
        Rows in the store so far: those that are not to be added again.

    Notes
    -----
    A shard counts when its ``shard.json`` stands, the store when its manifest does.

    Examples
    --------
    >>> import tempfile
    >>> from rmls.datasets.store import open_store
    >>> with StoreWriter(tempfile.mkdtemp(), 3, 1, shard_rows=2) as writer:
    ...     writer.add([[1, 0, 0], [0, 2, 0], [0, 0, 3]], [[1], [0], [1]])
    ...     _ = writer.finish()
    >>> open_store(writer.place).X.toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """

    def __init__(
        self,
        where: str | Path | Place,
        n_features: int,
        n_labels: int,
        *,
        source: dict[str, Any] | None = None,
        shard_rows: int = DEFAULT_SHARD_ROWS,
        has_ids: bool = False,
        overwrite: bool = False,
    ) -> None:
        if shard_rows < 1:
            raise InputError(f"a shard needs at least one row; got {shard_rows}.")
        self.place = where if isinstance(where, Place) else Place(where)
        self.n_features, self.n_labels = n_features, n_labels
        self.shard_rows, self.has_ids = shard_rows, has_ids
        self._source = json.loads(json.dumps(source or {}))
        self._shards: list[ShardRecord] = []
        self._open: OpenShard | None = None
        self._lock = _prepare(self.place)
        try:
            self._start(overwrite)
        except BaseException:
            unlock(self._lock)
            raise

    @property
    def n_rows(self) -> int:
        """Rows in the store so far."""
        return sum(shard.rows for shard in self._shards) + (self._open.rows if self._open else 0)

    @property
    def n_entries(self) -> int:
        """Stored entries of ``X`` in the shards that are complete."""
        return sum(shard.entries for shard in self._shards)

    def _start(self, overwrite: bool) -> None:
        plan = {
            "source": self._source,
            "shard_rows": self.shard_rows,
            "features": self.n_features,
            "labels": self.n_labels,
            "ids": self.has_ids,
        }
        if self.place.exists(MANIFEST) and not overwrite:
            raise InputError(
                f"{self.place} holds a store; choose another name or pass overwrite=True "
                "(--overwrite on the command line)."
            )
        unfinished = not self.place.exists(MANIFEST) and self.place.exists(PLAN)
        if unfinished and _read_plan(self.place) == plan:
            self._go_on()
            return
        if unfinished and not overwrite:
            raise InputError(
                f"{self.place} holds a part of a store of other rows or options; delete it, or "
                "pass overwrite=True (--overwrite on the command line)."
            )
        _clear(self.place)
        self.place.write(PLAN, encode_values(plan))

    def _go_on(self) -> None:
        """Take up the shards that are complete."""
        while self.place.exists(f"{shard_name(len(self._shards))}/{SHARD}"):
            name = f"{shard_name(len(self._shards))}/{SHARD}"
            self._shards.append(decode_shard(self.place.read(name), self.place.path(name)))
        # All shards but the last are full: one that is not was the end of other rows.
        if any(shard.rows != self.shard_rows for shard in self._shards):
            short = next(i for i, s in enumerate(self._shards) if s.rows != self.shard_rows)
            del self._shards[short:]

    def add(self, X: Any, Y: Any = None, ids: Sequence[Any] | None = None) -> None:
        """Add rows, in their order."""
        X = as_feature_csr(X)
        n_rows = int(X.shape[0])
        Y = as_label_csr(np.zeros((n_rows, 0), np.int32) if Y is None else Y)
        if X.shape != (n_rows, self.n_features) or Y.shape != (n_rows, self.n_labels):
            raise InputError(
                f"rows of {X.shape[1]} features and {Y.shape[1]} labels were added to a store of "
                f"{self.n_features} and {self.n_labels}."
            )
        if self.has_ids and (ids is None or len(ids) != n_rows):
            raise InputError("every row of this store needs a name.")
        if not np.isfinite(X.data).all():
            raise InputError("X holds a value that is not finite; replace nan and inf first.")
        start = 0
        while start < n_rows:
            shard = self._open = self._open or self._begin()
            stop = min(n_rows, start + self.shard_rows - shard.rows)
            part = slice(start, stop)
            shard.add(X[part], Y[part], list(ids[part]) if self.has_ids and ids else None)
            if shard.rows == self.shard_rows:
                self._end()
            start = stop

    def _begin(self) -> OpenShard:
        name, before = shard_name(len(self._shards)), self.n_entries
        self.place.remove(name)
        self.place.make(name)
        lead = lead_of(WIDTH * before) // WIDTH
        tails = {file: self._tail(file, lead) for file in JOINED}
        return OpenShard(self.place, name, lead, tails, self.has_ids)

    def _tail(self, file: str, count: int) -> bytes:
        """Return the last entries before the next shard."""
        if not count:
            return b""
        last = len(self._shards) - 1
        size = self._shards[last].files[file].size
        with self.place.open(f"{shard_name(last)}/{file}", "rb") as stream:
            stream.seek(size - WIDTH * count)
            found = stream.read(WIDTH * count)
        if len(found) != WIDTH * count:
            raise FileFormatError("the file is cut off", self.place.path(shard_name(last)))
        return found

    def _end(self) -> None:
        if self._open is not None:
            self._shards.append(self._open.close())
            self._open = None

    def finish(
        self,
        *,
        name: str | None = None,
        label_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        n_train: int | None = None,
        text: Path | None = None,
    ) -> Manifest:
        """Write the last shard, the names and the manifest; ``text`` is a folder to copy."""
        self._end()
        if not self._shards:
            self._open = self._begin()
            self._end()
        files = {}
        for file, names in ((LABELS, label_names), (FEATURES, feature_names)):
            if names is not None:
                content = json.dumps(list(names), ensure_ascii=False).encode()
                self.place.write(file, content)
                files[file] = FileRecord(len(content), zlib.crc32(content))
        if text is not None:
            files |= copy_folder(text, self.place, TEXT)
        manifest = Manifest(
            name or self.place.name,
            self.n_rows,
            self.n_features,
            self.n_labels,
            self.n_entries,
            n_train,
            self._shards,
            files,
            self._source,
            text is not None,
        )
        self.place.write(MANIFEST, encode(manifest))
        for left in (PLAN, LEARNED, LEARNED_TEXT):
            self.place.remove(left)
        return manifest

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._open is not None:
            self._open.abandon()
        unlock(self._lock)


def write_store(
    data: Dataset,
    where: str | Path,
    *,
    shard_rows: int = DEFAULT_SHARD_ROWS,
    overwrite: bool = False,
    source: dict[str, Any] | None = None,
) -> None:
    """Write a data set as a store.

    Examples
    --------
    >>> import tempfile
    >>> from rmls.datasets.store import open_store
    >>> folder = Path(tempfile.mkdtemp()) / "rows"
    >>> write_store(Dataset([[1, 0], [0, 2]], [[1], [0]], label_names=["tax"]), folder)
    >>> open_store(folder)
    Store('dataset': 2 rows, 2 features, 1 label, 1 shard)
    """
    sizes = (data.n_features, data.n_labels)
    more = {"source": source, "shard_rows": shard_rows, "overwrite": overwrite}
    with StoreWriter(where, *sizes, **more) as writer:  # type: ignore[arg-type]
        for start in range(writer.n_rows, data.n_samples, BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            writer.add(data.X[part], data.Y[part])
        names = {"label_names": data.label_names, "feature_names": data.feature_names}
        writer.finish(name=data.name, n_train=data.n_train, **names)  # type: ignore[arg-type]


def copy_folder(folder: Path, place: Place, name: str) -> dict[str, FileRecord]:
    """Copy the files of a folder on this disk into one of a store; returns what was written."""
    place.make(name)
    files = {}
    for file in sorted(folder.iterdir()):
        target, counted = f"{name}/{file.name}", Counted()
        with open(file, "rb") as stream, place.open(target, "wb") as copy:
            while chunk := stream.read(1 << 22):
                counted.write(copy, chunk)
        files[target] = counted.record
    return files


def _prepare(place: Place) -> int | None:
    """Make the folder, refuse one that holds other things, and lock it."""
    known = {MANIFEST, PLAN, LABELS, FEATURES, TEXT, LEARNED, LEARNED_TEXT}
    try:
        others = [
            name
            for name in place.listing()
            if name not in known and not name.startswith(("shard-", "."))
        ]
        if others:
            raise InputError(f"{place} holds other files, such as {others[0]}; name a new folder.")
        place.make()
        return lock_folder(place.path(), wait=False) if place.is_local else None
    except BlockingIOError:
        raise InputError(f"another process is writing {place}; wait for it.") from None
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror or error}).") from None


def _read_plan(place: Place) -> dict[str, Any]:
    try:
        return decode_values(place.read(PLAN), place.path(PLAN))
    except FileFormatError:
        return {}


def _clear(place: Place) -> None:
    """Delete a store; its manifest goes first."""
    for name in (MANIFEST, PLAN, LABELS, FEATURES, TEXT):
        place.remove(name)
    for name in place.listing():
        if name.startswith("shard-"):
            place.remove(name)
