"""Labels of texts, and why."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import APIRouter, Body, Depends
from fastapi.responses import JSONResponse

from rmls.serve import answers
from rmls.serve.content import takes_json
from rmls.serve.schemas import Explanation, ManyTexts, OneText, Suggested, WhyAsked
from rmls.serve.service import Service, get_service
from rmls.serve.texts import check_texts
from rmls.serve.work import run

LOG = logging.getLogger("rmls.serve")
router = APIRouter(prefix="/v1", tags=["suggestions"], dependencies=[Depends(takes_json)])
Served = Annotated[Service, Depends(get_service)]


@router.post("/suggest", response_model=Suggested, response_model_exclude_unset=True)
async def suggest(asked: Annotated[OneText | ManyTexts, Body()], service: Served) -> JSONResponse:
    """Suggest labels for a text, or for several.

    The labels that the model ranks first, the most likely of them first; with `tail` in the order
    of the scores, with `decision` as many as the rule takes.
    """
    texts = [asked.text] if isinstance(asked, OneText) else asked.texts
    check_texts(texts, service.settings)
    served = service.store.get(asked.model)
    if service.settings.log_texts:
        LOG.info("texts %r", texts)
    wanted = answers.Wanted(
        asked.k if asked.decision is None or "k" in asked.model_fields_set else None,
        asked.decision,
        asked.min_probability,
        asked.tail,
        asked.explain,
    )
    found = await service.batches.suggest(served, texts, wanted)
    results = [{"suggestions": row} for row in found]
    return JSONResponse({"model": served.name, "results": results})


@router.post("/explain", response_model=Explanation)
async def explain(asked: WhyAsked, service: Served) -> JSONResponse:
    """Take apart the score of a label for a text: the words, and all else it is the sum of."""
    check_texts([asked.text], service.settings)
    served = service.store.get(asked.model)
    return JSONResponse(await run(service, answers.explain, served, asked.text, asked.label))
