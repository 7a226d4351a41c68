"""Requests at a fixed rate against a running service: how long they take, and what is refused.

    rmls serve tate --port 8000 &
    python benchmarks/serve.py --texts tate.jsonl.gz --seconds 60
    python benchmarks/serve.py --texts tate.jsonl.gz --seconds 10 --overload

Every request has one text and a time at which it is due; its time counts from then, so that a
service that falls behind cannot hide it. Connections are kept. With --overload ten times as many
are sent, and the usual rate again afterwards, to see whether the service recovers.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle, islice

N_TEXTS = 2000
PLACES = ("sea", "river", "bridge", "horse", "garden", "portrait", "street", "storm")


@dataclass
class Outcome:
    """What became of the requests."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def show(self, title: str) -> None:
        """Print the figures of the answered requests, and the count of every status."""
        took = sorted(self.seconds)
        if took:
            at = [took[min(len(took) - 1, int(part * len(took)))] for part in (0.5, 0.9, 0.99)]
            shown = ", ".join(f"{1000 * value:.1f}" for value in (*at, took[-1]))
            print(f"{title}: 50%, 90%, 99%, 100% of the answered took at most {shown} ms")
        print(f"{title}: {dict(sorted(self.statuses.items()))}", flush=True)


class Client:
    """A pool of connections that are kept."""

    def __init__(self, host: str, port: int, most: int) -> None:
        self.host, self.port = host, port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._room = asyncio.Semaphore(most)

    async def post(self, path: str, body: bytes, headers: str) -> int:
        """Send a request and return the status of the answer."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
            f"{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        async with self._room:
            pair = (
                self._free.pop()
                if self._free
                else await asyncio.open_connection(self.host, self.port)
            )
            reader, writer = pair
            try:
                writer.write(head.encode() + body)
                answer = await reader.readuntil(b"\r\n\r\n")
                fields = dict(
                    line.lower().split(b": ", 1) for line in answer.split(b"\r\n")[1:] if line
                )
                await reader.readexactly(int(fields[b"content-length"]))
            except BaseException:
                writer.close()
                raise
            self._free.append(pair)
            return int(answer.split(b" ", 2)[1])


async def send(options: argparse.Namespace, rate: float, bodies: list[bytes]) -> Outcome:
    """Send requests when they are due and return what became of them."""
    outcome, client = Outcome(), Client(options.host, options.port, options.connections)
    headers = f"Authorization: Bearer {options.token}\r\n" if options.token else ""

    async def one(due: float, body: bytes) -> None:
        try:
            status = await client.post("/v1/suggest", body, headers)
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            outcome.statuses[type(error).__name__] += 1
            return
        outcome.statuses[str(status)] += 1
        if status == 200:
            outcome.seconds.append(time.perf_counter() - due)

    start = time.perf_counter()
    tasks = []
    for number, body in enumerate(islice(cycle(bodies), int(rate * options.seconds))):
        due = start + number / rate
        wait = due - time.perf_counter()
        # Those that are late are sent one after the other, without a pause.
        await asyncio.sleep(max(0.0, wait))
        tasks.append(asyncio.create_task(one(due, body)))
    await asyncio.gather(*tasks)
    return outcome


def read_bodies(path: str | None) -> list[bytes]:
    """Return requests with one text each."""
    if path is None:
        texts = [f"a {a} by the {b}, {n}" for n in range(30) for a in PLACES for b in PLACES]
    else:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            texts = [json.loads(line)["text"] for line in islice(stream, N_TEXTS)]
    return [json.dumps({"text": text, "k": 5}).encode() for text in texts]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--token")
    parser.add_argument("--texts", help="JSON lines with a text each, compressed by gzip")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--overload", action="store_true")
    options = parser.parse_args()
    bodies = read_bodies(options.texts)
    if options.overload:
        (await send(options, 10 * options.rate, bodies)).show(f"{10 * options.rate:.0f}/s")
    (await send(options, options.rate, bodies)).show(f"{options.rate:.0f}/s")


if __name__ == "__main__":
    asyncio.run(main())
