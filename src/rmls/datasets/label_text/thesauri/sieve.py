"""What is kept of the statements of a thesaurus: names, notes and links of concepts."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

SKOS = "http://www.w3.org/2004/02/skos/core#"
XL = "http://www.w3.org/2008/05/skos-xl#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

TEXTS = {
    f"{SKOS}prefLabel": "name",
    "http://www.w3.org/2000/01/rdf-schema#label": "plain name",
    f"{SKOS}altLabel": "alternative",
    f"{SKOS}hiddenLabel": "alternative",
    f"{SKOS}definition": "definition",
    f"{SKOS}scopeNote": "note",
    f"{SKOS}notation": "code",
    "http://purl.org/dc/terms/identifier": "code",
    "http://purl.org/dc/elements/1.1/identifier": "code",
    "http://www.w3.org/2002/07/owl#deprecated": "deprecated",
    f"{XL}literalForm": "form",
}
LINKS = {
    f"{SKOS}broader": "parent",
    f"{SKOS}narrower": "child",
    f"{SKOS}related": "related",
    f"{SKOS}topConceptOf": "top of",
    f"{SKOS}hasTopConcept": "has top",
    f"{XL}prefLabel": "name",
    f"{XL}altLabel": "alternative",
    f"{XL}hiddenLabel": "alternative",
    RDF_TYPE: "type",
}
TYPES = {
    f"{SKOS}Concept": "concept",
    f"{SKOS}ConceptScheme": "scheme",
    f"{SKOS}Collection": "collection",
    f"{SKOS}OrderedCollection": "collection",
    f"{XL}Label": "label",
}


class Text(NamedTuple):
    """A text of a thing: what it is, its language in small letters or nothing, the words."""

    role: str
    language: str
    words: str


class Thing:
    """What the statements say about one thing: a concept, or what belongs to one."""

    __slots__ = ("has_id", "links", "texts", "types")

    def __init__(self, has_id: bool) -> None:
        self.has_id = has_id
        self.texts: list[Text] = []
        self.links: list[tuple[str, str]] = []
        self.types: set[str] = set()


class Sieve:
    """Keeps the statements that say what labels are called, and drops all others.

    A graph of rdflib would hold every statement in three indexes.
    """

    def __init__(self) -> None:
        self.things: dict[str, Thing] = {}
        self.n_statements = 0

    def add(self, subject: Any, predicate: Any, value: Any) -> None:
        """Take one statement, of terms of rdflib."""
        self.n_statements += 1
        # Terms compare by type as well, so that they are made plain strings.
        name = str(predicate)
        if name in LINKS:
            self._add_link(subject, LINKS[name], str(value))
        elif name in TEXTS and _is_literal(value):
            language = sys.intern(str(value.language or "").lower())
            self._thing(subject).texts.append(Text(TEXTS[name], language, str(value)))

    def _add_link(self, subject: Any, role: str, target: str) -> None:
        if role != "type":
            self._thing(subject).links.append((role, target))
        elif target in TYPES:
            self._thing(subject).types.add(TYPES[target])

    def _thing(self, subject: Any) -> Thing:
        name = str(subject)
        thing = self.things.get(name)
        if thing is None:
            # A thing without an address cannot be a label of anybody.
            thing = self.things[name] = Thing(type(subject).__name__ != "BNode")
        return thing


def _is_literal(value: Any) -> bool:
    return hasattr(value, "language")
