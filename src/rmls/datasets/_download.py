"""Fetch one file over HTTP: streamed, bounded, checked, and in place only when complete."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rmls.core.errors import RmlsError
from rmls.datasets._writing import replace_file

CHUNK = 1 << 16
# A wrong address must not fill the disk.
MAX_BYTES = 4 << 30
# Of silence, not of the whole transfer.
TIMEOUT_S = 30.0


class DownloadError(RmlsError):
    """A file could not be fetched, or is not the expected one."""


def fetch(url: str, target: Path, sha256: str | None, max_bytes: int = MAX_BYTES) -> str:
    """Download ``url`` to ``target`` and return its SHA-256.

    Nothing is left behind when the transfer breaks or the checksum differs.
    """
    # urlopen would open file: addresses as well.
    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"{url} is not a web address.")
    digest = hashlib.sha256()

    def fill(stream: IO[bytes]) -> None:
        for chunk in _chunks(url, max_bytes):
            digest.update(chunk)
            stream.write(chunk)
        # Raised before the rename, so that a wrong file never gets the name.
        if sha256 is not None and digest.hexdigest() != sha256:
            raise DownloadError(
                f"{url} has SHA-256 {digest.hexdigest()} instead of {sha256}; "
                "the file was not what was expected and has been deleted."
            )

    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, fill)
    return digest.hexdigest()


def _chunks(url: str, max_bytes: int) -> Iterator[bytes]:
    """Yield the body; every way in which a transfer can fail becomes a DownloadError."""
    # Here, because ssl and http are slow to import and rarely needed.
    import http.client
    from urllib import error, request

    call = request.Request(url, headers={"User-Agent": "rmls"})
    try:
        with request.urlopen(call, timeout=TIMEOUT_S) as response:
            yield from _body(response, url, max_bytes)
    except error.HTTPError as failure:
        raise DownloadError(f"{url} answered {failure.code} {failure.reason}.") from None
    except error.URLError as failure:
        raise DownloadError(f"{url} cannot be reached ({failure.reason}).") from None
    except (OSError, http.client.HTTPException) as failure:
        reason = str(failure) or type(failure).__name__
        raise DownloadError(f"the transfer from {url} broke off ({reason}).") from None


def _body(response: Any, url: str, max_bytes: int) -> Iterator[bytes]:
    announced = response.headers.get("Content-Length", "")
    expected = int(announced) if announced.isdigit() else None
    if expected is not None and expected > max_bytes:
        raise DownloadError(f"{url} holds {expected} bytes; the limit is {max_bytes}.")
    received = 0
    while chunk := response.read(CHUNK):
        received += len(chunk)
        # The announced length may be missing or wrong: what arrives is counted.
        if received > max_bytes:
            raise DownloadError(f"{url} holds more than the limit of {max_bytes} bytes.")
        yield chunk
    if expected is not None and received < expected:
        raise DownloadError(f"{url} broke off after {received} of {expected} bytes.")
