"""Run the fits of a study, each in a process of its own, and keep what they measured."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from multiprocessing.connection import Connection, wait
from typing import Any

from rmls.bench.run.records import SCHEMA, Failure, FailureReason, Outcome, Record
from rmls.bench.run.store import ResultStore, make_key
from rmls.bench.run.worker import describe_exit, resident_memory, start_worker
from rmls.bench.study.grid import Fit
from rmls.core.words import describe_machine, read_commit, size, versions

# A run may pass its limits by this much before it is seen.
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
    # Resuming is a set difference: a key is a hash of configuration and data, so that whatever
    # is stored under it answers exactly this question.
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
    seconds: float | None = None,
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
    seconds : float, optional
        Time for all of them. What is running or waiting then has no result and can be run later.

    Notes
    -----
    A fit that fails, runs too long or takes too much memory is recorded as failed, and the study
    goes on. However this function is left, no process of it goes on running.
    """
    listener = listener or Listener()
    # Reversed, because fits are taken from the end.
    waiting = missing_fits(fits, checksums, store.records)[::-1]
    running: list[Running] = []
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while (waiting or running) and (end is None or time.monotonic() < end):
            while waiting and len(running) < jobs:
                fit = waiting.pop()
                process, results = start_worker(fit, checksums[fit.dataset.name])
                running.append(Running(fit, process, results, time.monotonic()))
            listener.tick(running)
            # Wakes up for a result or an exit; the timeout is for limits and the display.
            wait([run.results for run in running], timeout=POLL_SECONDS)
            for run in [run for run in running if _has_ended(run)]:
                outcome = _collect(run)
                records = _records(run.fit, checksums[run.fit.dataset.name], outcome, jobs)
                # A fit is run for all its rules, also where some were answered before.
                known = store.keys
                store.append([record for record in records if record["key"] not in known])
                running.remove(run)
                listener.finished(run, outcome.failure, len(waiting) + len(running))
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
            limit = size(study.memory_limit)
            return _fail("memory", f"took {size(used)}; the limit is {limit}.")
    return None


def _collect(run: Running) -> Outcome:
    """Return the outcome of a run that has ended or is past its limits, and end it."""
    # A result that came in time counts, even if the limit has passed since.
    try:
        if run.results.poll():
            outcome: Outcome = run.results.recv()
            run.process.join()
            return outcome
    except (EOFError, OSError):
        pass
    failure = _over_limit(run)
    if failure is not None:
        run.process.kill()
    run.process.join()
    return Outcome(failure=failure or _fail("crash", describe_exit(run.process.exitcode)))


def _fail(reason: FailureReason, message: str) -> Failure:
    return Failure(reason=reason, message=message)


def _records(fit: Fit, checksum: str, outcome: Outcome, jobs: int) -> list[Record]:
    """Return a result for every decision rule of a fit."""
    return [
        Record(
            schema=SCHEMA,
            key=make_key(config, checksum),
            study=fit.study.name,
            status="ok" if outcome.failure is None else "failed",
            config=config,
            data=outcome.data,
            measured=outcome.measured[position] if outcome.measured else None,
            failure=outcome.failure,
            commit=read_commit(),
            versions=versions(),
            machine={**describe_machine(), "jobs": jobs},
            finished=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        for position, config in enumerate(fit.configs())
    ]
