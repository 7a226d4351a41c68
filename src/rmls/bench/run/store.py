"""The folder of a study: ``results.jsonl``, one line a result, and ``study.json``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rmls.bench.run.checks import Damage, check_record, check_study
from rmls.bench.run.records import SCHEMA, Record
from rmls.bench.study.grid import Config
from rmls.core.errors import InputError
from rmls.core.files import lock_file, replacing, sync, unlock, write_text

RESULTS = "results.jsonl"
CUT = "results.cut"
# How every line begins.
BEGINNING = '{"schema": '
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

    What is no whole line is moved to ``results.cut`` on opening: the end of a line that a kill cut
    short, and the beginning of one that an older version glued to the next.

    Parameters
    ----------
    folder : Path
        Made where it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with ResultStore(folder) as store:
    ...     store.append([])
    >>> read_results(folder)
    []
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; results need a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.folder)
        self.path = self.folder / RESULTS
        # Under the lock: no other process is still writing that line.
        _mend(self.path)
        self.records = read_results(self.folder) if self.path.exists() else []
        self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115
        self._end = os.fstat(self._stream.fileno()).st_size

    @property
    def keys(self) -> set[str]:
        """The keys of all results that the folder holds."""
        return {record["key"] for record in self.records}

    def append(self, records: Iterable[Record]) -> None:
        """Write results, and return when they have reached the disk: all of them, or none."""
        records = list(records)
        content = memoryview(_lines(records))
        # Where a piece could not be taken back before.
        self._take_back()
        try:
            # A full disk takes a part of a write and refuses the rest.
            while content:
                content = content[self._stream.write(content) or 0 :]
            sync(self._stream)
        except OSError as error:
            self._take_back()
            raise InputError(
                f"{self.path} cannot be written ({error.strerror or error}); make room and start "
                "again: what it holds is kept."
            ) from error
        except BaseException:
            # Ctrl-C behind the last byte leaves whole lines, which may have been read already.
            if content:
                self._take_back()
            else:
                self._keep(records)
            raise
        self._keep(records)

    def _keep(self, records: list[Record]) -> None:
        self._end = os.fstat(self._stream.fileno()).st_size
        self.records += records

    def _take_back(self) -> None:
        """Remove what a failed write left behind the last whole line."""
        # Where even that fails, the next write or opening finds the piece.
        with suppress(OSError):
            if os.fstat(self._stream.fileno()).st_size > self._end:
                os.truncate(self._stream.fileno(), self._end)

    def remove_failed(self) -> int:
        """Forget failed results, so that they are run again; returns how many there were."""
        kept = [record for record in self.records if record["status"] == "ok"]
        n_removed = len(self.records) - len(kept)
        if n_removed:
            self._stream.close()
            with replacing(self.path) as stream:
                stream.write(_lines(kept))
            self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115
            self._end = os.fstat(self._stream.fileno()).st_size
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
        where = f"{path}, line {number}"
        for value in _parse(line) or [None]:
            record = _read_value(value, where)
            # Of two results with one key the first is kept: figures never change afterwards.
            found.setdefault(record["key"], record)
    return list(found.values())


def _parse(line: bytes) -> list[Any]:
    """Return the value of a line, or the whole ones of a line that was glued together."""
    with suppress(ValueError, RecursionError):
        return [json.loads(line)]
    # Earlier versions wrote the next result behind a piece that a full disk had left.
    text, place, found = line.decode("utf-8", "replace"), 0, []
    while (start := text.find(BEGINNING, place)) >= 0:
        place = start + 1
        with suppress(ValueError, RecursionError):
            value, place = json.JSONDecoder().raw_decode(text, start)
            found.append(value)
    return found


def _read_value(record: Any, where: str) -> Record:
    if record is None:
        raise InputError(f"{where} is not JSON; remove the line to go on without it.")
    if not isinstance(record, dict) or "key" not in record or "schema" not in record:
        raise InputError(f"{where} is not a result of a study.")
    if record["schema"] != SCHEMA:
        shown = str(record["schema"])[:40]
        raise InputError(f"{where} has schema {shown}, but this version reads {SCHEMA}.")
    try:
        return check_record(record)
    except Damage as damage:
        raise InputError(
            f"{where} is damaged: {damage}; remove the line to run it again."
        ) from None


def read_current(folder: Path) -> tuple[list[Record], dict[str, Any]]:
    """Return the results of a folder and its ``study.json``.

    Results of a data set that has changed since are left out.
    """
    records, study = read_results(folder), read_study(folder)
    if not records:
        left = "; ".join(study.get("unfinished", {}))
        which = f"; left of the study are {left}" if left else ""
        raise InputError(f"{folder} holds no finished result yet{which}.")
    known = {name: facts.get("checksum") for name, facts in study.get("datasets", {}).items()}
    return [record for record in records if _is_current(record, known)], study


def _is_current(record: Record, checksums: dict[str, str | None]) -> bool:
    data = record["data"]
    wanted = checksums.get(record["config"]["dataset"])
    return data is None or wanted in (None, data["checksum"])


def read_study(folder: Path) -> dict[str, Any]:
    """Return what ``study.json`` says of the data sets and the command; empty without it."""
    path = Path(folder) / STUDY
    way_out = "remove the file, and the next run of the study writes it anew"
    try:
        return check_study(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except Damage as damage:
        raise InputError(f"{path} is damaged: {damage}; {way_out}.") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno} is not JSON; {way_out}.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON; {way_out}.") from None


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
    # What was left of these data sets is known anew; a setting begins with the name of its data.
    here = tuple(f"{name} " for name in values["datasets"])
    left = {n: text for n, text in old.get("unfinished", {}).items() if not n.startswith(here)}
    if unfinished := {**left, **values.get("unfinished", {})}:
        merged["unfinished"] = unfinished
    write_text(Path(folder) / STUDY, json.dumps(merged, indent=1, ensure_ascii=False) + "\n")


def _mend(path: Path) -> None:
    """Leave whole lines only; what is taken out goes to a file of its own."""
    if not path.exists():
        return
    *lines, last = path.read_bytes().split(b"\n")
    kept, cut = [], [last] if last else []
    for line in lines:
        values = _parse(line)
        # One value on a line that is not JSON as it stands: a piece is glued to it.
        glued = len(values) > 1 or (values and not _is_json(line))
        kept += [_lines([value])[:-1] for value in values] if glued else [line]
        cut += [line] if glued else []
    if cut:
        with open(path.with_name(CUT), "ab") as stream:
            stream.writelines(line + b"\n" for line in cut)
            sync(stream)
        with replacing(path) as stream:
            stream.writelines(line + b"\n" for line in kept)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _lock(folder: Path) -> int | None:
    """Hold the folder until the process ends, however it ends."""
    try:
        return lock_file(folder / LOCK, wait=False)
    except BlockingIOError:
        raise InputError(f"another bench is writing to {folder}; wait for it to end.") from None
