"""What people say of suggestions."""

from __future__ import annotations

import time
import uuid
from datetime import datetime, timezone
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from rmls.serve import answers
from rmls.serve.content import takes_json
from rmls.serve.feedback import FeedbackFile
from rmls.serve.problems import Problem, busy
from rmls.serve.schemas import Stored, Told
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.texts import Text, as_rows, check_texts
from rmls.serve.work import run

router = APIRouter(prefix="/v1", tags=["feedback"], dependencies=[Depends(takes_json)])


@router.post(
    "/feedback",
    response_model=Stored,
    status_code=201,
    responses={200: {"model": Stored, "description": "Stored before, by the same id."}},
)
async def give(told: Told, service: Annotated[Service, Depends(get_service)]) -> JSONResponse:
    """Store what a person accepted, rejected and added; it is on the disk before the answer."""
    check_texts([told.text], service.settings)
    served = service.store.get(told.model)
    labels = {"accepted": told.accepted, "rejected": told.rejected, "added": told.added}
    name, is_new = await store(service, served, told.text, labels, told.id)
    return JSONResponse({"id": name}, 201 if is_new else 200)


async def store(
    service: Service,
    served: Served,
    text: Text,
    labels: dict[str, list[str]],
    id: str | None = None,
) -> tuple[str, bool]:
    """Store feedback; return its id and whether it is new."""
    if service.feedback is None:
        raise Problem(404, "this service takes no feedback; start it with --feedback FILE.")
    _check(served, text, labels)
    name = id or uuid.uuid4().hex
    moment = datetime.fromtimestamp(time.time(), timezone.utc)
    entry = {
        "id": name,
        "time": moment.isoformat(timespec="milliseconds"),
        "model": served.name,
        "text": text,
        **labels,
    }
    is_new = await run(service, _append, service.feedback, entry)
    service.queue.answered(name)
    return name, is_new


def _append(file: FeedbackFile, entry: dict[str, Any]) -> bool:
    try:
        return file.append(entry)
    except OSError as error:
        raise busy(503, f"feedback cannot be stored: {error.strerror}.", 60) from None


def _check(served: Served, text: Text, labels: dict[str, list[str]]) -> None:
    """Refuse what no model could learn from."""
    as_rows(served.model, [text])
    for label in (*labels["accepted"], *labels["rejected"]):
        answers.number_of(served, label)
    right, wrong = {*labels["accepted"], *labels["added"]}, set(labels["rejected"])
    if right & wrong:
        both = sorted(right & wrong)[0]
        raise Problem(409, f"{both[:60]!r} is accepted and rejected; it can be one of them.")
