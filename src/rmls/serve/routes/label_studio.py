"""The contract of Label Studio's ML backends: predictions for tasks, annotations to feedback.

The address to give to Label Studio is ``/label-studio``, or ``/label-studio/NAME`` for a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from rmls.serve.content import takes_json
from rmls.serve.problems import Problem
from rmls.serve.protocols import annotations as answers
from rmls.serve.protocols.asking import check_text
from rmls.serve.protocols.keeping import feedback_of, keep
from rmls.serve.protocols.label_config import Control, read_config
from rmls.serve.service import Service, get_service
from rmls.serve.store import Served
from rmls.serve.texts import Text
from rmls.serve.work import run

router = APIRouter(
    prefix="/label-studio", tags=["Label Studio"], dependencies=[Depends(takes_json)]
)
Here = Annotated[Service, Depends(get_service)]
KEPT = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
# Label Studio sends many tasks at once; they are worked on in blocks, which let others in between.
MAX_TASKS = 10_000


# A format, because what is XML, and asks for labels, cannot be said by a schema.
CONFIG = {
    "format": "label-config",
    "examples": [
        '<View><Text name="text" value="$text"/><Choices name="topic" toName="text" '
        'choice="multiple"><Choice value="bridge"/><Choice value="horse"/></Choices></View>'
    ],
}
Config = Annotated[str, Field(json_schema_extra=CONFIG)]


class Setup(BaseModel):
    """A project that is connected; its address and its key are not used."""

    project: Any = None
    labeling: Config | Literal[""] | None = Field(None, alias="schema")


class Tasks(BaseModel):
    """Tasks that predictions are wanted for."""

    tasks: Annotated[list[dict[str, Any]], Field(max_length=MAX_TASKS)]
    label_config: Config


class Event(BaseModel):
    """Something that happened in a project."""

    action: str | None = None
    project: Any = None
    task: Any = None
    annotation: Any = None


class Training(BaseModel):
    """Tasks with their annotations."""

    annotations: Annotated[list[dict[str, Any]], Field(max_length=MAX_TASKS)] = []
    label_config: Config


def _get_served(service: Here, model: str | None = None) -> Served:
    return service.store.get(model)


Asked = Annotated[Served, Depends(_get_served)]


@router.get("/health")
@router.get("/{model}/health")
def show_health(served: Asked) -> dict[str, str]:
    """Tell that the model can be asked."""
    return {"status": "UP", "model_class": "rmls", "model": served.name}


@router.get("/versions")
@router.get("/{model}/versions")
def list_versions(served: Asked) -> dict[str, list[str]]:
    """Tell the version of the model."""
    return {"versions": [answers.model_version(served)]}


@router.post("/setup")
@router.post("/{model}/setup")
async def set_up(service: Here, served: Asked, setup: Setup) -> dict[str, str]:
    """Check the labeling configuration of a project."""
    if setup.labeling:
        await run(service, read_config, setup.labeling)
    return {"model_version": answers.model_version(served)}


@router.post("/predict")
@router.post("/{model}/predict")
async def predict(service: Here, served: Asked, asked: Tasks) -> dict[str, Any]:
    """Return a prediction for every task."""
    control: Control = await run(service, read_config, asked.label_config)
    texts = {}
    for number, task in enumerate(asked.tasks):
        text = answers.task_text(served, control, task.get("data"))
        if text is not None:
            texts[number] = (task["data"], _checked(service, text))
    results = [answers.no_prediction(served) for _ in asked.tasks]
    numbers, size = list(texts), service.settings.max_texts
    for start in range(0, len(numbers), size):
        block = numbers[start : start + size]
        rows = [texts[number] for number in block]
        found = await run(service, answers.predict, served, control, rows)
        for number, prediction in zip(block, found, strict=True):
            results[number] = prediction
    return {"results": results, "model_version": answers.model_version(served)}


@router.post("/webhook", status_code=201)
@router.post("/{model}/webhook", status_code=201)
async def take_event(service: Here, served: Asked, event: Event) -> dict[str, int]:
    """Append annotations to the feedback; other events change nothing."""
    if event.action not in KEPT:
        return {"kept": 0}
    config = event.project.get("label_config") if isinstance(event.project, dict) else None
    if not isinstance(config, str):
        raise Problem(400, "the event has no project with a label_config; let it send its payload.")
    many = isinstance(event.annotation, list)
    pairs = list(
        zip(event.task, event.annotation, strict=False)
        if many and isinstance(event.task, list)
        else [(event.task, event.annotation)]
    )
    return await _keep(service, served, config, pairs)


@router.post("/train", status_code=201)
@router.post("/{model}/train", status_code=201)
async def take_tasks(service: Here, served: Asked, training: Training) -> dict[str, int]:
    """Append the annotations of tasks to the feedback, from which ``rmls learn`` goes on."""
    return await _keep(service, served, training.label_config, _pairs(training.annotations))


def _pairs(tasks: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    def each() -> Iterator[tuple[Any, Any]]:
        for task in tasks:
            listed = task.get("annotations")
            for annotation in listed if isinstance(listed, list) else ():
                yield task, annotation

    return list(each())


async def _keep(
    service: Service, served: Served, config: str, pairs: list[tuple[Any, Any]]
) -> dict[str, int]:
    feedback_of(service)
    control: Control = await run(service, read_config, config)
    told = [
        line
        for task, annotation in pairs
        if isinstance(task, Mapping) and isinstance(annotation, Mapping)
        if (line := answers.read_annotation(served, control, task, annotation)) is not None
    ]
    told = [replace(line, text=_checked(service, line.text)) for line in told]
    return {"kept": await keep(service, served, told) if told else 0}


def _checked(service: Service, text: Text) -> Text:
    if isinstance(text, str):
        return check_text(service, text)
    return {name: check_text(service, str(cell)) for name, cell in text.items()}
