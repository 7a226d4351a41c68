"""Requests that nobody should send, and clients that nobody should be."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

from serve_samples import TEXT

JSON = "application/json"
PATHS = (
    "/v1/suggest",
    "/v1/explain",
    "/v1/feedback",
    "/v1/review/rows",
    "/v2/models/{model}/infer",
    "/label-studio/predict",
    "/label-studio/webhook",
    "/v1/projects/{model}/suggest",
    "/v1/projects/{model}/suggest-batch",
    "/v1/projects/{model}/learn",
    "/v1/detect-language",
)
# Bytes of a request that is far too large.
HUGE = 10_000_000
# How often one of so many requests is huge, or sent by somebody who is slow.
RARE = 500
WHOLE = json.dumps({"text": TEXT, "k": 3}).encode()
HEBREW = "סירה בים \u202e\u2067"
Draw = random.Random


def _text(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _damaged(draw: Draw) -> bytes:
    place = draw.randrange(len(WHOLE))
    return WHOLE[:place] + draw.randbytes(1) + WHOLE[place + 1 :]


BODIES: dict[str, Callable[[Draw], bytes]] = {
    "empty": lambda draw: b"",
    "bytes": lambda draw: draw.randbytes(draw.randrange(2000)),
    "cut off": lambda draw: WHOLE[: draw.randrange(len(WHOLE))],
    "damaged": _damaged,
    "deep": lambda draw: b'{"text": ' + draw.choice((b"[", b'{"a":')) * draw.randrange(20_000),
    "emoji": lambda draw: _text("🚢👩‍👩‍👧" * draw.randrange(500)),
    "right to left": lambda draw: _text(HEBREW * draw.randrange(500)),
    "NUL": lambda draw: _text("\0" * draw.randrange(1, 500)),
    "half a character": lambda draw: b'{"text": "\\ud800"}',
    "invalid UTF-8": lambda draw: b'{"text": "' + draw.randbytes(50).replace(b'"', b"\xff") + b'"}',
    "many texts": lambda draw: json.dumps({"texts": [""] * draw.randrange(200)}).encode(),
    "long text": lambda draw: b'{"text": "' + b"x" * draw.randrange(300_000) + b'"}',
    "columns": lambda draw: json.dumps({"text": {str(draw.random()): draw.random()}}).encode(),
    "numbers": lambda draw: (
        b'{"text": "a", "k": %s}' % draw.choice((b"1e999", b"NaN", b"9" * 5000))
    ),
    "types": lambda draw: json.dumps({"text": draw.choice((1, None, [], True)), "k": "x"}).encode(),
}


def post(connection: http.client.HTTPConnection, path: str, body: bytes, kind: str = JSON) -> int:
    """Send a body and return the status of the answer; 0 where what is huge was not read."""
    try:
        connection.request("POST", path, body, {"content-type": kind})
        answer = connection.getresponse()
        content = answer.read()
        if content and "json" in answer.headers.get("content-type", ""):
            json.loads(content)
        return answer.status
    except (ConnectionError, http.client.HTTPException):
        # What is far too large is not read to its end: the answer may be lost.
        connection.close()
        if len(body) < HUGE:
            raise
        return 0


def half_close(port: int, draw: Draw) -> int:
    """Send the beginning of a request and no more; return the status of the answer, 0 for none."""
    head = b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sent = draw.choice(
        (b"", b"GET", head, head + b"Content-Length: 100\r\n\r\n{", b"\0\xff\r\n\r\n", b"\r\n" * 9)
    )
    with socket.create_connection(("127.0.0.1", port), 60) as connection, suppress(ConnectionError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return _status(connection.recv(1000))
    return 0


def send_slowly(port: int, draw: Draw) -> int:
    """Send a request in small pieces, and go away in the middle of it half of the time."""
    head = "POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sent = f"{head}Content-Length: {len(WHOLE)}\r\n\r\n".encode() + WHOLE
    end = len(sent) if draw.random() < 0.5 else draw.randrange(len(sent))
    with socket.create_connection(("127.0.0.1", port), 60) as connection, suppress(ConnectionError):
        for start in range(0, end, 10):
            connection.sendall(sent[start : min(start + 10, end)])
            time.sleep(0.005)
        return _status(connection.recv(1000)) if end == len(sent) else 0
    return 0


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def send_odd(port: int, model: str, n_requests: int, seed: int = 0) -> Iterator[Counter[str]]:
    """Send odd requests of all kinds; yield counts of "kind: status" after every tenth part."""
    draw, kinds, found = Draw(seed), list(BODIES), Counter[str]()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(n_requests):
        path = draw.choice(PATHS).format(model=model)
        if number % RARE == 0:
            kind, status = "10 MB", post(connection, path, b"x" * HUGE)
        elif number % 20 == 1:
            kind, status = "half closed", half_close(port, draw)
        elif number % 50 == 2:
            kind, status = "slow", send_slowly(port, draw)
        else:
            kind = draw.choice(kinds)
            is_form = path.endswith("/suggest") and "projects" in path
            form = "application/x-www-form-urlencoded"
            status = post(connection, path, BODIES[kind](draw), form if is_form else JSON)
        found[f"{kind}: {status}"] += 1
        if (number + 1) % max(1, n_requests // 10) == 0:
            yield found
    connection.close()
