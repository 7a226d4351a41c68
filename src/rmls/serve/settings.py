"""What a service may do, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Limits of a service; every one of them has an answer of its own when it is passed.

    Attributes
    ----------
    token : str or None
        What requests must carry (``Authorization: Bearer …``); None asks for nothing.
    hosts : tuple of str
        Names that the service may be asked by (the header ``Host``); any where there are none.
    max_body : int
        Bytes of a request.
    max_buffered : int
        Bytes of all requests that are being received.
    max_texts, max_characters : int
        Texts of a request, and characters of one of them.
    max_seconds : float
        Time that the work of a request may take, with the time it waits for its turn.
    max_upload_seconds : float
        Time that a client may take to send its request.
    max_running, max_waiting : int
        Requests that are worked on at a time, and that wait for their turn.
    max_queued : int
        Rows that wait for a person's review.
    refresh_seconds : float
        How often models are looked at for a change.
    feedback : path or None
        The file that feedback is appended to; None takes none.
    queue : path or None
        The file by which processes share the rows that wait for a review; None is memory.
    log_texts : bool
        Whether texts of requests may stand in the log.
    """

    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    max_body: int = 4_000_000
    max_buffered: int = 64_000_000
    max_texts: int = 100
    max_characters: int = 200_000
    max_seconds: float = 10.0
    max_upload_seconds: float = 30.0
    max_running: int = 2
    max_waiting: int = 64
    max_queued: int = 1000
    refresh_seconds: float = 1.0
    feedback: Path | None = field(default=None)
    queue: Path | None = field(default=None)
    log_texts: bool = False
