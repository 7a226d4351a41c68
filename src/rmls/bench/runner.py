"""Run the fits of a study, each in a process of its own, and keep what they measured."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from multiprocessing.connection import Connection, wait
from typing import Any

from rmls.bench.machine import describe_machine, read_commit, versions
from rmls.bench.records import SCHEMA, Data, Failure, FailureReason, Measured, Record
from rmls.bench.store import ResultStore, make_key
from rmls.bench.study import Fit
from rmls.bench.worker import describe_exit, resident_memory, start_worker

POLL_SECONDS = 0.05


@dataclass
class Running:
    """A fit that is being run."""

    fit: Fit
    process: Any
    results: Connection
    started: float

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.started


class Listener:
    """What a display of progress is told; this one shows nothing."""

    def begin(self, fits: list[Fit], waiting: list[Fit], jobs: int) -> None:
        """A study begins: all its fits, and those that are still to be run."""

    def tick(self, running: list[Running]) -> None:
        """Some fits are being run; called many times a second."""

    def finished(self, run: Running, failure: Failure | None, n_left: int) -> None:
        """A fit has ended and its results are written."""


def missing_fits(fits: list[Fit], checksums: dict[str, str], records: list[Record]) -> list[Fit]:
    """Return the fits of which a result is still missing."""
    done = {record["key"] for record in records}
    return [
        fit
        for fit in fits
        if any(make_key(c, checksums[fit.dataset.name]) not in done for c in fit.configs())
    ]


def run_fits(
    fits: list[Fit],
    checksums: dict[str, str],
    store: ResultStore,
    jobs: int = 1,
    listener: Listener | None = None,
) -> None:
    """Run what is missing and append every result as soon as it is there.

    Parameters
    ----------
    fits : list of Fit
        Those whose results are in the store already are passed over.
    checksums : dict
        Checksum of every data set by name.
    store : ResultStore
    jobs : int, default=1
        Processes at a time.
    listener : Listener, optional

    Notes
    -----
    A fit that fails, runs too long or takes too much memory is recorded as failed, and the study
    goes on. However this function is left, no process of it goes on running.
    """
    listener = listener or Listener()
    waiting = missing_fits(fits, checksums, store.records)[::-1]
    running: list[Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                fit = waiting.pop()
                process, results = start_worker(fit, checksums[fit.dataset.name])
                running.append(Running(fit, process, results, time.monotonic()))
            listener.tick(running)
            wait([run.results for run in running], timeout=POLL_SECONDS)
            for run in [run for run in running if _has_ended(run)]:
                data, measured, failure = _collect(run)
                store.append(_records(run.fit, checksums, data, measured, failure, jobs, store))
                running.remove(run)
                listener.finished(run, failure, len(waiting) + len(running))
    finally:
        for run in running:
            run.process.kill()
            run.process.join()


def _has_ended(run: Running) -> bool:
    return run.results.poll() or not run.process.is_alive() or _over_limit(run) is not None


def _over_limit(run: Running) -> Failure | None:
    study = run.fit.study
    if study.time_limit is not None and run.seconds > study.time_limit:
        return _fail("time", f"ran past the limit of {study.time_limit:g} s.")
    if study.memory_limit is not None:
        used = resident_memory(run.process.pid)
        if used > study.memory_limit:
            limit = study.memory_limit / 1e9
            return _fail("memory", f"took {used / 1e9:.2f} GB; the limit is {limit:.2f} GB.")
    return None


def _collect(run: Running) -> tuple[Data | None, list[Measured] | None, Failure | None]:
    """Return what a run that has ended or is past its limits has to say."""
    try:
        if run.results.poll():
            data, measured, failure = run.results.recv()
            run.process.join()
            return data, measured, failure
    except (EOFError, OSError):
        pass
    failure = _over_limit(run)
    if failure is not None:
        run.process.kill()
    run.process.join()
    return None, None, failure or _fail("crash", describe_exit(run.process.exitcode))


def _fail(reason: FailureReason, message: str) -> Failure:
    return Failure(reason=reason, message=message)


def _records(
    fit: Fit,
    checksums: dict[str, str],
    data: Data | None,
    measured: list[Measured] | None,
    failure: Failure | None,
    jobs: int,
    store: ResultStore,
) -> list[Record]:
    """Return a result for every decision rule of a fit that the store does not have."""
    done = {record["key"] for record in store.records}
    found = []
    for position, config in enumerate(fit.configs()):
        record = Record(
            schema=SCHEMA,
            key=make_key(config, checksums[fit.dataset.name]),
            study=fit.study.name,
            status="ok" if failure is None else "failed",
            config=config,
            data=data,
            measured=measured[position] if measured else None,
            failure=failure,
            commit=read_commit(),
            versions=versions(),
            machine={**describe_machine(), "jobs": jobs},
            finished=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        if record["key"] not in done:
            found.append(record)
    return found
