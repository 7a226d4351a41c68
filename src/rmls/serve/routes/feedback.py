"""What people say of suggestions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from rmls.serve import answers
from rmls.serve.content import takes_json
from rmls.serve.problems import Problem
from rmls.serve.protocols import keeping
from rmls.serve.schemas import Stored, Told
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.texts import as_rows, check_texts
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
    if service.feedback is None:
        raise Problem(404, "this service takes no feedback; start it with --feedback FILE.")
    named = {} if told.id is None else {"id": told.id}
    line = keeping.Told(told.text, told.accepted, told.rejected, told.added, **named)
    _check(served, line)
    (is_new,) = await run(service, keeping.append, service.feedback, served.name, [line])
    service.queue.answered(line.id)
    return JSONResponse({"id": line.id}, 201 if is_new else 200)


def _check(served: Served, line: keeping.Told) -> None:
    """Refuse what no model could learn from."""
    as_rows(served.model, [line.text])
    for label in (*line.accepted, *line.rejected):
        answers.number_of(served, label)
    right, wrong = {*line.accepted, *line.added}, set(line.rejected)
    if right & wrong:
        both = sorted(right & wrong)[0]
        raise Problem(409, f"{both[:60]!r} is accepted and rejected; it can be one of them.")
