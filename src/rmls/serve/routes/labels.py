"""The labels of a model: searched as you type, and each with what is known of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from rmls.core.errors import InputError
from rmls.serve import answers
from rmls.serve.schemas import FoundLabels, LabelPage
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.work import run

router = APIRouter(prefix="/v1", tags=["labels"])
ModelName = Annotated[str | None, Query(max_length=200)]
N_FEATURES, N_SIMILAR = 20, 10


@router.get("/labels", response_model=FoundLabels)
async def search(
    service: Annotated[Service, Depends(get_service)],
    query: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    sort: Literal["name", "rows", "quality"] = "rows",
    model: ModelName = None,
) -> JSONResponse:
    """Find labels that have, for every word of the query, a word that begins with it.

    Words of all that a label is called count, alternative names too.

    By `quality` those that did worst on held-out rows come first, those not measured last.
    """
    served = service.store.get(model)
    found = await run(service, find, served, query, sort)
    shown = found[offset : offset + limit].tolist()
    return JSONResponse(
        {"total": len(found), "labels": [describe_row(served, label) for label in shown]}
    )


@router.get("/labels/{label:path}", response_model=LabelPage)
async def show(
    label: str, service: Annotated[Service, Depends(get_service)], model: ModelName = None
) -> JSONResponse:
    """Tell what is known of a label: its words, labels like it, its rows, how well it does."""
    served = service.store.get(model)
    return JSONResponse(await run(service, describe, served, label))


def find(served: Served, query: str, sort: str) -> Any:
    """Return the numbers of labels in the order that was asked for."""
    return served.labels.search(query, sort)


def describe_row(served: Served, number: int) -> dict[str, Any]:
    """Return a label with its rows."""
    table = served.labels
    scores = table.scores.get(number)
    return {
        "label": table.names[number],
        "names": table.others.get(number, []),
        "rows": table.rows[number],
        "group": table.groups[number],
        "f1": None if scores is None else rounded(scores.f1),
    }


def describe(served: Served, label: str) -> dict[str, Any]:
    """Return all that is known of a label."""
    number, name, model = (
        answers.number_of(served, label),
        answers.name_of(served, label),
        served.model,
    )
    features, similar = (
        _known(model, "top_features", name, N_FEATURES),
        _known(model, "similar_labels", name, N_SIMILAR),
    )
    return {
        **describe_row(served, number),
        "top_features": [
            {"feature": str(each.feature), "weight": float(each.weight)} for each in features
        ],
        "similar": [
            {"label": str(each.label), "similarity": float(each.similarity)} for each in similar
        ],
        "quality": describe_quality(served, number),
    }


def describe_quality(served: Served, number: int) -> dict[str, Any] | None:
    """Return how well a label did on held-out rows; None where that was not measured."""
    scores, record = served.labels.scores.get(number), served.model.quality_record_
    if scores is None:
        return None
    figures = {name: rounded(value) for name, value in scores._asdict().items()}
    return {**figures, "held_out_rows": record.rows_of(served.labels.names[number])}


def rounded(value: float | None) -> float | None:
    """Return a share with as many digits as mean something."""
    return None if value is None else round(value, 4)


def _known(model: Any, question: str, name: Any, k: int) -> list[Any]:
    """Return what a model answers; nothing where it cannot tell, as of a label without rows."""
    try:
        found: list[Any] = getattr(model, question)(name, k)
    except InputError:
        return []
    return found
