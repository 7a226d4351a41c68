"""What every request passes before it is looked at: who asks, how much, and what goes back."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from base64 import b64decode
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rmls.serve.problems import Problem, busy, internal_problem
from rmls.serve.service import Service
from rmls.serve.work import within

LOG = logging.getLogger("rmls.serve")
# Addresses that hold nothing of a model: whether the process lives, and the page without answers.
FREE = ("/healthz", "/")
FREE_BELOW = "/page/"
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
HEADERS = [(name.lower().encode(), value.encode()) for name, value in SECURITY.items()]
NO_STORE = (b"cache-control", b"no-store")
UNKNOWN = "other"
# Bodies of up to so many times the limit are passed over, not cut off.
MAX_PASSED_OVER = 16


class Guard:
    """Middleware: host, token, size, time to send, headers of answers, counts and the log."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service
        self._buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, answer = time.perf_counter(), _Answer(send)
        try:
            self._check(scope)
            await self._pass_on(scope, receive, answer)
        except Problem as problem:
            await answer.give(problem, scope, receive)
        except Exception as error:
            await answer.give(internal_problem(error), scope, receive)
        finally:
            self._count(scope, answer.status, time.perf_counter() - start)

    def _check(self, scope: Scope) -> None:
        """Refuse who may not ask, and what there is no room for, before anything is read."""
        settings, headers = self.service.settings, dict(scope["headers"])
        if settings.hosts and _host(headers.get(b"host", b"")) not in settings.hosts:
            raise Problem(421, "the service is not known by this name; see --allow-host.")
        path = scope["path"]
        if settings.token is not None and path not in FREE and not path.startswith(FREE_BELOW):
            given = _given_token(headers.get(b"authorization", b""))
            # In constant time: how long it takes tells nothing of the token.
            if not hmac.compare_digest(given, settings.token.encode()):
                challenge = {"WWW-Authenticate": "Bearer"}
                raise Problem(401, "give the token of the service.", headers=challenge)
        length = _length(headers)
        if length > settings.max_body:
            # Who sends all of it before it reads would lose the answer with the connection.
            raise self._too_large(closes=length > MAX_PASSED_OVER * settings.max_body)
        if scope["method"] == "POST":
            self.service.gate.refuse_when_full()

    def _too_large(self, closes: bool = True) -> Problem:
        limit = self.service.settings.max_body
        # A rest that may have no end is not waited for.
        headers = {"Connection": "close"} if closes else None
        return Problem(413, f"a request may have {limit:,} bytes.", headers=headers)

    async def _pass_on(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        chunks: list[bytes] = []
        try:
            if scope["method"] not in ("GET", "HEAD"):
                limit = self.service.settings.max_upload_seconds
                await within(limit, self._read(receive, chunks))
            body = b"".join(chunks)
            _check_characters(body)
            await self.app(scope, _replay(body, receive), answer)
        except asyncio.TimeoutError:
            raise Problem(
                408, "the request took too long to arrive.", headers={"Connection": "close"}
            ) from None
        except ConnectionError:
            # Nobody is there to be answered.
            return
        finally:
            self._buffered -= sum(map(len, chunks))

    async def _read(self, receive: Receive, chunks: list[bytes]) -> None:
        """Read all of a body, however it comes, as long as there is room for it."""
        settings, size, more = self.service.settings, 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            if size > settings.max_body:
                raise self._too_large()
            if self._buffered + len(chunk) > settings.max_buffered:
                raise busy(503, "too many large requests are being sent; try again in a second.")
            self._buffered += len(chunk)
            chunks.append(chunk)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", UNKNOWN)
        self.service.telemetry.count(route, status, seconds)
        # The route, not the address: what is searched for is a text, too.
        LOG.info("%s %s %d %.1f ms", scope["method"], route, status, 1000 * seconds)


class _Answer:
    """Sends an answer with the headers that all have."""

    def __init__(self, send: Send) -> None:
        self._send = send
        # What is counted where a client went away before it was answered.
        self.status = 499
        self._started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self._started = message["status"], True
            headers = list(message.get("headers", ()))
            has_cache = any(name == NO_STORE[0] for name, _ in headers)
            message = {
                **message,
                "headers": [*headers, *HEADERS, *([] if has_cache else [NO_STORE])],
            }
        await self._send(message)

    async def give(self, problem: Problem, scope: Scope, receive: Receive) -> None:
        """Answer with a problem, unless an answer has begun."""
        if not self._started:
            await problem.response()(scope, receive, self)


def _check_characters(body: bytes) -> None:
    """Refuse JSON with halves of characters, which no answer and no file could hold."""
    # Only an escape can say one; almost no body has such an escape.
    if b"\\ud" not in body.lower():
        return
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Problem(400, "the body has half a character (a lone surrogate).") from None
    except (ValueError, RecursionError):
        # No JSON: whoever reads it says so.
        return


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives a body that was read already, then what comes after it."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


def _given_token(header: bytes) -> bytes:
    """Return the token of a request, or the password of tools that know names and passwords only.

    Examples
    --------
    >>> _given_token(b"Bearer abc"), _given_token(b"Basic YW5uOmFiYw==")
    (b'abc', b'abc')
    """
    kind, _, value = header.partition(b" ")
    if kind.lower() == b"bearer":
        return value
    if kind.lower() != b"basic":
        return b""
    try:
        return b64decode(value, validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _host(value: bytes) -> str:
    """Return the name of a host without its port."""
    text = value.decode("latin-1").lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]


def _length(headers: dict[bytes, bytes]) -> int:
    given = headers.get(b"content-length", b"0")
    return int(given) if given.isdigit() else 0
