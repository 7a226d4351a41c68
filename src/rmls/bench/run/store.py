"""The folder of a study: ``results.jsonl``, one line a result, and ``study.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rmls.bench.run.records import SCHEMA, Record
from rmls.bench.study.grid import Config
from rmls.core.errors import InputError
from rmls.core.files import lock_file, replacing, sync, unlock, write_text

RESULTS = "results.jsonl"
STUDY = "study.json"
LOCK = ".lock"
IN_COMMON = ("study", "protocol")
"""What all results of a folder have in common: they are averaged and compared."""


def make_key(config: Config, checksum: str) -> str:
    """Return the name of a result: the same configuration on the same data has the same name."""
    text = json.dumps([config, checksum], sort_keys=True, allow_nan=False)
    # 64 bits: two of a million results share a key with a chance of 3 in 10⁸.
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class ResultStore:
    """The results of a folder, open for one writer.

    A line that a kill cut short is removed on opening; every line before it is kept.

    Parameters
    ----------
    folder : Path
        Made where it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with ResultStore(folder) as store:
    ...     store.append([{"schema": SCHEMA, "key": "a"}])
    >>> [record["key"] for record in read_results(folder)]
    ['a']
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; results need a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.folder)
        self.path = self.folder / RESULTS
        # Under the lock: no other process is still writing that line.
        _cut_unfinished_line(self.path)
        self.records = read_results(self.folder) if self.path.exists() else []
        self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115

    @property
    def keys(self) -> set[str]:
        """The keys of all results that the folder holds."""
        return {record["key"] for record in self.records}

    def append(self, records: Iterable[Record]) -> None:
        """Write results, and return when they have reached the disk."""
        records = list(records)
        # One write without a buffer: a kill leaves whole lines and at most one that is cut.
        self._stream.write(_lines(records))
        sync(self._stream)
        self.records += records

    def remove_failed(self) -> int:
        """Forget failed results, so that they are run again; returns how many there were."""
        kept = [record for record in self.records if record["status"] == "ok"]
        n_removed = len(self.records) - len(kept)
        if n_removed:
            self._stream.close()
            with replacing(self.path) as stream:
                stream.write(_lines(kept))
            self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115
            self.records = kept
        return n_removed

    def close(self) -> None:
        """Let another process write to the folder."""
        self._stream.close()
        unlock(self._lock)
        self._lock = None

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _lines(records: Iterable[Record]) -> bytes:
    texts = (json.dumps(record, allow_nan=False, ensure_ascii=False) for record in records)
    return "".join(f"{text}\n" for text in texts).encode()


def read_results(folder: Path) -> list[Record]:
    """Return all finished results of a folder; an unfinished last line is passed over."""
    path = Path(folder) / RESULTS
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder} holds no {RESULTS}; is it the folder of a study?") from None
    # A line without its end may be half written by a process that still runs.
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    found: dict[str, Record] = {}
    for number, line in enumerate(lines, start=1):
        record = _read_line(line, f"{path}, line {number}")
        # Of two results with one key the first is kept: figures never change afterwards.
        found.setdefault(record["key"], record)
    return list(found.values())


def _read_line(line: bytes, where: str) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        raise InputError(f"{where} is not JSON; remove the line to go on without it.") from None
    if not isinstance(record, dict) or "key" not in record or "schema" not in record:
        raise InputError(f"{where} is not a result of a study.")
    if record["schema"] != SCHEMA:
        raise InputError(f"{where} has schema {record['schema']}, but this version reads {SCHEMA}.")
    result: Record = record  # type: ignore[assignment]
    return result


def read_current(folder: Path) -> tuple[list[Record], dict[str, Any]]:
    """Return the results of a folder and its ``study.json``.

    Results of a data set that has changed since are left out.
    """
    records, study = read_results(folder), read_study(folder)
    if not records:
        raise InputError(f"{folder} holds no finished result yet.")
    known = {name: facts["checksum"] for name, facts in study.get("datasets", {}).items()}
    return [record for record in records if _is_current(record, known)], study


def _is_current(record: Record, checksums: dict[str, str]) -> bool:
    data = record["data"]
    wanted = checksums.get(record["config"]["dataset"])
    return data is None or wanted in (None, data["checksum"])


def read_study(folder: Path) -> dict[str, Any]:
    """Return what ``study.json`` says of the data sets and the command; empty without it."""
    try:
        value = json.loads((Path(folder) / STUDY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise InputError(f"{Path(folder) / STUDY} is not JSON; it is damaged.") from None
    return dict(value)


def write_study(folder: Path, values: dict[str, Any]) -> None:
    """Write ``study.json``; what an earlier call said of other data sets is kept."""
    old = read_study(folder)
    # Other folds or threads would be averaged into the same means.
    for name in IN_COMMON:
        if name in old and old[name] != values[name]:
            raise InputError(
                f"{folder} holds a study with {name} {old[name]!r}; choose another folder for "
                f"{values[name]!r}."
            )
    missing = {**old.get("missing", {}), **values["missing"]}
    datasets = {**old.get("datasets", {}), **values["datasets"]}
    # A data set that was missing once may be there now.
    missing = {name: text for name, text in missing.items() if name not in datasets}
    merged = {**values, "datasets": datasets, "missing": missing}
    write_text(Path(folder) / STUDY, json.dumps(merged, indent=1, ensure_ascii=False) + "\n")


def _cut_unfinished_line(path: Path) -> None:
    if not path.exists():
        return
    with open(path, "rb+") as stream:
        content = stream.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            stream.truncate(end)


def _lock(folder: Path) -> int | None:
    """Hold the folder until the process ends, however it ends."""
    try:
        return lock_file(folder / LOCK, wait=False)
    except BlockingIOError:
        raise InputError(f"another bench is writing to {folder}; wait for it to end.") from None
