"""One fit in a process of its own, that ends with the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from rmls.bench.run.measure import measure
from rmls.bench.run.records import Failure, Outcome
from rmls.bench.study.grid import Fit
from rmls.core.errors import RmlsError


def start_worker(fit: Fit, checksum: str) -> tuple[Any, Connection]:
    """Start a fit; returns its process and the end of a pipe that its figures come from.

    Notes
    -----
    Processes are forked from a server that has imported the libraries and holds nothing else, so
    that each has its own memory reading and none waits for imports.
    """
    context = _context()
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_run_fit, args=(fit, checksum, send), daemon=True)
    process.start()
    # With our copy closed, the pipe ends when the process does, and reading it says so.
    send.close()
    return process, receive


def _context() -> Any:
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(kind)
    if kind == "forkserver":
        # The server imports this once; every run is a copy of it, made in milliseconds.
        context.set_forkserver_preload(["rmls.bench.run._preload"])
    return context


def _run_fit(fit: Fit, checksum: str, send: Connection) -> None:
    """Run in the process of the fit: measure it and send the outcome."""
    # Ctrl-C reaches every process of the terminal; the parent decides what becomes of runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    _silence_output()
    try:
        send.send(Outcome(*measure(fit, checksum)))
    except MemoryError as error:
        send.send(Outcome(failure=Failure(reason="memory", message=_one_line(error))))
    except Exception as error:
        send.send(Outcome(failure=Failure(reason="error", message=_one_line(error))))
    send.close()


def _end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, however it went."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        # The sentinel is a pipe that the system closes even when the parent is killed.
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _silence_output() -> None:
    """Keep warnings of the libraries out of the display; failures are sent as results."""
    # Descriptors, not sys.stdout: compiled libraries write past Python.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, RmlsError) else f"{type(error).__name__}: {text}"


def describe_exit(code: int | None) -> str:
    """Return one sentence for the exit code of a process that sent nothing.

    Examples
    --------
    >>> describe_exit(-9)
    'the process was ended by SIGKILL, perhaps for want of memory.'
    >>> describe_exit(3)
    'the process ended with code 3 and sent no figures.'
    """
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        guess = ", perhaps for want of memory" if name == "SIGKILL" else ""
        return f"the process was ended by {name}{guess}."
    return f"the process ended with code {code} and sent no figures."


def resident_memory(pid: int | None) -> int:
    """Return the bytes of memory a process holds now; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    try:
        # The second number of statm: pages in memory.
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
