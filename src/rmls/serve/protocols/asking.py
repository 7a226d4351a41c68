"""Texts as other tools send them, and what a model says to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from weakref import WeakKeyDictionary

from rmls.serve.service import Service
from rmls.serve.store import Served
from rmls.serve.texts import Text, as_rows, check_texts, columns_of

# The most suggestions of a text, whatever is asked for.
MAX_SUGGESTIONS = 100

# A label and how likely it is right.
Named = tuple[str, float]


class KnownLabels:
    """The labels of a model by their names, in the letters of anyone."""

    def __init__(self, names: Sequence[str]) -> None:
        self._own = set(names)
        self._loose: dict[str, str] = {}
        for name in names:
            self._loose.setdefault(loosen(name), name)

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
        known = _KNOWN[served.model] = KnownLabels(served.labels.names)
    return known


def written(served: Served) -> str:
    """Return when a model was written, which also tells its states apart."""
    moment = datetime.fromtimestamp(served.stamp[1] / 1e9, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_text(service: Service, text: str) -> str:
    """Return a text that is no longer than texts may be."""
    check_texts([text], service.settings)
    return text


def text_columns(served: Served) -> tuple[str, ...]:
    """Return the columns of texts that a model was trained on; none where texts have no columns."""
    return tuple(served.model.features_.fields_ or ())


def place(served: Served, text: str, more: Mapping[str, Any]) -> Text:
    """Return a text with what else is known of it, in the columns of a model.

    What the model has no column for is left out. The text goes to the column ``text``, or to the
    first column of texts that is still empty; the last takes what is left over.
    """
    fields = text_columns(served)
    named = {name: more[name] for name in columns_of(served.model) or () if name in more}
    if not named or not text:
        return named or text
    free = [name for name in ("text", *fields) if name in fields and not named.get(name)]
    if free:
        return {**named, free[0]: text}
    return {**named, fields[-1]: f"{named[fields[-1]]}\n{text}"} if fields else named


def suggest(served: Served, texts: Sequence[Text], k: int) -> list[list[Named]]:
    """Return the most likely labels of texts, at most `MAX_SUGGESTIONS` of each."""
    if not texts or k < 1:
        return [[] for _ in texts]
    rows = as_rows(served.model, texts)
    found = served.model.suggest(rows, k=min(k, MAX_SUGGESTIONS, len(served.labels.names)))
    return [[(str(name), float(probability)) for name, probability in row] for row in found]
