"""The folder of a study: ``results.jsonl``, one line a result, and ``study.json``."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from rmls.bench.records import SCHEMA, Config, Record
from rmls.core.errors import InputError

RESULTS = "results.jsonl"
STUDY = "study.json"
LOCK = ".lock"
SAME = ("study", "protocol")
"""What all results of a folder have in common: they are averaged and compared."""


def make_key(config: Config, checksum: str) -> str:
    """Return the name of a result: the same configuration on the same data has the same name."""
    text = json.dumps([config, checksum], sort_keys=True, allow_nan=False)
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
        _cut_unfinished_line(self.path)
        self.records = read_results(self.folder) if self.path.exists() else []
        self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115

    def append(self, records: Iterable[Record]) -> None:
        """Write results, and return when they have reached the disk."""
        records = list(records)
        lines = [json.dumps(record, allow_nan=False, ensure_ascii=False) for record in records]
        self._stream.write("".join(f"{line}\n" for line in lines).encode())
        os.fsync(self._stream.fileno())
        self.records += records

    def remove_failed(self) -> int:
        """Forget failed results, so that they are run again; returns how many there were."""
        kept = [record for record in self.records if record["status"] == "ok"]
        n_removed = len(self.records) - len(kept)
        if n_removed:
            lines = (json.dumps(r, allow_nan=False, ensure_ascii=False) for r in kept)
            self._stream.close()
            write_text(self.path, "".join(f"{line}\n" for line in lines))
            self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115
            self.records = kept
        return n_removed

    def close(self) -> None:
        """Let another process write to the folder."""
        self._stream.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_results(folder: Path) -> list[Record]:
    """Return all finished results of a folder; an unfinished last line is passed over."""
    path = Path(folder) / RESULTS
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder} holds no {RESULTS}; is it the folder of a study?") from None
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    found: dict[str, Record] = {}
    for number, line in enumerate(lines, start=1):
        record = _read_line(line, f"{path}, line {number}")
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
    for name in SAME:
        if name in old and old[name] != values[name]:
            raise InputError(
                f"{folder} holds a study with {name} {old[name]!r}; choose another folder for "
                f"{values[name]!r}."
            )
    missing = {**old.get("missing", {}), **values["missing"]}
    datasets = {**old.get("datasets", {}), **values["datasets"]}
    missing = {name: text for name, text in missing.items() if name not in datasets}
    merged = {**values, "datasets": datasets, "missing": missing}
    write_text(Path(folder) / STUDY, json.dumps(merged, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that appears under its name when it is complete."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


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
        import fcntl
    except ImportError:
        return None
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(f"another bench is writing to {folder}; wait for it to end.") from None
    return descriptor
