"""Rows for a person to look at, the most helpful first."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from rmls.serve import answers
from rmls.serve.content import takes_json
from rmls.serve.schemas import Added, ReviewRows, RowsAsked
from rmls.serve.service import Service, get_service
from rmls.serve.texts import check_texts
from rmls.serve.work import run

router = APIRouter(prefix="/v1/review", tags=["review"], dependencies=[Depends(takes_json)])
Here = Annotated[Service, Depends(get_service)]


@router.get("", response_model=ReviewRows, response_model_exclude_unset=True)
async def next_rows(
    service: Here,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    model: Annotated[str | None, Query(max_length=200)] = None,
) -> JSONResponse:
    """List rows without feedback, those first whose answers would help most.

    Feedback with the id of a row takes it out.
    """
    found = service.queue.first(service.store.get(model).name, limit)
    rows = [
        {"id": row.id, "text": row.text, "suggestions": row.suggestions, "why": row.why}
        for row in found
    ]
    return JSONResponse({"rows": rows})


@router.post("/rows", response_model=Added, status_code=201)
async def add_rows(asked: RowsAsked, service: Here) -> JSONResponse:
    """Put texts into the queue; where it is full, the least helpful make room."""
    check_texts(asked.texts, service.settings)
    served = service.store.get(asked.model)
    found = await run(service, answers.suggest, served, asked.texts, answers.Wanted())
    table = served.labels
    groups = [[table.groups[table.number[each["label"]]] for each in row] for row in found]
    return JSONResponse({"ids": service.queue.add(served.name, asked.texts, found, groups)}, 201)
