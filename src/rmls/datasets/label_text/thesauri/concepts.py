"""Concepts of a thesaurus as labels: names in one language, with others where it has none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rmls.core.errors import InputError
from rmls.core.label_text import LabelText
from rmls.core.words import count
from rmls.datasets.label_text.entries import Entry, build, clean
from rmls.datasets.label_text.roles import most_common_language
from rmls.datasets.label_text.thesauri.parsing import parse
from rmls.datasets.label_text.thesauri.sieve import Sieve, Text, Thing

MAX_SHOWN = 12


def read_thesaurus(
    path: Path, format: str, encoding: str | None, language: str | None, content: Any = None
) -> LabelText:
    """Return the concepts of a file in SKOS; ``content`` is JSON that was read before."""
    sieve = parse(path, format, encoding, content)
    _resolve_labels(sieve)
    concepts = {name: thing for name, thing in sieve.things.items() if _is_concept(thing)}
    if not concepts:
        raise InputError(
            f"it holds no concept of SKOS, among {count(sieve.n_statements, 'statement')}"
        )
    order = _languages(concepts.values(), language)
    links = _links(sieve, concepts)
    chosen = [_name(thing, order) for thing in concepts.values()]
    entries = [
        _entry(name, thing, text, links)
        for (name, thing), text in zip(concepts.items(), chosen, strict=True)
    ]
    elsewhere = Counter(text.language for text in chosen if text and not _fits(text, order.wanted))
    text = build(entries, found=_found(order, len(concepts)), language=order.wanted or None)
    return _with_note(text, order, elsewhere)


class _Languages(NamedTuple):
    """The language of the names, all languages by how many concepts have a name in them."""

    wanted: str
    counts: Counter[str]

    def rank(self, language: str) -> tuple[Any, ...]:
        """Return the order in which languages are taken: the wanted one, its kin, none, others."""
        kin = _family(language) == _family(self.wanted)
        rare = -self.counts[language]
        return (language != self.wanted, not kin, bool(language), rare, language != "en", language)


def _family(language: str) -> str:
    return language.partition("-")[0]


def _fits(text: Text, language: str) -> bool:
    return not text.language or _family(text.language) == _family(language)


def _resolve_labels(sieve: Sieve) -> None:
    """Give things the names that SKOS-XL keeps in things of their own."""
    for thing in sieve.things.values():
        for role, target in thing.links:
            label = sieve.things.get(target) if role in ("name", "alternative") else None
            if label is not None:
                # A name may stand there in both ways.
                forms = [text._replace(role=role) for text in label.texts if text.role == "form"]
                thing.texts.extend(form for form in forms if form not in thing.texts)


def _is_concept(thing: Thing) -> bool:
    if not thing.has_id or thing.types & {"scheme", "collection", "label"}:
        return False
    return "concept" in thing.types or any(text.role == "name" for text in thing.texts)


def _names(thing: Thing) -> list[Text]:
    """Return the preferred names; what is just called a label where there are none."""
    names = [text for text in thing.texts if text.role == "name" and text.words.strip()]
    return names or [text for text in thing.texts if text.role == "plain name"]


def _languages(concepts: Iterable[Thing], wanted: str | None) -> _Languages:
    counts: Counter[str] = Counter()
    for thing in concepts:
        counts.update({text.language for text in _names(thing)})
    if wanted is None:
        return _Languages(most_common_language(counts) if counts else "", counts)
    wanted = wanted.strip().lower()
    if counts and not any(_family(language) == _family(wanted) for language in counts):
        known = sorted(filter(None, counts), key=lambda language: (-counts[language], language))
        there = f"there are: {', '.join(known[:MAX_SHOWN])}" if known else "names have no language"
        raise InputError(f"no name is in the language {wanted!r}; {there}.")
    return _Languages(wanted, counts)


def _name(thing: Thing, order: _Languages) -> Text | None:
    # Of two names in one language the first one counts; `min` keeps it.
    return min(_names(thing), key=lambda text: order.rank(text.language), default=None)


class _Links(NamedTuple):
    parents: dict[str, list[str]]
    related: dict[str, list[str]]
    tops: set[str]


def _links(sieve: Sieve, concepts: dict[str, Thing]) -> _Links:
    parents: defaultdict[str, list[str]] = defaultdict(list)
    related: defaultdict[str, list[str]] = defaultdict(list)
    tops: set[str] = set()
    for name, thing in sieve.things.items():
        for role, target in thing.links:
            if role == "parent":
                parents[name].append(target)
            elif role == "child" and name in concepts:
                parents[target].append(name)
            elif role == "related":
                related[name].append(target)
            elif role == "top of":
                tops.add(name)
            elif role == "has top":
                tops.add(target)
    return _Links(dict(parents), dict(related), tops)


def _entry(name: str, thing: Thing, chosen: Text | None, links: _Links) -> Entry:
    language = chosen.language if chosen else ""

    def words(*roles: str) -> Iterator[str]:
        for role in roles:
            for text in thing.texts:
                if text.role == role and _fits(text, language):
                    yield clean(text.words)

    return Entry(
        id=name,
        name=clean(chosen.words) if chosen else "",
        alternatives=list(filter(None, words("name", "alternative"))),
        description=" ".join(dict.fromkeys(filter(None, words("definition", "note")))),
        parents=list(dict.fromkeys(links.parents.get(name, ()))),
        codes=[clean(text.words) for text in thing.texts if text.role == "code"],
        related=list(dict.fromkeys(links.related.get(name, ()))),
        is_top=name in links.tops,
        is_deprecated=any(t.role == "deprecated" and t.words == "true" for t in thing.texts),
    )


def _found(order: _Languages, n_concepts: int) -> Iterator[str]:
    yield f"SKOS: {count(n_concepts, 'concept')}"
    if order.wanted:
        others = [language for language in order.counts if language and language != order.wanted]
        more = f"; also {_listed(sorted(others))}" if others else ""
        have = order.counts[order.wanted]
        yield f"language: {order.wanted}, of {count(have, 'name')}{more}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def _with_note(text: LabelText, order: _Languages, elsewhere: Counter[str]) -> LabelText:
    if not elsewhere:
        return text
    number = sum(elsewhere.values())
    note = (
        f"{count(number, 'label')} without a name in {order.wanted!r}, "
        f"called by another language ({_listed(sorted(elsewhere))})"
    )
    return replace(text, notes=(*text.notes, note))
