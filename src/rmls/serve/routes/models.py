"""The models that can be asked."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from rmls.core.version import VERSION
from rmls.models.shared.quality_record import Group, QualityRecord
from rmls.serve.routes.labels import describe_quality as describe_label_quality
from rmls.serve.routes.labels import describe_row as describe_label
from rmls.serve.routes.labels import rounded
from rmls.serve.schemas import ModelPage, Models
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.texts import columns_of

router = APIRouter(prefix="/v1", tags=["models"])
# Letters, or entries, of a value that is shown.
MAX_SHOWN = 200
MAX_WORST = 20
# Of the record of a model's quality, as it is.
ABOUT = ("baseline", "measured", "n_rows", "n_train", "n_judges", "calibration_error")


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
            **describe_settings(served.model),
            "frequencies": frequencies(served.labels.rows),
            "quality": describe_quality(served),
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


def describe_quality(served: Served) -> dict[str, Any] | None:
    """Return how well a model did on held-out rows; None where that was not measured."""
    record: QualityRecord | None = served.model.quality_record_
    if record is None:
        return None
    table = served.labels
    worst = [number for number, scores in table.scores.items() if (scores.f1 or 0.0) < 1]
    return {
        **{name: getattr(record, name) for name in ABOUT},
        "figures": [asdict(figure) for figure in record.figures],
        "groups": [_describe_group(group) for group in record.groups],
        "reliability": [asdict(point) for point in record.reliability],
        "worst": [
            {**describe_label(served, number), **(describe_label_quality(served, number) or {})}
            for number in worst[:MAX_WORST]
        ],
    }


def _describe_group(group: Group) -> dict[str, Any]:
    figures = {name: rounded(value) for name, value in group.scores._asdict().items()}
    return {"group": group.group, "labels": group.labels, **figures}


def describe_training(record: dict[str, Any] | None) -> dict[str, Any]:
    """Return the record of a training without what only programs read, such as hashes of rows."""
    return {
        name: value
        for name, value in (record or {}).items()
        if not isinstance(value, str | list) or len(value) <= MAX_SHOWN
    }


def describe_settings(model: Any) -> dict[str, Any]:
    """Return what a model was trained with that is not its default, and how long its parts took."""
    estimator = model.estimator_
    defaults = type(estimator)().get_params(deep=False)
    given = {
        name: value if isinstance(value, bool | int | float | str) else str(value)[:MAX_SHOWN]
        for name, value in estimator.get_params(deep=False).items()
        # The service itself sets the number of threads.
        if name != "n_jobs" and repr(value) != repr(defaults[name])
    }
    seconds = getattr(estimator, "seconds_", {})
    return {
        "settings": {"method": type(estimator).__name__, **given},
        "stages": {name: round(value, 3) for name, value in seconds.items()},
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
