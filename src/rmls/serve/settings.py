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
    max_body : int
        Bytes of a request.
    max_texts, max_characters : int
        Texts of a request, and characters of one of them.
    max_seconds : float
        Time that the work of a request may take.
    max_running, max_waiting : int
        Requests that are worked on at a time, and that wait for their turn.
    feedback : path or None
        The file that feedback is appended to; None takes none.
    log_texts : bool
        Whether texts of requests may stand in the log.
    """

    token: str | None = None
    max_body: int = 4_000_000
    max_texts: int = 100
    max_characters: int = 200_000
    max_seconds: float = 10.0
    max_running: int = 2
    max_waiting: int = 64
    feedback: Path | None = field(default=None)
    log_texts: bool = False
