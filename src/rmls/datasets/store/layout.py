"""What lies in the folder of a store, and its manifest.

=====================  =========================================================================
``plan.json``          what is being stored: written first, so that a killed writer can go on
``learned.json``       what a first pass over texts has learned, with their features in
                       ``learned/``; both are gone when the store is complete
``shard-00000/``       rows: ``X.indptr``, ``X.indices``, ``X.data``, ``Y.indptr``, ``Y.indices``
                       (little-endian, ``.bin``), ``ids.jsonl``; ``shard.json`` is written last
``labels.json``        names of the labels; ``features.json`` those of the features
``text/``              the archive of the text features that made the rows
``store.json``         the manifest: written last of all, without it there is no store
=====================  =========================================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError
from rmls.core.words import shorten

MANIFEST, PLAN, SHARD = "store.json", "plan.json", "shard.json"
LABELS, FEATURES, IDS, TEXT = "labels.json", "features.json", "ids.jsonl", "text"
LEARNED, LEARNED_TEXT = "learned.json", "learned"
KIND, VERSION = "rmls store", 1
# The arrays of a shard by file, with their types.
ARRAYS = {
    "X.indptr.bin": "<i8",
    "X.indices.bin": "<i4",
    "X.data.bin": "<f4",
    "Y.indptr.bin": "<i8",
    "Y.indices.bin": "<i4",
}
# Those that are mapped as one array over all shards.
JOINED = ("X.indices.bin", "X.data.bin")


@dataclass(frozen=True)
class FileRecord:
    """Bytes of a file, and their CRC-32."""

    size: int
    crc32: int


@dataclass(frozen=True)
class ShardRecord:
    """One shard.

    Attributes
    ----------
    rows, entries, label_entries : int
        Rows, stored entries of ``X`` and of ``Y``.
    lead : int
        Entries of ``X`` that its files repeat from the shards before it.
    files : dict of str to FileRecord
    """

    rows: int
    entries: int
    label_entries: int
    lead: int
    files: dict[str, FileRecord]

    def check(self, path: Path) -> None:
        """Raise a sentence where the sizes do not belong together."""
        counts = {
            "X.indptr.bin": self.rows + 1,
            "X.indices.bin": self.lead + self.entries,
            "X.data.bin": self.lead + self.entries,
            "Y.indptr.bin": self.rows + 1,
            "Y.indices.bin": self.label_entries,
        }
        for name, count in counts.items():
            width = int(ARRAYS[name][-1])
            if name not in self.files or self.files[name].size != count * width:
                raise FileFormatError(f"the sizes of {name} do not fit; store it again", path)


@dataclass(frozen=True)
class Manifest:
    """What a store holds."""

    name: str
    rows: int
    features: int
    labels: int
    entries: int
    n_train: int | None
    shards: list[ShardRecord]
    files: dict[str, FileRecord] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    text: bool = False


def encode(record: Any) -> bytes:
    """Return a manifest or the record of a shard as JSON."""
    return encode_values(asdict(record))


def encode_values(values: dict[str, Any]) -> bytes:
    """Return plain values as the JSON of a store."""
    return (json.dumps({"kind": KIND, "version": VERSION, **values}, indent=1) + "\n").encode()


def decode_values(content: bytes, path: Path) -> dict[str, Any]:
    """Return the values of a JSON file of a store; one sentence where it is none of ours."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        raise FileFormatError("the file is damaged; store the rows again", path) from None
    if not isinstance(values, dict) or values.pop("kind", None) != KIND:
        raise FileFormatError("the file does not belong to a store of rows", path)
    version = values.pop("version", None)
    if version != VERSION:
        raise FileFormatError(
            f"the store has version {shorten(str(version))} and this program reads {VERSION}; "
            "use a newer rmls",
            path,
        )
    return values


def decode_shard(content: bytes, path: Path) -> ShardRecord:
    """Return the record of a shard."""
    return _shard(decode_values(content, path), path)


def decode_manifest(content: bytes, path: Path) -> Manifest:
    """Return the manifest of a store, its numbers checked."""
    values = decode_values(content, path)
    try:
        shards = [_shard(shard, path) for shard in values.pop("shards")]
        files = _files(values.pop("files"), path)
        found = Manifest(shards=shards, files=files, **values)
    except (TypeError, KeyError, AttributeError):
        raise FileFormatError("the manifest is damaged; store the rows again", path) from None
    numbers = [found.rows, found.features, found.labels, found.entries]
    if found.n_train is not None:
        numbers.append(found.n_train)
    sums = [sum(shard.rows for shard in shards), sum(shard.entries for shard in shards)]
    if (
        not all(map(_is_count, numbers))
        or sums != [found.rows, found.entries]
        or (found.n_train or 0) > found.rows
        or not isinstance(found.name, str)
        or not isinstance(found.text, bool)
    ):
        raise FileFormatError("the numbers of the manifest do not add up", path)
    return found


def _shard(values: Any, path: Path) -> ShardRecord:
    try:
        record = ShardRecord(**{**values, "files": _files(values["files"], path)})
    except (TypeError, KeyError, AttributeError):
        raise FileFormatError("the record of a shard is damaged", path) from None
    if not all(map(_is_count, (record.rows, record.entries, record.label_entries, record.lead))):
        raise FileFormatError("the record of a shard is damaged", path)
    record.check(path)
    return record


def _files(values: Any, path: Path) -> dict[str, FileRecord]:
    files = {name: FileRecord(**record) for name, record in values.items()}
    if not all(_is_count(file.size) and _is_count(file.crc32) for file in files.values()):
        raise FileFormatError("the record of a file is damaged", path)
    return files


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def shard_name(number: int) -> str:
    """Return the folder of a shard.

    Examples
    --------
    >>> shard_name(3)
    'shard-00003'
    """
    return f"shard-{number:05d}"
