"""What other tools tell about texts becomes feedback."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rmls.serve.problems import Problem
from rmls.serve.service import Service

_LOCK = threading.Lock()


@dataclass(frozen=True)
class Told:
    """Labels that somebody gave a text.

    Attributes
    ----------
    text : str or mapping of columns
    accepted, rejected, added : list of str
        Labels that were suggested and are right, that are wrong, and that are right beside them.
    id : str
        The same line with the same id is kept once.
    """

    text: Any
    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


def check_kept(service: Service) -> None:
    """Refuse feedback where the service keeps none."""
    if service.settings.feedback is None:
        raise Problem(403, "this service keeps no feedback; start it with --feedback FILE.")


def keep(service: Service, model: str, lines: Sequence[Told]) -> int:
    """Append lines to the journal; they are on the disk when this returns their number."""
    check_kept(service)
    path = service.settings.feedback
    assert path is not None
    with _LOCK, open(path, "a", encoding="utf-8") as file:
        for line in lines:
            entry = {"time": time.time(), "model": model, **asdict(line)}
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return len(lines)
