"""Texts as other tools send them, and what a model says to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from fastapi.concurrency import run_in_threadpool

from rmls.core.errors import RmlsError
from rmls.serve.problems import Problem
from rmls.serve.service import Service
from rmls.serve.store import Served

# The most suggestions of a text, whatever is asked for.
MAX_SUGGESTIONS = 100

Result = TypeVar("Result")
Text = str | Mapping[str, Any]
# A label and how likely it is right.
Named = tuple[str, float]


class KnownLabels:
    """The labels of a model by their names, in the letters of anyone."""

    def __init__(self, names: Sequence[Any]) -> None:
        self._own = {str(name) for name in names}
        self._loose: dict[str, str] = {}
        for name in names:
            self._loose.setdefault(loosen(str(name)), str(name))

    def __contains__(self, name: object) -> bool:
        return name in self._own

    def find(self, name: str) -> str | None:
        """Return a label as the model writes it, None where it has no such label."""
        return name if name in self._own else self._loose.get(loosen(name))


def loosen(name: str) -> str:
    """Return a name without what people write differently: capitals and spaces."""
    return " ".join(name.split()).casefold()


# A model that was replaced takes its names with it.
_KNOWN: WeakKeyDictionary[Any, KnownLabels] = WeakKeyDictionary()


def known_labels(served: Served) -> KnownLabels:
    """Return the labels of a model by their names."""
    known = _KNOWN.get(served.model)
    if known is None:
        known = _KNOWN[served.model] = KnownLabels(served.model.classes_.tolist())
    return known


def written(served: Served) -> str:
    """Return when a model was written, which also tells its states apart."""
    moment = datetime.fromtimestamp(served.stamp[1] / 1e9, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_text(service: Service, text: object, name: str = "text") -> str:
    """Return a text that is no longer than texts may be."""
    if not isinstance(text, str):
        raise Problem(400, f"{name} must be a string.")
    limit = service.settings.max_characters
    if len(text) > limit:
        raise Problem(413, f"{name} has {len(text):,} characters; at most {limit:,} are taken.")
    # Halves of surrogate pairs can be written in JSON but in no file.
    return text.encode("utf-8", "replace").decode("utf-8")


def text_columns(served: Served) -> tuple[str, ...]:
    """Return the columns of texts that a model was trained on; none where texts have no columns."""
    return tuple(served.model.features_.fields_ or ())


def place(served: Served, text: str, more: Mapping[str, Any]) -> Text:
    """Return a text with what else is known of it, in the columns of a model.

    What the model has no column for is left out. The text goes to the column ``text``, or to the
    first column of texts that is still empty; the last takes what is left over.
    """
    fields = text_columns(served)
    columns = (*fields, *map(str, served.model.features_.column_roles_.all))
    named = {name: more[name] for name in columns if name in more}
    if not named or not text:
        return named or text
    free = [name for name in ("text", *fields) if name in fields and not named.get(name)]
    if free:
        return {**named, free[0]: text}
    return {**named, fields[-1]: f"{named[fields[-1]]}\n{text}"} if fields else named


def make_rows(served: Served, texts: Sequence[Text]) -> Any:
    """Return texts as a model takes them."""
    if all(isinstance(text, str) for text in texts):
        return list(texts)
    fields = text_columns(served)
    columns = (*fields, *served.model.features_.column_roles_.all)
    rows = [{fields[0]: text} if isinstance(text, str) else text for text in texts]
    return {name: [row.get(str(name)) for row in rows] for name in columns}


async def work(service: Service, function: Callable[..., Result], *args: Any) -> Result:
    """Do what takes time, outside of the loop that answers requests."""
    try:
        return await run_in_threadpool(function, *args)
    except RmlsError as error:
        raise Problem(400, str(error)) from error


def suggest(served: Served, texts: Sequence[Text], k: int) -> list[list[Named]]:
    """Return the most likely labels of texts, at most `MAX_SUGGESTIONS` of each."""
    if not texts or k < 1:
        return [[] for _ in texts]
    rows = make_rows(served, texts)
    found = served.model.suggest(rows, k=min(k, MAX_SUGGESTIONS, len(served.model.classes_)))
    return [[(str(name), float(probability)) for name, probability in row] for row in found]
