"""One shard of a store on its way to the disk."""

from __future__ import annotations

import json
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.files import sync
from rmls.datasets.store.layout import ARRAYS, IDS, SHARD, FileRecord, ShardRecord, encode
from rmls.datasets.store.places import Place


class Counted:
    """Bytes that were written to a file."""

    def __init__(self) -> None:
        self.size = self.crc = 0

    def write(self, stream: IO[bytes], content: bytes) -> None:
        """Write some more."""
        stream.write(content)
        self.size += len(content)
        self.crc = zlib.crc32(content, self.crc)

    @property
    def record(self) -> FileRecord:
        """Their number and checksum."""
        return FileRecord(self.size, self.crc)


class OpenShard:
    """The files of a shard that is being written."""

    def __init__(
        self, place: Place, name: str, lead: int, tails: dict[str, bytes], has_ids: bool
    ) -> None:
        self.place, self.name, self.lead = place, name, lead
        self.rows = self.entries = self.label_entries = 0
        names = [*ARRAYS, *([IDS] if has_ids else [])]
        self._streams = {file: place.open(f"{name}/{file}", "wb") for file in names}
        self._counted = {file: Counted() for file in names}
        for file, tail in tails.items():
            self._write(file, tail)
        for file in ("X.indptr.bin", "Y.indptr.bin"):
            self._put(file, np.zeros(1))

    def _write(self, file: str, content: bytes) -> None:
        self._counted[file].write(self._streams[file], content)

    def _put(self, file: str, array: NDArray[Any]) -> None:
        self._write(file, np.ascontiguousarray(array, ARRAYS[file]).tobytes())

    def add(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, ids: list[Any] | None) -> None:
        """Write some rows behind those that are there."""
        self._put("X.indptr.bin", X.indptr[1:].astype(np.int64) + self.entries)
        self._put("X.indices.bin", X.indices)
        self._put("X.data.bin", X.data)
        self._put("Y.indptr.bin", Y.indptr[1:].astype(np.int64) + self.label_entries)
        self._put("Y.indices.bin", Y.indices)
        if ids is not None:
            lines = "".join(json.dumps(id, default=str) + "\n" for id in ids)
            self._write(IDS, lines.encode())
        self.rows += int(X.shape[0])
        self.entries += int(X.nnz)
        self.label_entries += int(Y.nnz)

    def close(self) -> ShardRecord:
        """Complete the shard."""
        for stream in self._streams.values():
            if self.place.is_local:
                # Before the record: it must not tell of bytes that a power cut takes away.
                sync(stream)
            stream.close()
        files = {file: counted.record for file, counted in self._counted.items()}
        record = ShardRecord(self.rows, self.entries, self.label_entries, self.lead, files)
        self.place.write(f"{self.name}/{SHARD}", encode(record))
        return record

    def abandon(self) -> None:
        """Leave the files as they are; without a record they count for nothing."""
        for stream in self._streams.values():
            stream.close()
