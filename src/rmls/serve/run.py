"""Start the service: one process or several, which share the files of the models."""

from __future__ import annotations

import inspect
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import FastAPI

from rmls.serve.app import make_app
from rmls.serve.protocol import Patient
from rmls.serve.settings import Settings
from rmls.serve.store import ModelStore

LOG = logging.getLogger("rmls.serve")
# How the settings reach the workers, which are new processes.
PLAN = "RMLS_SERVE_PLAN"
# Threads that compute hand the interpreter to the one that answers after so many seconds: with
# Python's own 5 ms a request would wait longer for its turn to be read than for its work.
SWITCH_SECONDS = 0.0005
# Longer than clients and proxies keep a connection (60 s, as a rule): they should close it.
KEEP_ALIVE_SECONDS = 75
LAST_SECONDS = 10
SILENT_SECONDS = 15
FILES = ("feedback", "queue")


@dataclass(frozen=True)
class Address:
    """Where a service listens, and with how many processes."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1


def serve(models: Mapping[str, Path], settings: Settings, address: Address, log: str) -> None:
    """Answer requests until the process is told to stop."""
    import uvicorn

    with _shared_queue(settings, address) as shared:
        os.environ[PLAN] = write_plan(models, shared, log)
        try:
            _run(uvicorn, address)
        finally:
            del os.environ[PLAN]


@contextmanager
def _shared_queue(settings: Settings, address: Address) -> Iterator[Settings]:
    """Give several processes a file for the rows that wait, which nobody else can read."""
    with ExitStack() as stack:
        if address.workers > 1:
            try:
                folder = stack.enter_context(TemporaryDirectory(prefix="rmls-queue-"))
                settings = replace(settings, queue=Path(folder) / "waiting.db")
            except OSError:
                LOG.warning("no temporary folder: every worker has a queue of reviews of its own")
        yield settings


def _run(uvicorn: Any, address: Address) -> None:
    uvicorn.run(
        "rmls.serve.run:make_worker",
        factory=True,
        host=address.host,
        port=address.port,
        workers=address.workers,
        http=Patient,
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=LAST_SECONDS,
        **_patience_with_workers(uvicorn.run),
    )


def _patience_with_workers(start: Callable[..., Any]) -> dict[str, Any]:
    """Return how long a worker may be silent before it is taken for dead and replaced.

    One that opens a large model on a busy machine is silent for more than uvicorn's five seconds.
    """
    name = "timeout_worker_healthcheck"
    # Older versions cannot be told.
    return {name: SILENT_SECONDS} if name in inspect.signature(start).parameters else {}


def make_worker() -> FastAPI:
    """Return the application that the environment describes; called in every worker."""
    models, settings, log = read_plan(os.environ[PLAN])
    start_log(log)
    sys.setswitchinterval(SWITCH_SECONDS)
    Patient.seconds = settings.max_upload_seconds
    _end_with_parent()
    return make_app(ModelStore(models), settings)


def _end_with_parent() -> None:
    """Let a worker end when the service is killed, so that its port is free for the next one."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def start_log(level: str) -> None:
    """Write what happens to standard error, a line each."""
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(level=level.upper(), format=form, force=True)


def write_plan(models: Mapping[str, Path], settings: Settings, log: str) -> str:
    """Return what a worker needs to know."""
    paths = {name: str(path.resolve()) for name, path in models.items()}
    values = asdict(settings)
    for name in FILES:
        values[name] = None if values[name] is None else str(values[name].resolve())
    return json.dumps({"models": paths, "settings": values, "log": log})


def read_plan(text: str) -> tuple[dict[str, Path], Settings, str]:
    """Return the models, the settings and the level of the log.

    Examples
    --------
    >>> read_plan(write_plan({}, Settings(max_texts=3), "info"))[1].max_texts
    3
    """
    plan: dict[str, Any] = json.loads(text)
    settings = Settings(**plan["settings"])
    feedback, queue = (
        None if path is None else Path(path) for path in map(plan["settings"].get, FILES)
    )
    return (
        {name: Path(path) for name, path in plan["models"].items()},
        replace(settings, hosts=tuple(settings.hosts), feedback=feedback, queue=queue),
        plan["log"],
    )
