"""Answers of Label Studio: labels become predictions, annotations become feedback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rmls.serve.protocols.asking import (
    MAX_SUGGESTIONS,
    Named,
    known_labels,
    place,
    suggest,
    text_columns,
    written,
)
from rmls.serve.protocols.keeping import Told
from rmls.serve.protocols.label_config import Control, Path
from rmls.serve.store import Served
from rmls.serve.texts import Text, as_rows

# Characters of an id.
MAX_ID = 200


def model_version(served: Served) -> str:
    """Return what tells the states of a model apart in Label Studio."""
    return f"{served.name} {written(served)}"


def task_text(served: Served, control: Control, data: Any) -> Text | None:
    """Return the text of a task, with the columns of the model; None where it has none."""
    text = data.get(control.data_key) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return None
    cells = {name: cell for name, cell in data.items() if isinstance(cell, str)}
    # A text that has its own column needs no other.
    is_column = control.data_key in text_columns(served)
    return place(served, "" if is_column else text, cells)


def predict(
    served: Served, control: Control, tasks: Sequence[tuple[Mapping[str, Any], Text]]
) -> list[dict[str, Any]]:
    """Return a prediction for every task: its data, and its text.

    Where several labels may be chosen they are those that the model's own decision gives.
    """
    rows = [text for _, text in tasks]
    found = suggest(served, rows, MAX_SUGGESTIONS) if control.single else _decide(served, rows)
    return [
        _prediction(served, control, data, row) for (data, _), row in zip(tasks, found, strict=True)
    ]


def _decide(served: Served, rows: Sequence[Text]) -> list[list[Named]]:
    if not rows:
        return []
    ranking = served.model.rank_sets(as_rows(served.model, rows))
    return [
        [(str(entry.label), float(entry.probability or 0.0)) for entry in row] for row in ranking
    ]


def no_prediction(served: Served) -> dict[str, Any]:
    """Return the prediction for a task that has no text."""
    return {"result": [], "score": 0.0, "model_version": model_version(served)}


def _prediction(
    served: Served, control: Control, data: Mapping[str, Any], found: Sequence[Named]
) -> dict[str, Any]:
    offered = control.offered_for(data)
    chosen: dict[Path, float] = {}
    for label, probability in found:
        path = offered.find(label) if len(offered) else (label,)
        if path is not None:
            chosen.setdefault(path, probability)
    if control.single:
        chosen = dict(sorted(chosen.items(), key=lambda pair: -pair[1])[:1])
    if not chosen:
        return no_prediction(served)
    score = sum(chosen.values()) / len(chosen)
    region = {
        "from_name": control.name,
        "to_name": control.to_name,
        "type": control.kind,
        "value": control.answer(list(chosen)),
        "score": score,
    }
    return {"result": [region], "score": score, "model_version": model_version(served)}


def read_annotation(
    served: Served, control: Control, task: Mapping[str, Any], annotation: Mapping[str, Any]
) -> Told | None:
    """Return what an annotation tells; None where it was skipped or tells nothing.

    Labels are accepted or rejected where the annotation says which prediction was shown.
    """
    text = task_text(served, control, task.get("data"))
    if text is None or annotation.get("was_cancelled"):
        return None
    right = _labels(served, control, annotation.get("result"))
    shown = annotation.get("prediction")
    shown_result = shown.get("result") if isinstance(shown, dict) else None
    before = _labels(served, control, shown_result)
    if not right and not before:
        return None
    # An annotation that is sent again, or with all others, is the same line.
    parts = (task.get("project"), annotation.get("id"), annotation.get("updated_at"))
    known = known_labels(served)
    accepted = [label for label in right if label in before and label in known]
    return Told(
        text,
        accepted=accepted,
        # The model may have lost a label since it was suggested.
        rejected=[label for label in before if label not in right and label in known],
        added=[label for label in right if label not in accepted],
        id=" ".join(map(str, ("label-studio", *parts)))[:MAX_ID],
    )


def _labels(served: Served, control: Control, result: Any) -> list[str]:
    """Return the labels of the regions of an answer, each once."""
    known = known_labels(served)
    names = [name for region in _regions(control, result) for name in _names(control, region)]
    return list(dict.fromkeys(known.find(name) or name for name in names))


def _regions(control: Control, result: Any) -> Iterator[Mapping[str, Any]]:
    for region in result if isinstance(result, list) else ():
        if isinstance(region, dict) and region.get("from_name") == control.name:
            value = region.get("value")
            if isinstance(value, dict):
                yield value


def _names(control: Control, value: Mapping[str, Any]) -> Iterator[str]:
    chosen = value.get(control.kind)
    for entry in chosen if isinstance(chosen, list) else ():
        # A taxonomy answers with the way from its root.
        last = entry[-1] if isinstance(entry, list) and entry else entry
        if isinstance(last, str):
            yield last
