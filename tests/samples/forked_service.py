"""A service whose workers start in no time, because they are forked after everything was loaded.

    python forked_service.py MODEL FEEDBACK PORT

Workers are those of `rmls serve`, on one socket; this program is in the place of their supervisor.
A line "one" on standard input kills the oldest worker (``kill -9``) and starts another, "all" kills
all of them and starts as many; "done" is answered. It ends with its input.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import uvicorn

from rmls.serve.protocol import Patient
from rmls.serve.run import PLAN, make_worker, write_plan
from rmls.serve.settings import Settings
from rmls.serve.store import open_model

N_WORKERS = 3


def start(listening: socket.socket) -> int:
    """Return a new worker."""
    worker = os.fork()
    if worker == 0:
        try:
            config = uvicorn.Config(make_worker(), http=Patient, log_config=None, access_log=False)
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            os._exit(0)
    return worker


def kill(worker: int) -> None:
    """End a worker at once."""
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)


def main() -> None:
    model, feedback, port = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    os.environ[PLAN] = write_plan({"art": model}, Settings(feedback=feedback), "warning")
    # Loads all that an answer needs.
    open_model("art", model)
    listening = socket.create_server(("127.0.0.1", port), backlog=100)
    workers = [start(listening) for _ in range(N_WORKERS)]
    print("ready", flush=True)
    try:
        for line in sys.stdin:
            killed = workers if line.strip() == "all" else workers[:1]
            for worker in killed:
                kill(worker)
            workers = workers[len(killed) :] + [start(listening) for _ in killed]
            print("done", flush=True)
    finally:
        for worker in workers:
            kill(worker)


if __name__ == "__main__":
    main()
