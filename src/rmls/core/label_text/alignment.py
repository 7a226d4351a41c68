"""The texts of labels in the order of a model: labels are matched, others stand behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rmls.core.errors import InputError
from rmls.core.label_text.table import LabelText
from rmls.core.label_text.words_or_code import is_words, last_part
from rmls.core.words import count, shorten

SEVERAL = -1
_GAPS = re.compile(r"[\s_-]+")


@dataclass(frozen=True)
class AlignedLabelText:
    """What the labels of a model are called, and labels that it has no rows of.

    Attributes
    ----------
    labels : tuple
        The labels as the model has them; behind them the others, written in the same way.
    n_known : int
        How many of them are the model's own.
    names, descriptions : tuple of str
        Empty where there is none. A label that the table does not have is called by itself if it
        consists of words.
    alternatives : tuple of tuple of str
    parents : tuple of tuple of int
        Places of the labels above in ``labels``; a parent that is not there is replaced by its own.
    matched : dict of str to int
        How many labels were found in which way.
    notes : tuple of str
        What could not be matched, in words.
    """

    labels: tuple[Any, ...]
    n_known: int
    names: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...]
    descriptions: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    matched: dict[str, int]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_others(self) -> int:
        """How many labels the model has no rows of."""
        return len(self.labels) - self.n_known


class _Way(NamedTuple):
    """One way in which a label may be meant: its spellings in the table, and the model's."""

    name: str
    of_table: Callable[[LabelText, int], Iterable[str]]
    of_model: Callable[[str], str]


def fold(name: str) -> str:
    """Return a name without the differences that mean nothing.

    Examples
    --------
    >>> fold(" Gluten-free_ bread")
    'gluten free bread'
    """
    return _GAPS.sub(" ", name.casefold()).strip()


WAYS = (
    _Way("id", lambda text, place: (text.ids[place],), str.strip),
    _Way(
        "last part",
        lambda text, place: (last_part(text.ids[place]).casefold(),),
        lambda label: last_part(label).casefold(),
    ),
    _Way(
        "code",
        lambda text, place: {code.casefold() for code in text.codes[place]},
        lambda label: label.strip().casefold(),
    ),
    # As it is written comes first, so that Turkey and turkey may both be there.
    _Way("name", lambda text, place: (text.names[place],), str.strip),
    _Way("folded name", lambda text, place: (fold(text.names[place]),), fold),
)


class _Matches(NamedTuple):
    """Places in the table of the model's labels, or -1; labels that two may be; all by way."""

    places: list[int]
    unclear: list[int]
    left_out: set[int]
    by_way: dict[str, int]


def align(text: LabelText, labels: Sequence[Any], add_others: bool) -> AlignedLabelText:
    """Return the texts in the order of the labels; see `LabelText.align`."""
    matches = _match(text, [str(label) for label in labels])
    if len(labels) and len(text) and not any(matches.by_way.values()):
        raise InputError(
            f"the label text has none of the {count(len(labels), 'label')}: they are called "
            f"{_some(map(str, labels))}, those of the label text {_some(text.ids)}."
        )
    others, passed_over = _others(text, matches) if add_others else ([], 0)
    places = [*matches.places, *others]
    names = tuple(
        text.names[place] if place >= 0 and text.names[place] else _own_name(text, place, label)
        for place, label in zip(places, [*map(str, labels), *[""] * len(others)], strict=True)
    )
    return AlignedLabelText(
        labels=(*labels, *_written_alike(text, others, matches.by_way, labels)),
        n_known=len(labels),
        names=names,
        alternatives=tuple(text.alternatives[place] if place >= 0 else () for place in places),
        descriptions=tuple(text.descriptions[place] if place >= 0 else "" for place in places),
        parents=_parents(text, places),
        matched=matches.by_way,
        notes=tuple(_notes(text, labels, matches, passed_over)),
    )


def _match(text: LabelText, labels: list[str]) -> _Matches:
    found = _Matches([-1] * len(labels), [], set(), {})
    open_places, open_labels = set(range(len(text))), set(range(len(labels)))
    for way in WAYS:
        of_table = _unique((key, p) for p in open_places for key in way.of_table(text, p))
        of_model = _unique((way.of_model(labels[n]), n) for n in open_labels)
        both = [key for key in of_model if key in of_table]
        taken: set[int] = set()
        for key in both:
            place, number = of_table[key], of_model[key]
            # Two labels of the model may be codes of one label of the table: the first has it.
            if SEVERAL not in (place, number) and place not in taken:
                found.places[number] = place
                taken.add(place)
        found.by_way[way.name] = len(taken)
        unclear = {key for key in both if SEVERAL in (of_table[key], of_model[key])}
        if unclear:
            gone = [n for n in open_labels if way.of_model(labels[n]) in unclear]
            found.unclear.extend(gone)
            open_labels.difference_update(gone)
            found.left_out.update(
                p for p in open_places if not unclear.isdisjoint(way.of_table(text, p))
            )
        open_places -= taken | found.left_out
        open_labels = {n for n in open_labels if found.places[n] < 0}
        if not open_labels or not open_places:
            break
    return found


def _unique(pairs: Iterator[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, place in pairs:
        if key:
            found[key] = place if found.get(key, place) == place else SEVERAL
    return found


def _others(text: LabelText, matches: _Matches) -> tuple[list[int], int]:
    """Return the labels of the table that the model lacks, and how many are of no use."""
    taken = {place for place in matches.places if place >= 0} | matches.left_out
    free = [place for place in range(len(text)) if place not in taken]
    useful = [
        place
        for place in free
        if text.ids[place] not in text.deprecated
        and (text.names[place] or text.alternatives[place] or _own_name(text, place, ""))
    ]
    return useful, len(free) - len(useful)


def _own_name(text: LabelText, place: int, label: str) -> str:
    """Return what a label without a name in the table is called: itself, if that is words."""
    candidates = (label.strip(), last_part(text.ids[place]) if place >= 0 else "")
    return next((name for name in candidates if is_words(name)), "")


def _written_alike(
    text: LabelText, others: list[int], by_way: dict[str, int], labels: Sequence[Any]
) -> list[str]:
    """Return what other labels are to be called: as the model writes its own, else their ids."""
    most = max(by_way, key=by_way.__getitem__, default="id")
    spellings: dict[str, Callable[[int], str]] = {
        "last part": lambda place: last_part(text.ids[place]),
        "code": lambda place: text.codes[place][0] if text.codes[place] else "",
        "name": lambda place: text.names[place],
        "folded name": lambda place: text.names[place],
    }
    spell = spellings.get(most, text.ids.__getitem__)
    wanted = [spell(place) for place in others]
    used = _unique((name, number) for number, name in enumerate(wanted))
    # An id may be the name of another label; only names of all others and the model's are out.
    taken = {str(label) for label in labels} | {text.ids[place] for place in others}
    return [
        name
        if name and used[name] != SEVERAL and (name == text.ids[place] or name not in taken)
        else text.ids[place]
        for name, place in zip(wanted, others, strict=True)
    ]


def _parents(text: LabelText, places: list[int]) -> tuple[tuple[int, ...], ...]:
    column = {text.ids[place]: number for number, place in enumerate(places) if place >= 0}
    above = dict(zip(text.ids, text.parents, strict=True))

    def climb(place: int) -> tuple[int, ...]:
        found: dict[int, None] = {}
        open_ids, seen = list(reversed(text.parents[place])), set[str]()
        while open_ids:
            parent = open_ids.pop()
            if parent in column:
                found[column[parent]] = None
            elif parent not in seen:
                seen.add(parent)
                open_ids.extend(reversed(above.get(parent, ())))
        return tuple(found)

    return tuple(climb(place) if place >= 0 else () for place in places)


def _notes(
    text: LabelText, labels: Sequence[Any], matches: _Matches, passed_over: int
) -> Iterator[str]:
    unclear = set(matches.unclear)
    absent = [
        str(label)
        for number, label in enumerate(labels)
        if matches.places[number] < 0 and number not in unclear
    ]
    if absent:
        yield f"{count(len(absent), 'label')} not in the label text ({_some(absent)})"
    if unclear:
        shown = _some(str(labels[number]) for number in sorted(unclear))
        yield f"{count(len(unclear), 'label')} with more than one match, left without ({shown})"
    if passed_over:
        yield f"{count(passed_over, 'label')} of the label text left out: deprecated, or no words"


def _some(names: Iterable[str]) -> str:
    shown: list[str] = []
    for name in names:
        if len(shown) == 3:
            return ", ".join(shown) + ", …"
        shown.append(shorten(name, 40))
    return ", ".join(shown)
