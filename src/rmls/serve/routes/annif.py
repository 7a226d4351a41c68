"""Annif's REST API: its client, its page and its ``http`` backend can ask our models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request, Response
from pydantic import ValidationError

from rmls.core.version import VERSION
from rmls.serve.content import takes_json
from rmls.serve.problems import Problem
from rmls.serve.protocols import annif_shapes as shapes
from rmls.serve.protocols.asking import (
    Named,
    check_text,
    known_labels,
    place,
    suggest,
    written,
)
from rmls.serve.protocols.keeping import Told, feedback_of, keep
from rmls.serve.protocols.languages import UNKNOWN, language_code, weigh_languages
from rmls.serve.protocols.subjects import label_of, subject_uri
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.texts import Text
from rmls.serve.work import run

router = APIRouter(prefix="/v1", tags=["Annif"])
Here = Annotated[Service, Depends(get_service)]
JSON = [Depends(takes_json)]


@router.get("", include_in_schema=False)
@router.get("/", summary="Who answers")
def show_info() -> shapes.Info:
    """Tell the name and the version of this service."""
    return shapes.Info(title="rmls", version=VERSION)


@router.get("/vocabs", summary="Vocabularies")
def list_vocabularies(service: Here) -> shapes.Vocabularies:
    """List the labels of every model as a vocabulary of its name."""
    served = [service.store.get(name) for name in service.store.names]
    return shapes.Vocabularies(vocabs=[_vocabulary(one) for one in served])


@router.get("/projects", summary="Models as projects")
def list_projects(service: Here) -> shapes.Projects:
    """List the models as projects."""
    served = [service.store.get(name) for name in service.store.names]
    return shapes.Projects(projects=[_project(one) for one in served])


@router.get("/projects/{project_id}", summary="A model as a project")
def show_project(service: Here, project_id: str) -> shapes.Project:
    """Describe a model as a project."""
    return _project(service.store.get(project_id))


@router.post(
    "/projects/{project_id}/suggest",
    summary="Suggest labels for a text",
    openapi_extra=shapes.form_schema(),
)
async def suggest_one(service: Here, project_id: str, request: Request) -> shapes.Suggestions:
    """Suggest labels for the text of a form."""
    served = service.store.get(project_id)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != shapes.FORM:
        raise Problem(415, f"send the text as a form ({shapes.FORM}).")
    try:
        form = shapes.SuggestForm.model_validate(shapes.read_form(await request.body()))
    except ValidationError as error:
        raise Problem(400, _first_error(error)) from error
    _check_language(served, form.language)
    text = _place(service, served, form.text, form.metadata)
    (found,) = await run(service, suggest, served, [text], form.limit)
    return shapes.Suggestions(results=_subjects(found, form.threshold))


@router.post(
    "/projects/{project_id}/suggest-batch",
    summary="Suggest labels for several texts",
    dependencies=JSON,
)
async def suggest_batch(
    service: Here,
    project_id: str,
    batch: shapes.Batch,
    limit: Annotated[shapes.Limit, Query()] = shapes.DEFAULT_LIMIT,
    threshold: Annotated[shapes.Threshold, Query()] = 0.0,
    language: Annotated[str | None, Query()] = None,
) -> list[shapes.DocumentSuggestions]:
    """Suggest labels for up to 32 texts."""
    served = service.store.get(project_id)
    _check_language(served, language)
    texts = [_place(service, served, each.text, each.metadata) for each in batch.documents]
    found = await run(service, suggest, served, texts, limit)
    return [
        shapes.DocumentSuggestions(
            results=_subjects(row, threshold), document_id=document.document_id
        )
        for document, row in zip(batch.documents, found, strict=True)
    ]


@router.post(
    "/projects/{project_id}/learn",
    summary="Keep texts with their labels",
    status_code=204,
    dependencies=JSON,
)
async def learn(
    service: Here,
    project_id: str,
    documents: Annotated[list[shapes.IndexedDocument], Body()],
) -> Response:
    """Append texts and their labels to the feedback, from which ``rmls learn`` goes on."""
    served = service.store.get(project_id)
    feedback_of(service)
    limit, known = service.settings.max_texts, known_labels(served)
    if len(documents) > limit:
        raise Problem(413, f"there are {len(documents):,} documents; at most {limit:,} are taken.")
    lines = [
        Told(
            _place(service, served, document.text, document.metadata),
            added=[label_of(subject.uri, subject.label, known) for subject in document.subjects],
        )
        for document in documents
        if document.text is not None and document.subjects
    ]
    if lines:
        await keep(service, served, lines)
    return Response(status_code=204)


@router.post("/detect-language", summary="The language of a text", dependencies=JSON)
async def detect_language(service: Here, question: shapes.LanguageQuestion) -> shapes.Languages:
    """Weigh the languages that a text may be in by their function words."""
    text = check_text(service, question.text)
    shares = await run(service, weigh_languages, text, question.languages)
    return shapes.Languages(
        results=[
            shapes.Language(language=code, score=share)
            for code, share in sorted(shares.items(), key=lambda pair: -pair[1])
        ]
    )


def _vocabulary(served: Served) -> shapes.Vocabulary:
    language = _language(served)
    return shapes.Vocabulary(
        vocab_id=served.name,
        languages=[language],
        size=len(served.model.classes_),
        loaded=True,
    )


def _project(served: Served) -> shapes.Project:
    return shapes.Project(
        project_id=served.name,
        name=served.name,
        language=_language(served),
        backend=shapes.Backend(backend_id="rmls"),
        vocab=_vocabulary(served),
        vocab_language=_language(served),
        is_trained=True,
        modification_time=written(served),
    )


def _language(served: Served) -> str:
    return language_code(served.model.features_.language_)


def _check_language(served: Served, wanted: str | None) -> None:
    own = _language(served)
    if wanted and wanted != own and own != UNKNOWN:
        raise Problem(400, f"the labels of {served.name!r} are in {own!r}; got {wanted!r}.")


def _place(service: Service, served: Served, text: str, metadata: Mapping[str, str]) -> Text:
    checked = {name: check_text(service, cell) for name, cell in metadata.items()}
    return place(served, check_text(service, text), checked)


def _subjects(found: Sequence[Named], threshold: float) -> list[shapes.Subject]:
    return [
        shapes.Subject(uri=subject_uri(label), label=label, score=probability)
        for label, probability in found
        # Annif takes a score of 0 for no suggestion.
        if probability > 0 and probability >= threshold
    ]


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
