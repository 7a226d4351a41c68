"""Open a store: its rows stay on disk until they are looked at."""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.disk.mapping import FilePart, map_parts
from rmls.core.errors import FileFormatError, InputError
from rmls.core.resources import require_memory
from rmls.core.sparse import check_csr, is_row_pointer, over_arrays
from rmls.core.words import count
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import check_columns
from rmls.datasets.store.layout import (
    ARRAYS,
    FEATURES,
    IDS,
    LABELS,
    MANIFEST,
    PLAN,
    SHARD,
    TEXT,
    FileRecord,
    Manifest,
    decode_manifest,
    shard_name,
)
from rmls.datasets.store.places import Place, temporary_folder


class Store:
    """Rows on disk, in shards.

    Attributes
    ----------
    name : str
    n_samples, n_features, n_labels : int
    n_train : int or None
        The first so many rows are the training part.
    label_names, feature_names : list of str or None
    X : CSR matrix of float32
        Memory-mapped: what is not looked at takes no memory.
    Y : CSR matrix of int32 ones
        In memory.

    Notes
    -----
    A store behind an address is copied to a scratch folder when ``X`` is asked for; `shard` reads
    one shard and nothing else.
    """

    zero_based = None

    def __init__(self, place: Place, manifest: Manifest) -> None:
        self.place, self.manifest = place, manifest
        self.name, self.n_train = manifest.name, manifest.n_train
        self.n_samples, self.n_features = manifest.rows, manifest.features
        self.n_labels = manifest.labels
        self._held: dict[str, Any] = {}

    def __repr__(self) -> str:
        sizes = {
            "row": self.n_samples,
            "feature": self.n_features,
            "label": self.n_labels,
            "shard": self.n_shards,
        }
        parts = ", ".join(count(number, noun) for noun, number in sizes.items())
        return f"Store({self.name!r}: {parts})"

    def __len__(self) -> int:
        return self.n_samples

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.manifest.shards)

    @property
    def n_bytes(self) -> int:
        """Bytes of the rows."""
        return 8 * (self.manifest.entries + self.n_samples + 1)

    # -- names -----------------------------------------------------------------------------------

    @cached_property
    def label_names(self) -> list[str] | None:
        """Names of the labels."""
        return self._names(LABELS, self.n_labels)

    @cached_property
    def feature_names(self) -> list[str] | None:
        """Names of the features."""
        return self._names(FEATURES, self.n_features)

    def _names(self, file: str, size: int) -> list[str] | None:
        record = self.manifest.files.get(file)
        if record is None:
            return None
        try:
            names = json.loads(self._read(file, record))
        except (ValueError, RecursionError):
            names = None
        if (
            not isinstance(names, list)
            or len(names) != size
            or not all(isinstance(name, str) for name in names)
        ):
            raise FileFormatError("the names are damaged", self.place.path(file))
        return names

    @cached_property
    def ids(self) -> list[Any] | None:
        """Names of the rows, where they have some."""
        parts = [self._ids(number) for number in range(self.n_shards)]
        found = [id for part in parts if part is not None for id in part]
        return found if len(found) == self.n_samples and parts[0] is not None else None

    def _ids(self, number: int) -> list[Any] | None:
        shard = self.manifest.shards[number]
        if IDS not in shard.files:
            return None
        file = f"{shard_name(number)}/{IDS}"
        lines = self._read(file, shard.files[IDS]).decode("utf-8", "replace").splitlines()
        try:
            names = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            names = []
        if len(names) != shard.rows:
            raise FileFormatError("the names of the rows are damaged", self.place.path(file))
        return names

    @property
    def text_folder(self) -> Path | None:
        """The archive of the text features that made the rows, where texts did; on this disk."""
        if not self.manifest.text:
            return None
        if self.place.is_local:
            return self.place.path(TEXT)
        return self._local.place.path(TEXT)

    # -- rows ------------------------------------------------------------------------------------

    @cached_property
    def X(self) -> sparse.csr_matrix:
        """The features of all rows, memory-mapped."""
        if not self.place.is_local:
            return self._local.X
        check_columns(self.place.path(), self.n_features, self.n_labels)
        indices, data = (
            map_parts(self._parts(file), ARRAYS[file]) for file in ("X.indices.bin", "X.data.bin")
        )
        return over_arrays(data, indices, self._join_pointers("X"), self.n_features)

    @cached_property
    def Y(self) -> sparse.csr_matrix:
        """The labels of all rows, in memory."""
        n_entries = sum(shard.label_entries for shard in self.manifest.shards)
        require_memory(16 * n_entries, f"the labels of {self.place}", "train on fewer rows")
        parts = [self._array(number, "Y.indices.bin") for number in range(self.n_shards)]
        indices = np.concatenate(parts).astype(np.int32, copy=False)
        ones = np.ones(len(indices), np.int32)
        indptr = self._join_pointers("Y")
        return self._matrix(ones, indices, indptr, "Y")

    def shard(self, number: int) -> Dataset:
        """Return the rows of one shard, read into memory; no other shard is touched."""
        if not 0 <= number < self.n_shards:
            raise InputError(f"{self.place} has {count(self.n_shards, 'shard')}; got {number}.")
        record = self.manifest.shards[number]
        arrays = {file: self._array(number, file) for file in ARRAYS}
        X, Y = (
            self._matrix(
                arrays["X.data.bin"][record.lead :]
                if which == "X"
                else np.ones(record.label_entries, np.int32),
                arrays[f"{which}.indices.bin"][record.lead if which == "X" else 0 :],
                arrays[f"{which}.indptr.bin"],
                which,
            )
            for which in ("X", "Y")
        )
        return self._dataset(X, Y, None, f"{self.name}/{number}")

    def dataset(self) -> Dataset:
        """Return all rows as a data set; its features stay on disk."""
        return self._dataset(self.X, self.Y, self.n_train, self.name)

    def _dataset(self, X: Any, Y: Any, n_train: int | None, name: str) -> Dataset:
        names = {"label_names": self.label_names, "feature_names": self.feature_names}
        return Dataset(X, Y, n_train=n_train, name=name, format="store", **names)  # type: ignore[arg-type]

    def verify(self) -> None:
        """Read every file and compare it with its checksum; one sentence for the first that fails.

        Opening a store looks at sizes alone.
        """
        for file, record in self.manifest.files.items():
            self._read(file, record)
        for number, shard in enumerate(self.manifest.shards):
            for file, record in shard.files.items():
                name, crc = f"{shard_name(number)}/{file}", 0
                with self._opened(name, record) as stream:
                    while chunk := stream.read(1 << 22):
                        crc = zlib.crc32(chunk, crc)
                if crc != record.crc32:
                    raise FileFormatError("the file has changed", self.place.path(name))

    def _matrix(self, data: Any, indices: Any, indptr: Any, which: str) -> sparse.csr_matrix:
        shape = (len(indptr) - 1, self.n_features if which == "X" else self.n_labels)
        try:
            check_csr(data, indices, indptr, shape, which)
        except InputError as error:
            message = str(error).removesuffix(".")
            raise FileFormatError(message, self.place.path()) from None
        return over_arrays(data, indices, indptr, shape[1])

    def _join_pointers(self, which: str) -> NDArray[np.int64]:
        """Return where the rows of all shards begin."""
        ends = np.zeros(self.n_samples + 1, np.int64)
        row = entry = 0
        for number, shard in enumerate(self.manifest.shards):
            n_entries = shard.entries if which == "X" else shard.label_entries
            own = self._array(number, f"{which}.indptr.bin")
            if not is_row_pointer(own, shard.rows, n_entries):
                place = self.place.path(shard_name(number))
                raise FileFormatError(f"{which}.indptr.bin is damaged; store it again", place)
            ends[row + 1 : row + shard.rows + 1] = own[1:] + entry
            row, entry = row + shard.rows, entry + n_entries
        return ends

    def _parts(self, file: str) -> list[FilePart]:
        return [
            FilePart(
                self.place.path(f"{shard_name(number)}/{file}"),
                shard.files[file].size,
                int(ARRAYS[file][-1]) * shard.lead,
            )
            for number, shard in enumerate(self.manifest.shards)
        ]

    def _array(self, number: int, file: str) -> NDArray[Any]:
        record = self.manifest.shards[number].files[file]
        return np.frombuffer(self._read(f"{shard_name(number)}/{file}", record), ARRAYS[file])

    def _opened(self, file: str, record: FileRecord) -> Any:
        path = self.place.path(file)
        try:
            if self.place.size(file) != record.size:
                message = f"the file has not the {record.size} bytes it should have; store it again"
                raise FileFormatError(message, path)
            return self.place.open(file, "rb")
        except OSError as error:
            raise FileFormatError(error.strerror or "cannot be read", path) from None

    def _read(self, file: str, record: FileRecord) -> bytearray:
        with self._opened(file, record) as stream:
            content = bytearray(stream.read())
        if zlib.crc32(content) != record.crc32:
            raise FileFormatError("the file has changed", self.place.path(file))
        return content

    @cached_property
    def _local(self) -> Store:
        """A copy on this disk, which goes with this store."""
        from rmls.core.disk.scratch import Scratch

        Scratch().require(self.n_bytes, f"a copy of {self.place}")
        folder = temporary_folder(self)
        for file in self.manifest.files:
            self.place.fetch(file, folder / file)
        for number, shard in enumerate(self.manifest.shards):
            for file in shard.files:
                name = f"{shard_name(number)}/{file}"
                self.place.fetch(name, folder / name)
        return Store(Place(folder), self.manifest)


def is_store(where: Any) -> bool:
    """Tell whether a path or an address is a store, or what a killed writer left of one."""
    text = str(where)
    if "://" in text:
        place = Place(text)
        return place.exists(MANIFEST) or place.exists(PLAN)
    return Path(text, MANIFEST).is_file() or Path(text, PLAN).is_file()


def open_store(where: str | Path | Place) -> Store:
    """Open the store in a folder, or behind an address; nothing but its manifest is read.

    Examples
    --------
    >>> open_store("nowhere")
    Traceback (most recent call last):
    rmls.core.errors.FileFormatError: nowhere: there is no store of rows
    """
    place = where if isinstance(where, Place) else Place(where)
    try:
        if not place.exists(MANIFEST):
            reason = "there is no store of rows"
            if place.exists(PLAN) or place.exists(f"{shard_name(0)}/{SHARD}"):
                reason = "the store is not complete; run the command that writes it again"
            raise FileFormatError(reason, str(place))
        content = place.read(MANIFEST)
    except OSError as error:
        raise FileFormatError(error.strerror or "cannot be read", str(place)) from None
    return Store(place, decode_manifest(content, place.path(MANIFEST)))
