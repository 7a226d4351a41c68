"""The models that can be asked."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from rmls.core.version import VERSION
from rmls.serve.schemas import ModelPage, Models
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.texts import columns_of

router = APIRouter(prefix="/v1", tags=["models"])
# Letters, or entries, of a value that is shown.
MAX_SHOWN = 200


@router.get("/models", response_model=Models)
async def list_models(service: Annotated[Service, Depends(get_service)]) -> JSONResponse:
    """List the models; the first is the one that requests mean when they name none."""
    store = service.store
    rows = [describe_row(store.get(name), name == store.names[0]) for name in store.names]
    return JSONResponse({"models": rows})


@router.get("/models/{name}", response_model=ModelPage)
async def show(name: str, service: Annotated[Service, Depends(get_service)]) -> JSONResponse:
    """Tell what is known of a model: how it was trained, how its labels are distributed."""
    served = service.store.get(name)
    return JSONResponse(
        {
            **describe_row(served, name == service.store.names[0]),
            "description": describe_training(served.model.training_record_),
            "frequencies": frequencies(served.labels.rows),
            "quality": None,
            "columns": columns_of(served.model),
        }
    )


def describe_row(served: Served, is_default: bool) -> dict[str, Any]:
    """Return a model with its size."""
    since = datetime.fromtimestamp(served.since, timezone.utc)
    return {
        "name": served.name,
        "default": is_default,
        "labels": len(served.labels.names),
        "rows": int(served.model.n_samples_),
        "method": type(served.model).__name__,
        "version": VERSION,
        "since": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def describe_training(record: dict[str, Any] | None) -> dict[str, Any]:
    """Return the record of a training without what only programs read, such as hashes of rows."""
    return {
        name: value
        for name, value in (record or {}).items()
        if not isinstance(value, str | list) or len(value) <= MAX_SHOWN
    }


def frequencies(rows: list[int]) -> list[dict[str, int]]:
    """Return how many labels have 0 rows, 1, 2 to 3, 4 to 7, and so on.

    Examples
    --------
    >>> frequencies([0, 1, 3, 2, 9])
    [{'rows': 0, 'labels': 1}, {'rows': 1, 'labels': 1}, {'rows': 2, 'labels': 2},
     {'rows': 8, 'labels': 1}]
    """
    # The number of bits: 0 is 0, 1 is 1, 2 and 3 are 2.
    bits = np.array([count.bit_length() for count in rows], int)
    found = np.bincount(bits).tolist() if len(bits) else []
    return [{"rows": 2**bit // 2, "labels": n} for bit, n in enumerate(found) if n]
