"""What people and other tools tell about texts becomes feedback."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone

from rmls.serve.feedback import FeedbackFile
from rmls.serve.problems import Problem, busy
from rmls.serve.service import Service
from rmls.serve.store import Served
from rmls.serve.texts import Text, as_rows
from rmls.serve.work import run


@dataclass(frozen=True)
class Told:
    """Labels that somebody gave a text.

    Attributes
    ----------
    text : str or mapping of columns
    accepted, rejected, added : list of str
        Labels that were suggested and are right, that are wrong, and that are right beside them.
    id : str
        A line is kept once by its id.
    """

    text: Text
    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


def feedback_of(service: Service) -> FeedbackFile:
    """Return the file that feedback goes to."""
    if service.feedback is None:
        raise Problem(403, "this service keeps no feedback; start it with --feedback FILE.")
    return service.feedback


async def keep(service: Service, served: Served, lines: Sequence[Told]) -> int:
    """Append lines to the feedback; return how many were not there before.

    They are on the disk when this returns. Many take several turns, with others in between.
    """
    file, size = feedback_of(service), service.settings.max_texts
    as_rows(served.model, [line.text for line in lines])
    return sum(
        [
            sum(await run(service, append, file, served.name, lines[start : start + size]))
            for start in range(0, len(lines), size)
        ]
    )


def append(file: FeedbackFile, model: str, lines: Sequence[Told]) -> list[bool]:
    """Append lines one after the other; return which of them were not there before."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    about = {"time": now, "model": model}
    try:
        return [file.append({"id": line.id, **about, **asdict(line)}) for line in lines]
    except OSError as error:
        raise busy(503, f"feedback cannot be stored: {error.strerror}.", 60) from None
