"""What one request costs a service: processor time and the median, one after the other.

    python benchmarks/serve_cost.py models/tate --texts tate.jsonl.gz
    python benchmarks/serve_cost.py models/tate --texts tate.jsonl.gz --source ../before/src

Starts `rmls serve` in a process of its own, asks for the labels of one text at a time over one
connection, and reads the processor time of the process before and after. With --source the
service of another checkout takes turns with this one, so that both see the same load; the ratio
is that of their processor times.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median

OWN = Path(__file__).resolve().parents[1] / "src"
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def service(model: str, source: Path) -> Iterator[tuple[int, http.client.HTTPConnection]]:
    """Start a service and wait until it answers."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "rmls", "serve", model, "--port", str(port), "--quiet"]
    places = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": places}, stderr=subprocess.DEVNULL
    )
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while process.poll() is None:
            try:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                break
            except OSError:
                connection.close()
                time.sleep(0.1)
        yield process.pid, connection
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def ask(pid: int, connection: http.client.HTTPConnection, bodies: list[bytes]) -> list[float]:
    """Send requests one after the other; return processor time a request, and every time."""
    start, took = cpu_seconds(pid), []
    for body in bodies:
        begin = time.perf_counter()
        connection.request("POST", "/v1/suggest", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - begin)
        assert answer.status == 200
    return [(cpu_seconds(pid) - start) / len(bodies), *took]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--texts", required=True, help="JSON lines with a text each, gzip")
    parser.add_argument("--source", type=Path, help="the src folder of another checkout")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with gzip.open(options.texts, "rt", encoding="utf-8") as stream:
        texts = [json.loads(line)["text"] for line in islice(stream, options.requests)]
    bodies = [json.dumps({"text": text, "k": 5}).encode() for text in texts]
    sources = {"this": OWN} | ({"other": options.source} if options.source else {})
    cpu: dict[str, list[float]] = {name: [] for name in sources}
    took: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(options.rounds):
        for name, source in sources.items():
            with service(options.model, source) as (pid, connection):
                ask(pid, connection, bodies[:50])
                used, *times = ask(pid, connection, bodies)
                cpu[name].append(used)
                took[name] += times
    for name in sources:
        print(
            f"{name}: {1000 * median(cpu[name]):.2f} ms of processor time a request, "
            f"median {1000 * median(took[name]):.2f} ms"
        )
    if options.source:
        print(f"ratio {median(cpu['other']) / median(cpu['this']):.2f}")


if __name__ == "__main__":
    main()
