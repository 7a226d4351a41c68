"""Labeling configurations of Label Studio: which labels are offered for which text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from xml.parsers import expat

from rmls.serve.problems import Problem
from rmls.serve.protocols.asking import loosen

# Bounds of a configuration: a taxonomy of a large thesaurus fits, a bomb does not.
MAX_CHARACTERS, MAX_ELEMENTS, MAX_DEPTH = 4_000_000, 100_000, 40
KINDS = {"choices": "choices", "taxonomy": "taxonomy"}
TEXTS = ("text", "hypertext")

Path = tuple[str, ...]


@dataclass(slots=True)
class Element:
    """A tag with its attributes, all in small letters, and what stands in it."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """Yield the element and all below it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


class Offered:
    """What can be chosen, by its names; letters count only where they tell two apart."""

    def __init__(self, pairs: Iterator[tuple[str, Path]]) -> None:
        self._exact = dict(pairs)
        self._loose: dict[str, Path] = {}
        # As in the pairs, the last of a name counts.
        for name, path in self._exact.items():
            self._loose[loosen(name)] = path

    def __len__(self) -> int:
        return len(self._exact)

    def find(self, label: str) -> Path | None:
        """Return what stands for a label in an answer, None where it is not offered."""
        return self._exact.get(label) or self._loose.get(loosen(label))


@dataclass(frozen=True)
class Control:
    """A question of a project: labels for a text.

    Attributes
    ----------
    name, to_name : str
        The control, and the text it is about.
    kind : str
        ``"choices"`` or ``"taxonomy"``.
    data_key : str
        Where the text of a task is.
    single : bool
        Whether one label is all that may be chosen.
    offered : Offered
        Empty where the configuration names no choices: then all labels may be chosen.
    options_key : str or None
        Where a task has its own options.
    """

    name: str
    to_name: str
    kind: str
    data_key: str
    single: bool
    offered: Offered
    options_key: str | None

    def answer(self, labels: Sequence[Path]) -> dict[str, Any]:
        """Return labels as the value of an answer."""
        chosen = [list(path) for path in labels]
        return {self.kind: chosen if self.kind == "taxonomy" else [path[-1] for path in chosen]}

    def offered_for(self, data: Mapping[str, Any]) -> Offered:
        """Return what is offered for a task."""
        if self.options_key is None:
            return self.offered
        return Offered(_read_options(data.get(self.options_key), ()))


@lru_cache(maxsize=8)
def read_config(config: str) -> Control:
    """Return the first question of a configuration that asks for labels of a text."""
    root = _parse(config)
    texts = {
        element.attributes.get("name", ""): element
        for element in root.walk()
        if element.tag in TEXTS
    }
    for element in root.walk():
        if element.tag not in KINDS or "name" not in element.attributes:
            continue
        about = [name.strip() for name in element.attributes.get("toname", "").split(",")]
        for name in about:
            if name in texts:
                return _read_control(element, name, texts[name])
    raise Problem(
        400, "the labeling configuration has no <Choices> or <Taxonomy> that is about a <Text>."
    )


def _read_control(element: Element, to_name: str, text: Element) -> Control:
    value = text.attributes.get("value", "")
    if not value.startswith("$") or text.attributes.get("valuetype", "text") == "url":
        raise Problem(400, f"<Text name={to_name!r}> must show the text of a task: value='$text'.")
    attributes = element.attributes
    multiple = attributes.get("choice") == "multiple"
    if element.tag == "taxonomy":
        multiple = attributes.get("maxusages") != "1"
    options = attributes.get("value", "")
    return Control(
        name=attributes["name"],
        to_name=to_name,
        kind=KINDS[element.tag],
        data_key=value[1:],
        single=not multiple,
        offered=Offered(_read_choices(element, (), attributes.get("pathseparator", " / "))),
        options_key=options[1:] if options.startswith("$") else None,
    )


def _read_choices(element: Element, above: Path, separator: str) -> Iterator[tuple[str, Path]]:
    """Yield the names of every choice with its path; the first of a name comes last."""
    for child in reversed(element.children):
        value = child.attributes.get("value")
        if child.tag != "choice" or value is None:
            yield from _read_choices(child, above, separator)
            continue
        path = (*above, child.attributes.get("alias", value))
        yield from _read_choices(child, path, separator)
        yield from ((separator.join(path), path), (path[-1], path), (value, path))


def _read_options(options: Any, above: Path) -> Iterator[tuple[str, Path]]:
    """Yield what a task offers: texts, or objects with ``value``, ``alias`` and ``children``."""
    if len(above) >= MAX_DEPTH or not isinstance(options, list):
        return
    for option in options:
        entry = option if isinstance(option, dict) else {"value": option}
        value = entry.get("value")
        if not isinstance(value, str):
            continue
        alias = entry.get("alias")
        path = (*above, alias if isinstance(alias, str) else value)
        yield from _read_options(entry.get("children"), path)
        yield from ((path[-1], path), (value, path))


class _Builder:
    """Elements as the parser meets them, within the bounds."""

    def __init__(self) -> None:
        self.root = Element("", {})
        self.open = [self.root]
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.open) > MAX_DEPTH:
            raise Problem(400, "the labeling configuration is too large.")
        small = {name.lower(): value for name, value in attributes.items()}
        element = Element(tag.lower(), small)
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, _: str) -> None:
        self.open.pop()


def _refuse(*_: Any) -> None:
    raise Problem(400, "the labeling configuration must have no document type and no entities.")


def _parse(config: str) -> Element:
    if len(config) > MAX_CHARACTERS:
        raise Problem(413, "the labeling configuration is too large.")
    builder = _Builder()
    parser = expat.ParserCreate("utf-8")
    # Entities can only be declared in a document type; without one nothing grows or is fetched.
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    try:
        parser.Parse(config.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise Problem(400, f"the labeling configuration is no XML: {error}.") from error
    return builder.root
